import type { AnyQueueSpec } from '@commonplace/kit/jobs';
import { agentRemovalQueue } from './stores/agent-removals.js';
import { approvalQueue } from './stores/approvals.js';
import { deliveryQueue } from './stores/deliveries.js';
import { mcpProbeQueue } from './stores/mcp-servers.js';
import { removalQueue } from './stores/removals.js';
import { runQueue } from './stores/runs.js';
import { settlementQueue } from './stores/settlements.js';

/** The queues of this service. */
export const queues: readonly AnyQueueSpec[] = [
  ...[runQueue, approvalQueue, removalQueue],
  ...[agentRemovalQueue, mcpProbeQueue, deliveryQueue, settlementQueue],
];

import { createEnvelope } from '@commonplace/kit/secrets';
import { openCollections } from '@commonplace/kit/store';
import { contracts } from '@commonplace/platform/contracts';
import { openDepartures } from '@commonplace/platform/departures';
import { createMembershipCache } from '@commonplace/platform/memberships';
import { openOutgoingGuard } from '@commonplace/platform/outgoing';
import { defineService, implement, openClients } from '@commonplace/platform/runtime';
import { watchLateAgents, watchLeavers, watchPurgedResources } from './agents/followers.js';
import { config } from './config.js';
import { openLedger } from './credits/metering.js';
import { openSettlementQueue } from './credits/settlements.js';
import { openRunQueue } from './engine/execution/worker.js';
import { broadcastRuns, watchPurges, watchWorkspacePurges } from './events.js';
import { createAgentDirectoryHandlers } from './handlers/agent-directory.js';
import { createAgentHandlers } from './handlers/agents.js';
import { createApprovalHandlers } from './handlers/approvals.js';
import { createConversationRunHandlers } from './handlers/conversation-runs.js';
import { createMcpHandlers, mcpServersFor } from './handlers/mcp.js';
import { createMemoryHandlers } from './handlers/memories.js';
import { createModelHandlers } from './handlers/models.js';
import { createRunHandlers } from './handlers/runs.js';
import { createSessionHandlers } from './handlers/sessions.js';
import { createSkillHandlers } from './handlers/skills.js';
import { createWorkRunHandlers } from './handlers/work-runs.js';
import { openMcpGuard } from './mcp/guard.js';
import { MCP_RECORDS } from './mcp/parts.js';
import { openProbeQueue } from './mcp/probe.js';
import { watchReclaimedAccounts } from './mcp/reclaimed-accounts.js';
import { migrations } from './migrations.js';
import { openModels } from './open-models.js';
import { type Parts, PEERS, RECORDS } from './parts.js';
import { openRunQuotas } from './quotas.js';
import { openAgentRemovalQueue } from './removals/agents.js';
import { openApprovalQueue } from './runs/approval-expiry.js';
import { openDeliveryQueue } from './runs/deliver.js';
import { createErasure } from './runs/erase.js';
import { watchLeavingApprovers } from './runs/leaving-approvers.js';
import { openSchemaChecks } from './schemas/index.js';
import { openRemovalQueue } from './sessions/removal.js';
import { openSkillFiles } from './skill-files/index.js';

export const agents = defineService({
  name: 'agents',
  config,
  stores: true,
  migrations,
  calls: [...Object.values(PEERS), contracts.embeddingModels, contracts.metering],
  reachesInternet: true,
  async start(host) {
    const { store, log, bus } = host;
    const settings = host.settings(config);
    const peers = openClients(host, PEERS);
    const { directory } = peers;
    const outgoing = { settings, directory, bus, systemCall: host.systemCall };
    const records = await openCollections(store, { ...RECORDS, ...MCP_RECORDS });
    const own = {
      ...{ settings, log, store, bus, ...peers, ...records },
      mcpGuard: await openMcpGuard(outgoing),
      schemas: openSchemaChecks(),
      skillFiles: openSkillFiles(),
      guard: await openOutgoingGuard({ ...outgoing, idleMs: settings.webFetchSeconds * 1000 }),
      envelope: createEnvelope(settings.secretsKey),
      memberships: await createMembershipCache(directory, bus),
      models: openModels(settings),
      ledger: openLedger(host.client(contracts.metering), () => host.systemCall()),
      quotas: await openRunQuotas(store, { ...records, settings }),
      systemCall: host.systemCall,
    };
    const embeddings = host.client(contracts.embeddingModels);
    const approvals = await openApprovalQueue(own);
    const withApprovals = { ...own, approvals: approvals.collection };
    const removals = await openRemovalQueue(withApprovals);
    const agentRemovals = await openAgentRemovalQueue(withApprovals);
    const queues = { removals: removals.collection, agentRemovals: agentRemovals.collection };
    const parts: Parts = { ...withApprovals, ...queues };
    const queue = await openRunQueue(parts);
    const deliveries = await openDeliveryQueue(parts);
    const settlements = await openSettlementQueue(parts);
    const probes = await openProbeQueue(parts);
    const departures = await openDepartures(store);
    return {
      implementations: [
        implement(contracts.chatSessions, createSessionHandlers(parts)),
        implement(contracts.runs, createRunHandlers(parts)),
        implement(contracts.approvals, createApprovalHandlers(parts)),
        implement(contracts.mcpServers, createMcpHandlers(parts)),
        implement(contracts.agents, createAgentHandlers(parts, mcpServersFor(parts))),
        implement(contracts.skills, createSkillHandlers(parts)),
        implement(contracts.agentDirectory, createAgentDirectoryHandlers(parts)),
        implement(contracts.conversationRuns, createConversationRunHandlers(parts)),
        implement(contracts.workRuns, createWorkRunHandlers(parts)),
        implement(contracts.memories, createMemoryHandlers(parts)),
        implement(contracts.models, createModelHandlers({ models: parts.models, embeddings })),
      ],
      runs: [
        parts.skillFiles,
        parts.schemas,
        parts.mcpGuard,
        parts.models,
        parts.guard,
        settings.runWorkers > 0 ? queue : { close: () => queue.close() },
        removals,
        approvals,
        probes,
        deliveries,
        settlements,
        createErasure(parts),
        agentRemovals,
        { close: broadcastRuns(store, bus) },
      ],
      consume: () => [
        watchPurges(parts, bus),
        watchWorkspacePurges(parts, bus),
        watchLeavers({ ...parts, departures }, bus),
        watchLateAgents({ ...parts, departures }, bus),
        watchLeavingApprovers(parts, bus),
        watchPurgedResources(parts, bus),
        watchReclaimedAccounts(parts, bus),
      ],
    };
  },
});

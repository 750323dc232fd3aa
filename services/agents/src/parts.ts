import type { EventBus } from '@commonplace/kit/events';
import type { TenantGuard } from '@commonplace/kit/fetch';
import type { Queue } from '@commonplace/kit/jobs';
import type { Log } from '@commonplace/kit/log';
import type { Quota } from '@commonplace/kit/quota';
import type { CallOptions } from '@commonplace/kit/rpc';
import type { Collection, Collections, Store } from '@commonplace/kit/store';
import { contracts } from '@commonplace/platform/contracts';
import type { MembershipCache } from '@commonplace/platform/memberships';
import type { Clients } from '@commonplace/platform/runtime';
import type { Settings } from './config.js';
import type { Ledger } from './credits/ledger.js';
import type { McpParts } from './mcp/parts.js';
import type { ChatModels } from './models/port.js';
import type { SkillFiles } from './skill-files/index.js';
import { agentPinCollection } from './stores/agent-pins.js';
import type { AgentRemovalRecord } from './stores/agent-removals.js';
import { agentCollection, agentVersionCollection } from './stores/agents.js';
import type { ApprovalRecord } from './stores/approvals.js';
import { deliveryCollection } from './stores/deliveries.js';
import { memoryCollection } from './stores/memories.js';
import type { RemovalRecord } from './stores/removals.js';
import { type RunRecord, runCollection, runEventCollection, stepCollection } from './stores/runs.js';
import { messageCollection, sessionCollection } from './stores/sessions.js';
import { settlementCollection } from './stores/settlements.js';
import { skillContentCollection } from './stores/skills.js';

/** The collections of this service that no queue opens. */
export const RECORDS = {
  agents: agentCollection,
  agentVersions: agentVersionCollection,
  agentPins: agentPinCollection,
  skillContents: skillContentCollection,
  sessions: sessionCollection,
  messages: messageCollection,
  runs: runCollection,
  steps: stepCollection,
  runEvents: runEventCollection,
  deliveries: deliveryCollection,
  settlements: settlementCollection,
  memories: memoryCollection,
};

/** The collections of this service. */
interface Records extends Collections<typeof RECORDS> {
  readonly agentRemovals: Collection<AgentRemovalRecord>;
  readonly removals: Collection<RemovalRecord>;
  readonly approvals: Collection<ApprovalRecord>;
}

/** The contracts of other services that runs and sessions call. */
export const PEERS = {
  auth: contracts.auth,
  search: contracts.search,
  content: contracts.content,
  resources: contracts.resources,
  conversations: contracts.conversationAccess,
  imConversations: contracts.conversations,
  imMessages: contracts.messages,
  comments: contracts.comments,
  files: contracts.files,
  index: contracts.index,
  workItems: contracts.workItems,
  directory: contracts.directory,
};

/** The quotas of agents, runs and memories. */
export interface RunQuotas {
  readonly agents: Quota;
  readonly waiting: Quota;
  readonly running: Quota;
  readonly perLane: Quota;
  /** The quota of memories per holder. */
  readonly memories: Quota;
}

/** The dependencies that the handlers and queues of this service share. */
export interface Parts extends Records, Clients<typeof PEERS>, McpParts {
  readonly settings: Settings;
  readonly log: Log;
  readonly store: Store;
  readonly bus: EventBus;
  readonly memberships: MembershipCache;
  readonly models: ChatModels;
  readonly ledger: Ledger;
  /** Checks and fetches URLs that users and models provide, such as web pages. */
  readonly guard: TenantGuard;
  readonly quotas: RunQuotas;
  readonly skillFiles: SkillFiles;
  /** Returns the options of a call that the system makes itself. */
  systemCall(timeoutMs?: number): CallOptions;
}

export type RunQueue = Queue<RunRecord>;

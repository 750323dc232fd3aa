import type { EventBus } from '@commonplace/kit/events';
import type { TenantGuard } from '@commonplace/kit/fetch';
import type { Queue } from '@commonplace/kit/jobs';
import type { Log } from '@commonplace/kit/log';
import type { Quota } from '@commonplace/kit/quota';
import type { CallOptions, Client } from '@commonplace/kit/rpc';
import type { Collection, Collections, Store } from '@commonplace/kit/store';
import type { MembershipCache } from '@commonplace/platform/memberships';
import type { WorkItemService } from '@commonplace/proto/automations/v1/work_item_service.js';
import type { FileService } from '@commonplace/proto/files/v1/file_service.js';
import type { AuthService } from '@commonplace/proto/identity/v1/auth_service.js';
import type { ConversationAccessService } from '@commonplace/proto/messaging/v1/conversation_access_service.js';
import type { ConversationService } from '@commonplace/proto/messaging/v1/conversation_service.js';
import type { MessageService } from '@commonplace/proto/messaging/v1/message_service.js';
import type { CommentService } from '@commonplace/proto/resources/v1/comment_service.js';
import type { ContentService } from '@commonplace/proto/resources/v1/content_service.js';
import type { IndexService } from '@commonplace/proto/resources/v1/index_service.js';
import type { ResourceService } from '@commonplace/proto/resources/v1/resource_service.js';
import type { SearchService } from '@commonplace/proto/search/v1/search_service.js';
import type { DirectoryService } from '@commonplace/proto/tenancy/v1/directory_service.js';
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

/** The other services that runs and sessions call. */
interface Peers {
  readonly auth: Pick<Client<AuthService>, 'actAs' | 'findUsers'>;
  readonly search: Client<SearchService>;
  readonly content: Pick<Client<ContentService>, 'getContent' | 'replaceContent'>;
  readonly resources: Pick<Client<ResourceService>, 'createResource' | 'updateResource' | 'deleteResource'>;
  readonly conversations: Pick<Client<ConversationAccessService>, 'checkMembers' | 'getAudience' | 'postAgentMessage'>;
  readonly imConversations: Pick<Client<ConversationService>, 'getConversation'>;
  readonly imMessages: Pick<Client<MessageService>, 'listMessages' | 'sendMessage'>;
  readonly comments: Pick<Client<CommentService>, 'createComment' | 'listComments'>;
  readonly files: Pick<Client<FileService>, 'createFile' | 'getFile'>;
  readonly index: Pick<Client<IndexService>, 'checkAccess' | 'convertPage'>;
  readonly workItems: Pick<
    Client<WorkItemService>,
    'listWorkItems' | 'getWorkItem' | 'createWorkItem' | 'updateWorkItem'
  >;
  readonly directory: Pick<Client<DirectoryService>, 'lookUpWorkspace' | 'listPeople' | 'listOrgAdmins'>;
}

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
export interface Parts extends Records, Peers, McpParts {
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

import type { EventBus } from '@commonplace/kit/events';
import type { TenantGuard } from '@commonplace/kit/fetch';
import type { Log } from '@commonplace/kit/log';
import type { CallOptions, Client } from '@commonplace/kit/rpc';
import type { Envelope } from '@commonplace/kit/secrets';
import type { Store } from '@commonplace/kit/store';
import type { MembershipCache } from '@commonplace/platform/memberships';
import type { Implementation } from '@commonplace/platform/runtime';
import type { AgentDirectoryService } from '@commonplace/proto/agents/v1/agent_directory_service.js';
import type { WorkRunService } from '@commonplace/proto/agents/v1/work_run_service.js';
import type { WorkItemService } from '@commonplace/proto/automations/v1/work_item_service.js';
import type { AuthService } from '@commonplace/proto/identity/v1/auth_service.js';
import type { ConversationAccessService } from '@commonplace/proto/messaging/v1/conversation_access_service.js';
import type { MessageService } from '@commonplace/proto/messaging/v1/message_service.js';
import type { CommentService } from '@commonplace/proto/resources/v1/comment_service.js';
import type { ContentService } from '@commonplace/proto/resources/v1/content_service.js';
import type { FormService } from '@commonplace/proto/resources/v1/form_service.js';
import type { IndexService } from '@commonplace/proto/resources/v1/index_service.js';
import type { ResourceService } from '@commonplace/proto/resources/v1/resource_service.js';
import type { TagService } from '@commonplace/proto/resources/v1/tag_service.js';
import type { SearchService } from '@commonplace/proto/search/v1/search_service.js';
import type { DirectoryService } from '@commonplace/proto/tenancy/v1/directory_service.js';
import type { WorkspaceService } from '@commonplace/proto/tenancy/v1/workspace_service.js';
import type { Settings } from './config.js';

/** The other services that this one calls. */
export interface Peers {
  readonly auth: Client<AuthService>;
  readonly directory: Client<DirectoryService>;
  readonly workspaces: Client<WorkspaceService>;
  readonly resources: Client<ResourceService>;
  readonly content: Client<ContentService>;
  readonly comments: Client<CommentService>;
  readonly tags: Client<TagService>;
  readonly forms: Client<FormService>;
  readonly index: Client<IndexService>;
  readonly search: Client<SearchService>;
  readonly messages: Client<MessageService>;
  readonly conversations: Client<ConversationAccessService>;
  readonly agents: Client<AgentDirectoryService>;
  readonly agentRuns: Client<WorkRunService>;
  /** The work items of this service itself, so that automations create them by the same rules as people. */
  readonly workItems: Client<WorkItemService>;
}

/** Dependencies that all features of this service share. */
export interface Shared {
  readonly settings: Settings;
  readonly log: Log;
  readonly store: Store;
  readonly bus: EventBus;
  readonly memberships: MembershipCache;
  readonly peers: Peers;
  /** Checks and fetches URLs that users provide. */
  readonly guard: TenantGuard;
  /** Encrypts secrets of users. */
  readonly envelope: Envelope;
  /** Returns the current time in epoch milliseconds. */
  readonly now: () => number;
  /** Returns the options of a call that the system makes itself. */
  systemCall(timeoutMs?: number): CallOptions;
}

/** A part of this service with its own handlers and background work. */
export interface Feature {
  readonly implementations: readonly Implementation[];
  begin(): Promise<void>;
  close(): Promise<void>;
}

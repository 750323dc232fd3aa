import type { EventBus } from '@commonplace/kit/events';
import type { TenantGuard } from '@commonplace/kit/fetch';
import type { Log } from '@commonplace/kit/log';
import type { CallOptions } from '@commonplace/kit/rpc';
import type { Envelope } from '@commonplace/kit/secrets';
import type { Store } from '@commonplace/kit/store';
import { contracts } from '@commonplace/platform/contracts';
import type { MembershipCache } from '@commonplace/platform/memberships';
import type { Clients } from '@commonplace/platform/runtime';
import type { Settings } from './config.js';

/** The contracts that this service calls. */
export const PEERS = {
  auth: contracts.auth,
  directory: contracts.directory,
  workspaces: contracts.workspaces,
  resources: contracts.resources,
  content: contracts.content,
  comments: contracts.comments,
  tags: contracts.tags,
  forms: contracts.forms,
  index: contracts.index,
  search: contracts.search,
  messages: contracts.messages,
  conversations: contracts.conversationAccess,
  agents: contracts.agentDirectory,
  agentRuns: contracts.workRuns,
  /** The work items of this service itself, so that automations create them by the same rules as people. */
  workItems: contracts.workItems,
};

/** Dependencies that all features of this service share. */
export interface Shared {
  readonly settings: Settings;
  readonly log: Log;
  readonly store: Store;
  readonly bus: EventBus;
  readonly memberships: MembershipCache;
  readonly peers: Clients<typeof PEERS>;
  /** Checks and fetches URLs that users provide. */
  readonly guard: TenantGuard;
  /** Encrypts secrets of users. */
  readonly envelope: Envelope;
  /** Returns the current time in epoch milliseconds. */
  readonly now: () => number;
  /** Returns the options of a call that the system makes itself. */
  systemCall(timeoutMs?: number): CallOptions;
}

import type { Log } from '@commonplace/kit/log';
import type { Quota } from '@commonplace/kit/quota';
import type { CallContext, CallOptions, Client } from '@commonplace/kit/rpc';
import type { Collections, Store } from '@commonplace/kit/store';
import type { Departures } from '@commonplace/platform/departures';
import type { MembershipCache } from '@commonplace/platform/memberships';
import type { AuthService } from '@commonplace/proto/identity/v1/auth_service.js';
import type { IndexService } from '@commonplace/proto/resources/v1/index_service.js';
import type { DirectoryService } from '@commonplace/proto/tenancy/v1/directory_service.js';
import type { Settings } from '../config.js';
import { mentionCollection, messageCollection, receiptCollection } from './message-records.js';
import {
  conversationCollection,
  headCollection,
  memberCollection,
  mentionRunCollection,
  type Place,
  removalCollection,
  retentionCollection,
} from './records.js';

/** An agent that may be a member of conversations. */
interface KnownAgent {
  readonly id: string;
  readonly name: string;
}

export interface AgentDirectory {
  /** Returns an active agent that the caller may use, and that belongs to the tenant of a place; undefined if there is none. */
  find(agentId: string, place: Pick<Place, 'orgId'>, context: CallContext): Promise<KnownAgent | undefined>;
}

/** The collections of conversations. */
export const RECORDS = {
  conversations: conversationCollection,
  heads: headCollection,
  members: memberCollection,
  messages: messageCollection,
  mentions: mentionCollection,
  receipts: receiptCollection,
  retentions: retentionCollection,
  removals: removalCollection,
  mentionRuns: mentionRunCollection,
};
export type ConversationRecords = Collections<typeof RECORDS>;

/** Dependencies of the conversation features. */
export interface ConversationParts extends ConversationRecords {
  readonly settings: Settings;
  readonly log: Log;
  readonly store: Store;
  readonly memberships: MembershipCache;
  readonly departures: Departures;
  readonly index: Pick<Client<IndexService>, 'checkAccess'>;
  readonly users: Pick<Client<AuthService>, 'findUsers'>;
  readonly directory: Pick<Client<DirectoryService>, 'lookUpWorkspace'>;
  readonly agents: AgentDirectory;
  readonly conversationQuota: Quota;
  /** Returns the options of a call that the system makes itself. */
  systemCall(): CallOptions;
  /** Returns the current time in epoch milliseconds. */
  now(): number;
}

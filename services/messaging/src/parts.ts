import type { Log } from '@commonplace/kit/log';
import type { MembershipCache } from '@commonplace/kit/memberships';
import type { Client } from '@commonplace/kit/rpc';
import type { Collection, Store } from '@commonplace/kit/store';
import type { IndexService } from '@commonplace/proto/resources/v1/index_service.js';
import type { Settings } from './config.js';
import type { Notification, SeenEvent } from './stores/notifications.js';

/** What this service stands on. */
export interface Parts {
  readonly settings: Settings;
  readonly log: Log;
  readonly store: Store;
  readonly notifications: Collection<Notification>;
  readonly seenEvents: Collection<SeenEvent>;
  readonly memberships: MembershipCache;
  readonly index: Client<IndexService>;
  /** Epoch milliseconds. */
  now(): number;
}

import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import type { Audience, EventType } from '@commonplace/platform/public-events';

/** An event as the log stores it. Its id is that of the event on the bus, so that each event is stored once. */
export interface StreamEvent extends StoredRecord {
  /** The number in the log of all tenants. Numbers increase in commit order, with gaps. */
  readonly seq: number;
  readonly tenant: string;
  /** Empty for a Personal tenant. */
  readonly orgId: string;
  readonly workspaceId?: string;
  /** `reset` marks a place where events are missing for the readers of the tenant. */
  readonly type: EventType | 'reset';
  readonly time: string;
  readonly actor: { readonly type: string; readonly id: string };
  readonly audience: Audience;
  readonly data: Readonly<Record<string, unknown>>;
  readonly chain?: readonly string[];
  /** The time of the append. */
  readonly keptAt: string;
  readonly expiresAt: string;
}

export const streamEventCollection: CollectionSpec<StreamEvent> = {
  name: 'stream_events',
  indexes: [{ fields: ['seq'] }, { fields: ['tenant', 'seq'] }, { fields: ['expiresAt'] }],
  expires: 'expiresAt',
};

/** The end of the log. Every append replaces it, so that appends commit in the order of their numbers. */
export interface LogHead extends StoredRecord {
  readonly seq: number;
  /** The key that encrypts the positions in stream ids, in base64. */
  readonly key: string;
}

export const HEAD_ID = 'head';

export const logHeadCollection: CollectionSpec<LogHead> = { name: 'stream_head', indexes: [] };

/** A tenant that has readers, or had some within the time of resuming. Only the events of such tenants are kept. */
export interface ReadTenant extends StoredRecord {
  readonly tenant: string;
  /** The number from which on all events of the tenant are kept. */
  readonly sinceSeq: number;
  readonly expiresAt: string;
}

export const readTenantCollection: CollectionSpec<ReadTenant> = {
  name: 'stream_tenants',
  indexes: [{ fields: ['tenant'] }, { fields: ['expiresAt'] }],
  expires: 'expiresAt',
};

/** An event before it has a number in the log. */
export type NewStreamEvent = Omit<StreamEvent, 'version' | 'seq' | 'keptAt' | 'expiresAt'>;

/**
 * The throttle state of a resource's content: when its last event was appended, and the pending event. Its id is the
 * resource's.
 */
export interface ContentThrottle extends StoredRecord {
  readonly tenant: string;
  readonly toldAt: string;
  /** The latest event that was appended or is pending. */
  readonly lastId: string;
  readonly lastVersion: number;
  readonly waiting?: NewStreamEvent;
  /** When the pending event is due; absent if there is none. */
  readonly dueAt?: string;
  readonly expiresAt: string;
}

export const contentThrottleCollection: CollectionSpec<ContentThrottle> = {
  name: 'stream_contents',
  indexes: [{ fields: ['dueAt'], sparse: true }, { fields: ['tenant'] }, { fields: ['expiresAt'] }],
  expires: 'expiresAt',
};

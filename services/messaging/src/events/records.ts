import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import type { Audience, EventType } from '@commonplace/platform/public-events';

/** An event as it is kept for streams. Its id is that of the bus's event, so that each is kept once. */
export interface StreamEvent extends StoredRecord {
  /** Its place in the log of all tenants. Numbers rise in the order of commits; some are not used. */
  readonly seq: number;
  readonly tenant: string;
  /** Empty for a Personal tenant. */
  readonly orgId: string;
  readonly workspaceId?: string;
  /** `reset` tells the readers of the tenant that events are missing here. */
  readonly type: EventType | 'reset';
  readonly time: string;
  readonly actor: { readonly type: string; readonly id: string };
  readonly audience: Audience;
  readonly data: Readonly<Record<string, unknown>>;
  readonly chain?: readonly string[];
  /** When it was appended. */
  readonly keptAt: string;
  readonly expiresAt: string;
}

export const streamEventCollection: CollectionSpec<StreamEvent> = {
  name: 'stream_events',
  indexes: [{ fields: ['seq'] }, { fields: ['tenant', 'seq'] }, { fields: ['expiresAt'] }],
  expires: 'expiresAt',
};

/** The end of the log. Every append replaces it, so that appends are committed in the order of their numbers. */
export interface LogHead extends StoredRecord {
  readonly seq: number;
  /** Encrypts the places that clients are told, in base64. */
  readonly key: string;
}

export const HEAD_ID = 'head';

export const logHeadCollection: CollectionSpec<LogHead> = { name: 'stream_head', indexes: [] };

/** A tenant that somebody reads, or did within the time of resuming: its events are kept, and those of others are not. */
export interface ReadTenant extends StoredRecord {
  readonly tenant: string;
  /** All later events of the tenant have been kept. */
  readonly sinceSeq: number;
  readonly expiresAt: string;
}

export const readTenantCollection: CollectionSpec<ReadTenant> = {
  name: 'stream_tenants',
  indexes: [{ fields: ['tenant'] }, { fields: ['expiresAt'] }],
  expires: 'expiresAt',
};

/** An event that has no place in the log yet. */
export type NewStreamEvent = Omit<StreamEvent, 'version' | 'seq' | 'keptAt' | 'expiresAt'>;

/** When the content of a resource was last told, and what waits until it may be told again. Its id is the resource's. */
export interface ToldContent extends StoredRecord {
  readonly tenant: string;
  readonly toldAt: string;
  /** The latest event that was told, or that waits. */
  readonly lastId: string;
  readonly lastVersion: number;
  readonly waiting?: NewStreamEvent;
  /** When the waiting event is due; absent if none waits. */
  readonly dueAt?: string;
  readonly expiresAt: string;
}

export const toldContentCollection: CollectionSpec<ToldContent> = {
  name: 'stream_contents',
  indexes: [{ fields: ['dueAt'], sparse: true }, { fields: ['tenant'] }, { fields: ['expiresAt'] }],
  expires: 'expiresAt',
};

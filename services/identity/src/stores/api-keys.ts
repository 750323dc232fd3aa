import {
  type Collection,
  type CollectionSpec,
  keyset,
  type Scalar,
  type StoredRecord,
  type Where,
} from '@commonplace/kit/store';
import type { KeyType } from '../domain/key-format.js';

/** An API key, without what opens it. */
export interface ApiKeyRecord extends StoredRecord {
  readonly tenant: string;
  readonly type: KeyType;
  /** Of an Org's key. */
  readonly orgId?: string;
  /** The person whose live permissions it has. */
  readonly actingUserId: string;
  readonly name: string;
  readonly description?: string;
  readonly scopes: readonly string[];
  /** The only workspaces that it reaches; absent for no such limit. */
  readonly workspaceIds?: readonly string[];
  readonly ipAllowlist: readonly string[];
  readonly publicId: string;
  /** Keyed hash of the secret. */
  readonly secretHash: string;
  readonly prefix: string;
  readonly last4: string;
  /** `suspended` is what lists show: whether a key works is asked of the live membership. */
  readonly state: KeyState;
  readonly createdAt: string;
  readonly expiresAt?: string;
  readonly revokedAt?: string;
  readonly lastUsedAt?: string;
  readonly lastUsedIp?: string;
  /** The last notice before its end: so many days ahead. */
  readonly noticedDays?: number;
}

export type KeyState = 'active' | 'suspended' | 'revoked';
export type KeyStatus = KeyState | 'expired';

export const apiKeyCollection: CollectionSpec<ApiKeyRecord> = {
  name: 'api_keys',
  indexes: [
    { fields: ['publicId'], unique: true },
    { fields: ['tenant', 'createdAt'] },
    { fields: ['actingUserId', 'createdAt'] },
    { fields: ['state', 'expiresAt'] },
  ],
};

/** One for each tenant, changed with each new key, so that two of them can't both be the last allowed. */
export interface KeyHolderRecord extends StoredRecord {
  readonly tenant: string;
  readonly createdAt: string;
}

export const keyHolderCollection: CollectionSpec<KeyHolderRecord> = { name: 'key_holders', indexes: [] };

export function keyByPublicId(keys: Collection<ApiKeyRecord>, publicId: string): Promise<ApiKeyRecord | undefined> {
  return keys.find({ where: { publicId }, limit: 1 }).then(([key]) => key);
}

/** Keys of an Org that are not revoked; of one person there, or of all. */
export function standingKeys(keys: Collection<ApiKeyRecord>, orgId: string, userId?: string): Promise<ApiKeyRecord[]> {
  const of = userId === undefined || userId === '' ? {} : { actingUserId: userId };
  const where = { tenant: orgId, ...of, state: { in: ['active', 'suspended'] } };
  return keys.find({ where, sort: ['createdAt'], limit: 10_000 });
}

/** How many keys of a tenant are neither revoked nor expired, counted up to a limit. */
export function countLiveKeys(
  keys: Collection<ApiKeyRecord>,
  tenant: string,
  now: string,
  limit: number,
): Promise<number> {
  return keys.count({ tenant, state: { in: ['active', 'suspended'] }, ...notExpired(now) }, limit);
}

/** Active keys that end within a span, the next to end first. */
export async function* endingKeys(
  keys: Collection<ApiKeyRecord>,
  from: string,
  until: string,
  batch: number,
): AsyncIterable<ApiKeyRecord> {
  const where = { state: 'active', expiresAt: { gt: from, lte: until } };
  const sort = ['expiresAt'] as const;
  let after: { after?: Scalar[] } = {};
  for (;;) {
    const found = await keys.find({ where, sort, limit: batch, ...after });
    yield* found;
    const last = found.at(-1);
    if (last === undefined || found.length < batch) return;
    after = { after: keyset(last, sort) };
  }
}

/** Keys with a status; without one, all that are not revoked. */
export function whereStatus(status: KeyStatus | undefined, now: string): Where<ApiKeyRecord> {
  switch (status) {
    case undefined:
      return { state: { in: ['active', 'suspended'] } };
    case 'revoked':
      return { state: 'revoked' };
    case 'expired':
      return { state: { in: ['active', 'suspended'] }, expiresAt: { lte: now } };
    default:
      return { state: status, ...notExpired(now) };
  }
}

function notExpired(now: string): Where<ApiKeyRecord> {
  return { or: [{ expiresAt: { exists: false } }, { expiresAt: { gt: now } }] };
}

export function statusOf(key: ApiKeyRecord, now: string): KeyStatus {
  if (key.state === 'revoked') return 'revoked';
  return key.expiresAt !== undefined && key.expiresAt <= now ? 'expired' : key.state;
}

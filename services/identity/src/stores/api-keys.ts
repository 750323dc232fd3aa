import { type Collection, type CollectionSpec, findEach, type StoredRecord, type Where } from '@commonplace/kit/store';
import type { KeyType } from '../domain/key-format.js';

/** An API key without its secret. */
export interface ApiKeyRecord extends StoredRecord {
  /** The id of the Org, or of the person's default Personal workspace. */
  readonly tenant: string;
  readonly type: KeyType;
  /** The id of the Org; absent for a Personal key. */
  readonly orgId?: string;
  /** Id of the person whose current permissions the key has. */
  readonly actingUserId: string;
  readonly name: string;
  /** The name, folded for searches. */
  readonly nameFold: string;
  readonly description?: string;
  readonly scopes: readonly string[];
  /** The only workspaces that the key reaches; absent if it is not limited. */
  readonly workspaceIds?: readonly string[];
  readonly ipAllowlist: readonly string[];
  readonly publicId: string;
  /** The keyed hash of the secret. */
  readonly secretHash: string;
  readonly prefix: string;
  readonly last4: string;
  /** The secret that the last rotation replaced; absent if there was none. */
  readonly former?: FormerSecret;
  /** `suspended` is for display only: each use checks the person's current membership. */
  readonly state: KeyState;
  readonly createdAt: string;
  readonly expiresAt?: string;
  readonly revokedAt?: string;
  readonly lastUsedAt?: string;
  readonly lastUsedIp?: string;
  /** Days before expiry of the last notice sent. */
  readonly noticedDays?: number;
}

/** A secret that works on for a time after it was replaced. */
interface FormerSecret {
  readonly secretHash: string;
  readonly expiresAt: string;
}

type KeyState = 'active' | 'suspended' | 'revoked';
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

/**
 * A record per tenant that every new key writes, so that two concurrent creations cannot both take the last
 * allowed key.
 */
export interface KeyHolderRecord extends StoredRecord {
  readonly tenant: string;
  readonly createdAt: string;
}

export const keyHolderCollection: CollectionSpec<KeyHolderRecord> = { name: 'key_holders', indexes: [] };

export function keyByPublicId(keys: Collection<ApiKeyRecord>, publicId: string): Promise<ApiKeyRecord | undefined> {
  return keys.find({ where: { publicId }, limit: 1 }).then(([key]) => key);
}

/** Returns the keys of an Org that are not revoked: those of one person, or all. */
export function unrevokedKeys(keys: Collection<ApiKeyRecord>, orgId: string, userId?: string): Promise<ApiKeyRecord[]> {
  const of = userId === undefined || userId === '' ? {} : { actingUserId: userId };
  const where = { tenant: orgId, ...of, state: { in: ['active', 'suspended'] } };
  return keys.find({ where, sort: ['createdAt'], limit: 10_000 });
}

/** Returns the keys that act as a person and are not revoked, in all tenants. */
export function unrevokedKeysOf(keys: Collection<ApiKeyRecord>, userId: string): Promise<ApiKeyRecord[]> {
  const where = { actingUserId: userId, state: { in: ['active', 'suspended'] } };
  return keys.find({ where, sort: ['createdAt'], limit: 10_000 });
}

/** Returns the number of a tenant's keys that are neither revoked nor expired; counting stops at `limit`. */
export function countLiveKeys(
  keys: Collection<ApiKeyRecord>,
  tenant: string,
  now: string,
  limit: number,
): Promise<number> {
  return keys.count({ tenant, state: { in: ['active', 'suspended'] }, ...notExpired(now) }, limit);
}

/** Yields active keys that expire after `from` and up to `until`, soonest first. */
export function endingKeys(
  keys: Collection<ApiKeyRecord>,
  from: string,
  until: string,
  batch: number,
): AsyncIterable<ApiKeyRecord> {
  const where = { state: 'active', expiresAt: { gt: from, lte: until } };
  return findEach(keys, { where, sort: ['expiresAt'] }, batch);
}

/** Returns the filter for keys of a status; without one, for all keys that are not revoked. */
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

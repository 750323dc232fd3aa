import type { Credential } from '@commonplace/kit/auth';
import { AppError } from '@commonplace/kit/errors';
import type { CallOptions } from '@commonplace/kit/rpc';
import type { Collection, Store } from '@commonplace/kit/store';
import type { MembershipCache } from '@commonplace/platform/memberships';
import type { CredentialAudit } from '../audit.js';
import type { Background } from '../background.js';
import { parseKey } from '../domain/key-format.js';
import { hashedBy, keyedHash } from '../domain/keyed-hash.js';
import { isWithin } from '../domain/networks.js';
import { ExpiredCredentials, InvalidCredentials, IpNotAllowed, RevokedKey, SuspendedKey } from '../errors.js';
import { type ApiKeyRecord, keyByPublicId } from '../stores/api-keys.js';
import { activeUser, type UserRecord } from '../stores/users.js';
import type { Principal } from './principal.js';

/** Minimum milliseconds between two updates of a key's last use. */
const LAST_USE_INTERVAL_MS = 60_000;

interface KeyReaderParts {
  readonly store: Store;
  readonly keys: Collection<ApiKeyRecord>;
  readonly users: Collection<UserRecord>;
  readonly memberships: MembershipCache;
  /** Pepper keys, the current one first. A key hashed with an older one is rehashed when it is used. */
  readonly peppers: readonly Buffer[];
  readonly background: Background;
  readonly audit: CredentialAudit;
  readonly now: () => number;
}

/**
 * Creates a reader of API keys. For an Org's key it checks the person's current membership on each use and does not
 * wait for events.
 */
export function createKeyReader(parts: KeyReaderParts) {
  return async (text: string, clientIp: string, options: CallOptions): Promise<Principal> => {
    const given = parseKey(text);
    if (given === undefined) throw InvalidCredentials();
    const key = await keyByPublicId(parts.keys, given.publicId);
    const match = key === undefined ? undefined : matchOf(key, given.secret, parts.peppers);
    if (key === undefined || match === undefined || key.type !== given.type) throw InvalidCredentials();
    const origin = { clientIp, requestId: options.metadata.requestId };
    const user = await admitted(key, match, clientIp, parts, options).catch((error: unknown) => {
      if (isRefusal(error)) parts.audit.keyRefused(key, error.reason, origin);
      throw error;
    });
    parts.audit.keyUsed(key, user, origin);
    recordUse(key, clientIp, match.isOutdated ? given.secret : undefined, parts);
    return { user, tenant: { orgId: key.orgId ?? null }, credential: credentialOf(key, match) };
  };
}

/** Which of a key's secrets was sent. */
interface Match {
  /** When the secret ends; undefined if it does not. */
  readonly expiresAt: string | undefined;
  /** Whether the hash of the current secret was made with an older pepper. */
  readonly isOutdated: boolean;
}

/** Returns which of a key's secrets was sent, the current one or the one before; undefined for neither. */
function matchOf({ secretHash, former, expiresAt }: ApiKeyRecord, secret: string, peppers: readonly Buffer[]) {
  const pepper = hashedBy(peppers, secret, secretHash);
  if (pepper >= 0) return { expiresAt, isOutdated: pepper > 0 } satisfies Match;
  if (former === undefined || hashedBy(peppers, secret, former.secretHash) < 0) return undefined;
  return { expiresAt: former.expiresAt, isOutdated: false } satisfies Match;
}

/** Returns the person whom a key with the right secret acts as. Throws if the key may not be used. */
async function admitted(
  key: ApiKeyRecord,
  { expiresAt }: Match,
  clientIp: string,
  parts: KeyReaderParts,
  options: CallOptions,
): Promise<UserRecord> {
  if (key.state === 'revoked') throw RevokedKey();
  if (expiresAt !== undefined && Date.parse(expiresAt) <= parts.now()) throw ExpiredCredentials();
  const user = await actingUser(key, parts, options);
  if (key.ipAllowlist.length > 0 && !isWithin(clientIp, key.ipAllowlist)) throw IpNotAllowed();
  return user;
}

function isRefusal(error: unknown): error is AppError {
  return error instanceof AppError && (error.code === 'UNAUTHENTICATED' || error.code === 'PERMISSION_DENIED');
}

async function actingUser(key: ApiKeyRecord, parts: KeyReaderParts, options: CallOptions): Promise<UserRecord> {
  const user = await activeUser(parts.users, key.actingUserId);
  if (user === undefined) throw SuspendedKey();
  // Reads the membership past the cache, so that the keys of an Org stop working as soon as its deletion is answered.
  if (key.orgId !== undefined && !(await parts.memberships.fresh(user.id, options)).orgs.has(key.orgId)) {
    throw SuspendedKey();
  }
  return user;
}

function credentialOf(key: ApiKeyRecord, { expiresAt }: Match): Credential {
  const { id, name, scopes, workspaceIds } = key;
  return {
    type: 'api_key',
    id,
    name,
    scopes,
    ...(workspaceIds === undefined ? {} : { workspaceIds }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
  };
}

/**
 * Updates the last use in the background. `secret` is given if its hash has to be renewed with the current pepper.
 */
function recordUse(key: ApiKeyRecord, clientIp: string, secret: string | undefined, parts: KeyReaderParts): void {
  const now = parts.now();
  if (secret === undefined && key.lastUsedAt !== undefined && now - Date.parse(key.lastUsedAt) < LAST_USE_INTERVAL_MS)
    return;
  parts.background.run(`key:${key.id}`, async () => {
    const used = { lastUsedAt: new Date(now).toISOString(), ...(clientIp === '' ? {} : { lastUsedIp: clientIp }) };
    const hashed = secret === undefined ? {} : { secretHash: keyedHash(parts.peppers[0] as Buffer, secret) };
    const work = parts.store.begin();
    work.replace(parts.keys, key, { ...key, ...used, ...hashed });
    await work.commit();
  });
}

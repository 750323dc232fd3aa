import type { Credential } from '@commonplace/kit/auth';
import type { MembershipCache } from '@commonplace/kit/memberships';
import type { CallOptions } from '@commonplace/kit/rpc';
import type { Collection, Store } from '@commonplace/kit/store';
import type { Background } from '../background.js';
import { parseKey } from '../domain/key-format.js';
import { hashedBy, keyedHash } from '../domain/keyed-hash.js';
import { isWithin } from '../domain/networks.js';
import { ExpiredCredentials, InvalidCredentials, IpNotAllowed, RevokedKey, SuspendedKey } from '../errors.js';
import { type ApiKeyRecord, keyByPublicId } from '../stores/api-keys.js';
import type { UserRecord } from '../stores/users.js';
import type { Principal } from './principal.js';

/** How often the last use of a key is written down. */
const USED_MS = 60_000;

export interface KeyReaderParts {
  readonly store: Store;
  readonly keys: Collection<ApiKeyRecord>;
  readonly users: Collection<UserRecord>;
  readonly memberships: MembershipCache;
  /** The current one first; a key hashed with an older one is hashed anew when it is used. */
  readonly peppers: readonly Buffer[];
  readonly background: Background;
  readonly now: () => number;
}

/** Reads an API key. A live membership decides whether an Org's key works; nothing waits for an event. */
export function createKeyReader(parts: KeyReaderParts) {
  return async (text: string, clientIp: string, options: CallOptions): Promise<Principal> => {
    const given = parseKey(text);
    if (given === undefined) throw InvalidCredentials();
    const key = await keyByPublicId(parts.keys, given.publicId);
    const pepper = key === undefined ? -1 : hashedBy(parts.peppers, given.secret, key.secretHash);
    if (key === undefined || pepper < 0 || key.type !== given.type) throw InvalidCredentials();
    if (key.state === 'revoked') throw RevokedKey();
    if (key.expiresAt !== undefined && Date.parse(key.expiresAt) <= parts.now()) throw ExpiredCredentials();
    const user = await actingUser(key, parts, options);
    if (key.ipAllowlist.length > 0 && !isWithin(clientIp, key.ipAllowlist)) throw IpNotAllowed();
    noteUse(key, clientIp, pepper > 0 ? given.secret : undefined, parts);
    return { user, tenant: { orgId: key.orgId ?? null }, credential: credentialOf(key) };
  };
}

async function actingUser(key: ApiKeyRecord, parts: KeyReaderParts, options: CallOptions): Promise<UserRecord> {
  const user = await parts.users.get(key.actingUserId);
  if (user === undefined) throw SuspendedKey();
  if (key.orgId !== undefined && !(await parts.memberships.of(user.id, options)).orgs.has(key.orgId)) {
    throw SuspendedKey();
  }
  return user;
}

function credentialOf(key: ApiKeyRecord): Credential {
  const { id, name, scopes, workspaceIds, expiresAt } = key;
  return {
    type: 'api_key',
    id,
    name,
    scopes,
    ...(workspaceIds === undefined ? {} : { workspaceIds }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
  };
}

/** `secret` is given where it was hashed with a pepper that is not the current one. */
function noteUse(key: ApiKeyRecord, clientIp: string, secret: string | undefined, parts: KeyReaderParts): void {
  const now = parts.now();
  if (secret === undefined && key.lastUsedAt !== undefined && now - Date.parse(key.lastUsedAt) < USED_MS) return;
  parts.background.run(`key:${key.id}`, async () => {
    const used = { lastUsedAt: new Date(now).toISOString(), ...(clientIp === '' ? {} : { lastUsedIp: clientIp }) };
    const hashed = secret === undefined ? {} : { secretHash: keyedHash(parts.peppers[0] as Buffer, secret) };
    const work = parts.store.begin();
    work.replace(parts.keys, key, { ...key, ...used, ...hashed });
    await work.commit();
  });
}

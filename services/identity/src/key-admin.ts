import { isKnownScope, KNOWN_SCOPES } from '@commonplace/kit/auth';
import { createEvent, type DomainEvent, OPERATOR } from '@commonplace/kit/events';
import { homeOf } from '@commonplace/kit/id';
import { type Collection, findEach, type Store } from '@commonplace/kit/store';
import { foldEmail, trimLine } from '@commonplace/kit/words';
import type { Settings } from './config.js';
import { deriveKeys } from './domain/secrets.js';
import { keyFacts } from './events.js';
import { newApiKey } from './keys/new-key.js';
import { defaultEnd } from './keys/terms.js';
import {
  type ApiKeyRecord,
  apiKeyCollection,
  type KeyHolderRecord,
  type KeyStatus,
  keyByPublicId,
  keyHolderCollection,
  statusOf,
} from './stores/api-keys.js';
import { type UserRecord, userByEmail, userCollection } from './stores/users.js';

/** A key as operators see it, without its secret. */
export interface OperatorKey {
  readonly id: string;
  readonly prefix: string;
  readonly last4: string;
  readonly name: string;
  readonly type: 'personal' | 'org';
  readonly orgId: string | null;
  readonly person: string;
  readonly status: KeyStatus;
  readonly scopes: readonly string[];
  readonly createdAt: string;
  readonly expiresAt: string | null;
  readonly lastUsedAt: string | null;
}

interface NewOperatorKey {
  readonly email: string;
  readonly name: string;
  /** Empty for all scopes. */
  readonly scopes: readonly string[];
  /** RFC 3339; null for never. If absent, the key gets the default lifetime. */
  readonly expiresAt?: string | null | undefined;
  /** The Org that the key belongs to; absent for a Personal key. */
  readonly org?: KeyOrg | undefined;
}

/** An Org that a key is created for. */
export interface KeyOrg {
  readonly id: string;
  readonly name: string;
  /** Returns whether a person may hold keys of the Org. */
  isAdmin(userId: string): Promise<boolean>;
}

/** Tells the operator why an operation is not possible. */
export class OperatorError extends Error {
  constructor(
    message: string,
    /** Whether nothing has the id or address that was given. */
    readonly isMissing = false,
  ) {
    super(message);
  }
}

/** Manages API keys for the operator of an installation, who needs no key for it. */
export interface KeyAdmin {
  /** Returns the keys of one person, or of all people. Revoked keys are included only if `revoked` is set. */
  list(options: { readonly email?: string; readonly revoked?: boolean }): Promise<OperatorKey[]>;
  /** Creates a key and returns its secret, which cannot be read again. Limits on the number of keys do not apply. */
  create(wanted: NewOperatorKey): Promise<{ readonly key: OperatorKey; readonly secret: string }>;
  /** Revokes a key by its id or its displayed prefix. It stops working within a second. */
  revoke(which: string): Promise<OperatorKey>;
}

const CHUNK = 500;
/** The rules of `CreateApiKeyRequest.name`. */
const MAX_NAME_LENGTH = 255;
const CONTROL = /[\p{Cc}\u2028\u2029]/u;

/** The settings of identity that key management needs. */
type KeyAdminSettings = Pick<Settings, 'secrets' | 'keyLifetimeDays'>;

export async function openKeyAdmin(
  store: Store,
  { secrets, keyLifetimeDays }: KeyAdminSettings,
  now = Date.now,
): Promise<KeyAdmin> {
  const keys = await store.collection(apiKeyCollection);
  const holders = await store.collection(keyHolderCollection);
  const users = await store.collection(userCollection);
  const time = () => new Date(now()).toISOString();
  const view = (key: ApiKeyRecord, person: string) => toOperatorKey(key, person, time());

  async function personOf(email: string): Promise<UserRecord> {
    const user = await userByEmail(users, foldEmail(email));
    if (user === undefined) throw new OperatorError(`no account has the address ${email}`, true);
    return user;
  }

  return {
    async list({ email, revoked = false }) {
      const person = email === undefined ? undefined : await personOf(email);
      const found: ApiKeyRecord[] = [];
      for await (const key of allKeys(keys, person?.id)) if (revoked || key.state !== 'revoked') found.push(key);
      const people = await users.getMany([...new Set(found.map(({ actingUserId }) => actingUserId))]);
      const emails = new Map(people.map(({ id, email: address }) => [id, address]));
      return found.map((key) => view(key, emails.get(key.actingUserId) ?? key.actingUserId));
    },

    async create({ email, name, scopes, expiresAt, org }) {
      const label = trimLine(name);
      if (label === '' || [...label].length > MAX_NAME_LENGTH || CONTROL.test(label))
        throw new OperatorError(`a key's name must have 1 to ${MAX_NAME_LENGTH} characters, and no control characters`);
      const unknown = scopes.find((scope) => !isKnownScope(scope));
      if (unknown !== undefined) throw new OperatorError(`there is no scope ${unknown}`);
      if (typeof expiresAt === 'string' && Date.parse(expiresAt) <= now())
        throw new OperatorError('the expiry of a key must be in the future');
      const { id: actingUserId, email: person } = await personOf(email);
      if (org !== undefined && !(await org.isAdmin(actingUserId)))
        throw new OperatorError(`${person} is neither owner nor admin of ${org.name}`);
      const tenant = org?.id ?? homeOf(actingUserId);
      const type = org === undefined ? ({ type: 'personal' } as const) : ({ type: 'org', orgId: org.id } as const);
      const granted = scopes.length > 0 ? [...new Set(scopes)] : [...KNOWN_SCOPES];
      const draft = { tenant, ...type, actingUserId, name: label, scopes: granted };
      const end = expiresAt === undefined ? defaultEnd(keyLifetimeDays, now()) : expiresAt;
      const made = newApiKey({ ...draft, ...(end && { expiresAt: end }) }, deriveKeys(secrets).apiKeys, now());
      const work = store.begin();
      const key = work.insert(keys, made.record);
      await touchHolder(holders, work, tenant, made.record.createdAt);
      work.publish(byOperator('created', key, keyFacts(key), time()));
      await work.commit();
      return { key: view(key, person), secret: made.secret };
    },

    async revoke(which) {
      const publicId = /^wsk_[po]_([0-9A-Za-z]{12})/.exec(which)?.[1];
      const key = publicId === undefined ? await keys.get(which) : await keyByPublicId(keys, publicId);
      if (key === undefined) throw new OperatorError('there is no such key', true);
      const [user] = await users.getMany([key.actingUserId]);
      const person = user?.email ?? key.actingUserId;
      if (key.state === 'revoked') return view(key, person);
      const work = store.begin();
      const after = work.replace(keys, key, { ...key, state: 'revoked', revokedAt: time() });
      work.publish(byOperator('revoked', key, { ...keyFacts(key), credentialId: key.id }, time()));
      await work.commit();
      return view(after, person);
    },
  };
}

/** Writes the tenant's key holder like the service does, so that a concurrent creation counts the keys again. */
async function touchHolder(
  holders: Collection<KeyHolderRecord>,
  work: ReturnType<Store['begin']>,
  tenant: string,
  createdAt: string,
): Promise<void> {
  const holder = await holders.get(tenant);
  if (holder === undefined) work.insert(holders, { id: tenant, tenant, createdAt });
  else work.replace(holders, holder, { ...holder });
}

function allKeys(keys: Collection<ApiKeyRecord>, userId: string | undefined): AsyncIterable<ApiKeyRecord> {
  const query =
    userId === undefined ? { where: {} } : { where: { actingUserId: userId }, sort: ['createdAt'] as const };
  return findEach(keys, query, CHUNK);
}

function toOperatorKey(key: ApiKeyRecord, person: string, now: string): OperatorKey {
  const { id, prefix, last4, name, type, orgId = null, scopes, createdAt, expiresAt = null, lastUsedAt = null } = key;
  const status = statusOf(key, now);
  return { id, prefix, last4, name, type, orgId, person, status, scopes, createdAt, expiresAt, lastUsedAt };
}

function byOperator(verb: 'created' | 'revoked', key: ApiKeyRecord, data: object, time: string): DomainEvent {
  const { id: subject, tenant } = key;
  return createEvent({ service: 'identity', type: `api_key.${verb}`, subject, data, time, tenant, actor: OPERATOR });
}

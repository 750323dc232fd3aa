import { isKnownScope, KNOWN_SCOPES } from '@commonplace/kit/auth';
import type { DomainEvent } from '@commonplace/kit/events';
import { newId } from '@commonplace/kit/id';
import { type Collection, keyset, type Scalar, type Store } from '@commonplace/kit/store';
import { emailKeyOf } from './domain/address.js';
import { homeOf } from './domain/home.js';
import { deriveKeys } from './domain/secrets.js';
import { newApiKey } from './keys/new-key.js';
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

/** A key as an operator sees it: everything but what opens it. */
export interface DeskKey {
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

export interface NewDeskKey {
  readonly email: string;
  readonly name: string;
  /** All that there are when empty. */
  readonly scopes: readonly string[];
  /** RFC 3339. */
  readonly expiresAt?: string;
}

/** Says why something can't be done, to the operator. */
export class DeskError extends Error {}

/** What who runs an installation may do with API keys, without one. */
export interface KeyDesk {
  /** The keys of one person, or of all; those that are revoked where they are asked for. */
  list(options: { readonly email?: string; readonly revoked?: boolean }): Promise<DeskKey[]>;
  /** Makes a Personal key, which is told this once. No limit on keys holds here. */
  create(wanted: NewDeskKey): Promise<{ readonly key: DeskKey; readonly secret: string }>;
  /** By id, or by what is shown of a key. It opens nothing a second later. */
  revoke(which: string): Promise<DeskKey>;
}

const CHUNK = 500;

/** `secrets` as the settings of identity have them. */
export async function openKeyDesk(store: Store, secrets: readonly Buffer[], now = Date.now): Promise<KeyDesk> {
  const keys = await store.collection(apiKeyCollection);
  const holders = await store.collection(keyHolderCollection);
  const users = await store.collection(userCollection);
  const time = () => new Date(now()).toISOString();
  const view = (key: ApiKeyRecord, person: string) => toDeskKey(key, person, time());

  async function personOf(email: string): Promise<UserRecord> {
    const user = await userByEmail(users, emailKeyOf(email));
    if (user === undefined) throw new DeskError(`nobody has the address ${email}`);
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

    async create({ email, name, scopes, expiresAt }) {
      const strange = scopes.find((scope) => !isKnownScope(scope));
      if (strange !== undefined) throw new DeskError(`there is no scope ${strange}`);
      if (expiresAt !== undefined && Date.parse(expiresAt) <= now()) throw new DeskError('a key ends in the future');
      const { id: actingUserId, email: person } = await personOf(email);
      const tenant = homeOf(actingUserId);
      const granted = scopes.length > 0 ? [...new Set(scopes)] : [...KNOWN_SCOPES];
      const draft = { tenant, type: 'personal', actingUserId, name, scopes: granted } as const;
      const made = newApiKey({ ...draft, ...(expiresAt && { expiresAt }) }, deriveKeys(secrets).apiKeys, now());
      const work = store.begin();
      const key = work.insert(keys, made.record);
      await takePlace(holders, work, tenant, made.record.createdAt);
      work.publish(byOperator('created', key, { keyId: key.id }, time()));
      await work.commit();
      return { key: view(key, person), secret: made.secret };
    },

    async revoke(which) {
      const publicId = /^wsk_[po]_([0-9A-Za-z]{12})/.exec(which)?.[1];
      const key = publicId === undefined ? await keys.get(which) : await keyByPublicId(keys, publicId);
      if (key === undefined) throw new DeskError('there is no such key');
      const [user] = await users.getMany([key.actingUserId]);
      const person = user?.email ?? key.actingUserId;
      if (key.state === 'revoked') return view(key, person);
      const work = store.begin();
      const after = work.replace(keys, key, { ...key, state: 'revoked', revokedAt: time() });
      work.publish(byOperator('revoked', key, { keyId: key.id, credentialId: key.id }, time()));
      await work.commit();
      return view(after, person);
    },
  };
}

/** As the service does: whoever counts the keys of a tenant at this moment counts them again. */
async function takePlace(
  holders: Collection<KeyHolderRecord>,
  work: ReturnType<Store['begin']>,
  tenant: string,
  createdAt: string,
): Promise<void> {
  const holder = await holders.get(tenant);
  if (holder === undefined) work.insert(holders, { id: tenant, tenant, createdAt });
  else work.replace(holders, holder, { ...holder });
}

async function* allKeys(keys: Collection<ApiKeyRecord>, userId: string | undefined): AsyncIterable<ApiKeyRecord> {
  const where = userId === undefined ? {} : { actingUserId: userId };
  const sort = userId === undefined ? undefined : (['createdAt'] as const);
  let after: Scalar[] | undefined;
  for (;;) {
    const chunk = await keys.find({ where, sort, limit: CHUNK, ...(after && { after }) });
    yield* chunk;
    const last = chunk.at(-1);
    if (last === undefined || chunk.length < CHUNK) return;
    after = keyset(last, sort);
  }
}

function toDeskKey(key: ApiKeyRecord, person: string, now: string): DeskKey {
  const { id, prefix, last4, name, type, orgId = null, scopes, createdAt, expiresAt = null, lastUsedAt = null } = key;
  const status = statusOf(key, now);
  return { id, prefix, last4, name, type, orgId, person, status, scopes, createdAt, expiresAt, lastUsedAt };
}

function byOperator(verb: 'created' | 'revoked', key: ApiKeyRecord, data: object, time: string): DomainEvent {
  return {
    specversion: '1.0',
    id: `evt_${newId()}`,
    source: '/identity',
    type: `commonplace.identity.api_key.${verb}`,
    subject: key.id,
    time,
    datacontenttype: 'application/json',
    data: { ...data },
    tenant: key.tenant,
    actor: { type: 'system', id: 'operator', name: 'operator' },
  };
}

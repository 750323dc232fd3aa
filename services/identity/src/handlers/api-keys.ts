import { type Caller, credentialOutOfScope, reachesTenant } from '@commonplace/kit/auth';
import { NotFound } from '@commonplace/kit/errors';
import { homeOf } from '@commonplace/kit/id';
import { type CallContext, type Handlers, requireVersion } from '@commonplace/kit/rpc';
import { type Collection, timesWithin, type Where } from '@commonplace/kit/store';
import { foldName } from '@commonplace/kit/words';
import type { MembershipCache, PersonMemberships } from '@commonplace/platform/memberships';
import type {
  ApiKeyService,
  CreateApiKeyRequest,
  ListApiKeysRequest,
} from '@commonplace/proto/identity/v1/api_key_service.js';
import type { Settings } from '../config.js';
import type { PurposeKeys } from '../domain/secrets.js';
import { credentialIdOf } from '../domain/session.js';
import { InvalidCredentials, LimitReached, RevokedKey } from '../errors.js';
import { apiKeyCreated, apiKeyRevoked, apiKeyRotated } from '../events.js';
import { visibleKeys } from '../keys/list.js';
import { type KeyDraft, newApiKey, rotatedApiKey } from '../keys/new-key.js';
import { NEWEST_FIRST, OLDEST_FIRST, pageOfLimited, pageOfSets } from '../keys/page.js';
import { targetOf } from '../keys/target.js';
import { boundTerms, readTerms, refuseMoreScopes, refuseWiderKey } from '../keys/terms.js';
import { keyStatusOf, toApiKey } from '../keys/view.js';
import { workspaceLimit } from '../keys/workspace-limit.js';
import { requireKeyControl, requireOrgAdmin, requireOwnKey } from '../policy.js';
import type { Reach } from '../reach.js';
import { type RecencyParts, requireRecent } from '../security/signed-in.js';
import { type ApiKeyRecord, countLiveKeys, type KeyHolderRecord, statusOf, whereStatus } from '../stores/api-keys.js';
import { type SessionRecord, sessionsOf } from '../stores/sessions.js';
import type { UserRecord } from '../stores/users.js';

interface ApiKeyParts extends Pick<RecencyParts, 'secondFactors'> {
  readonly settings: Pick<
    Settings,
    | 'keyLifetimeDays'
    | 'maxKeyLifetimeDays'
    | 'keysPerPerson'
    | 'keysPerOrg'
    | 'formerKeyHours'
    | 'reauthenticationMinutes'
  >;
  readonly users: Collection<UserRecord>;
  readonly apiKeys: Collection<ApiKeyRecord>;
  readonly keyHolders: Collection<KeyHolderRecord>;
  readonly sessionRecords: Collection<SessionRecord>;
  readonly memberships: MembershipCache;
  readonly reach: Reach;
  readonly keys: Pick<PurposeKeys, 'apiKeys'>;
  readonly now: () => number;
}

function filterOf(request: ListApiKeysRequest): Where<ApiKeyRecord> {
  const { q } = request;
  return { ...(q !== '' && { nameFold: { substring: foldName(q) } }), ...timesWithin(request) };
}

export function createApiKeyHandlers(parts: ApiKeyParts): Handlers<ApiKeyService> {
  const { apiKeys, users, memberships, keys, now } = parts;
  const time = () => new Date(now()).toISOString();

  async function namesOf(records: readonly ApiKeyRecord[]): Promise<Map<string, string>> {
    const ids = [...new Set(records.map(({ actingUserId }) => actingUserId))];
    return new Map((await users.getMany(ids)).map(({ id, name }) => [id, name]));
  }

  return {
    async listApiKeys(request, context) {
      const person = await memberships.of(context.caller.userId, context.onward);
      const status = whereStatus(keyStatusOf(request.status), time());
      const filter = filterOf(request);
      const sort = request.sort === 'created_at' ? OLDEST_FIRST : NEWEST_FIRST;
      const sets = visibleKeys(request, context.caller, person).map((visible) => ({ and: [visible, status, filter] }));
      const own = context.caller.credential.workspaceIds;
      const { items, page } =
        own === undefined
          ? await pageOfSets(apiKeys, sets, sort, request.page)
          : await pageOfLimited(apiKeys, sets, own, sort, request.page);
      const names = await namesOf(items);
      return { items: items.map((key) => toApiKey(key, names.get(key.actingUserId) ?? '', time())), page };
    },

    async createApiKey(request, context) {
      const { caller } = context;
      await requireRecentSession(context, parts);
      const person = await memberships.of(caller.userId, context.onward);
      const draft = await draftOf(request, caller, person, context, parts);
      await takePlace(draft, context, parts);
      const { record, secret } = newApiKey(draft, keys.apiKeys, now());
      const key = context.work.insert(apiKeys, record);
      context.work.publish(apiKeyCreated(context, key));
      context.once('key');
      return { ...toApiKey(key, caller.userName, time()), key: secret };
    },

    async rotateApiKey({ keyId }, context) {
      const { caller, work } = context;
      await requireRecentSession(context, parts);
      const person = await memberships.of(caller.userId, context.onward);
      const key = await work.get(apiKeys, keyId);
      if (key === undefined) throw NotFound();
      requireOwnKey(caller, person, key);
      if (key.state === 'revoked' || statusOf(key, time()) === 'expired') throw NotFound();
      requireVersion(context, key.version);
      refuseMoreScopes(key.scopes, caller.credential.scopes);
      if (caller.credential.type === 'api_key') refuseWiderKey(key, await creatorOf(caller, context, parts));
      const { formerKeyHours: formerHours } = parts.settings;
      const { record, secret } = rotatedApiKey(key, keys.apiKeys, { formerHours, now: now() });
      const rotated = work.replace(apiKeys, key, record);
      work.publish(apiKeyRotated(context, rotated));
      context.once('key');
      return { ...toApiKey(rotated, caller.userName, time()), key: secret };
    },

    async deleteApiKey({ keyId }, context) {
      const person = await memberships.of(context.caller.userId, context.onward);
      const key = await context.work.get(apiKeys, keyId);
      if (key === undefined) throw NotFound();
      requireKeyControl(context.caller, person, key);
      if (key.state === 'revoked') throw NotFound();
      requireVersion(context, key.version);
      context.work.replace(apiKeys, key, { ...key, state: 'revoked', revokedAt: time() });
      context.work.publish(apiKeyRevoked(context, key));
      return { id: key.id, deleted: true };
    },
  };
}

/**
 * Requires a recently authenticated session, so that a stolen one cannot create a key that outlives it. The commit of
 * the key depends on the session, so that one which ends meanwhile creates none.
 */
async function requireRecentSession({ caller, work }: CallContext, parts: ApiKeyParts): Promise<void> {
  const { userId, credential } = caller;
  if (credential.type !== 'session') return;
  const sessions = await sessionsOf(parts.sessionRecords, userId);
  const session = sessions.find(({ id }) => credentialIdOf(id) === credential.id);
  if (session === undefined) throw InvalidCredentials();
  await requireRecent(session, parts);
  work.expect(parts.sessionRecords, session);
}

/**
 * Returns the properties of a requested key after all checks: tenant, role, the creating credential's limits, valid
 * values.
 */
async function draftOf(
  request: CreateApiKeyRequest,
  caller: Caller,
  person: PersonMemberships,
  context: CallContext,
  parts: ApiKeyParts,
): Promise<KeyDraft> {
  const orgId = targetOf(request, caller);
  const org = orgId === null ? undefined : requireOrgAdmin(caller, person, orgId);
  if (orgId === null && !reachesTenant(caller, null)) throw credentialOutOfScope(caller, null);
  const workspaceIds = await workspaceLimit(request.workspaceIds, caller, orgId, parts.reach, context.onward);
  refuseMoreScopes(request.scopes, caller.credential.scopes);
  const creator = caller.credential.type === 'api_key' ? await creatorOf(caller, context, parts) : undefined;
  const { keyLifetimeDays: lifetimeDays, maxKeyLifetimeDays } = parts.settings;
  const longest = Math.min(
    maxKeyLifetimeDays || Number.POSITIVE_INFINITY,
    org?.maxKeyLifetimeDays ?? Number.POSITIVE_INFINITY,
  );
  const maxLifetimeDays = Number.isFinite(longest) ? longest : undefined;
  const bounds = { creator, maxLifetimeDays, lifetimeDays, now: parts.now() };
  const terms = boundTerms(readTerms(request, bounds), bounds);
  return {
    tenant: orgId ?? homeOf(caller.userId),
    type: orgId === null ? 'personal' : 'org',
    ...(orgId === null ? {} : { orgId }),
    actingUserId: caller.userId,
    name: request.name,
    ...(request.description === undefined ? {} : { description: request.description }),
    ...(workspaceIds === undefined ? {} : { workspaceIds }),
    ...terms,
  };
}

/**
 * Returns the key that creates or rotates one, with the expiry of the secret that was sent. Throws `revoked_key` if it
 * was revoked since the call was authenticated. The commit depends on that key, so that one which is revoked meanwhile
 * creates none.
 */
async function creatorOf({ credential }: Caller, { work }: CallContext, parts: ApiKeyParts): Promise<ApiKeyRecord> {
  const creator = await work.get(parts.apiKeys, credential.id);
  if (creator === undefined || creator.state === 'revoked') throw RevokedKey();
  work.expect(parts.apiKeys, creator);
  const { expiresAt } = credential;
  return expiresAt === undefined ? creator : { ...creator, expiresAt };
}

/**
 * Checks the limit on a tenant's keys and writes its holder, so that concurrent creations conflict. Throws
 * `limit_reached`.
 */
async function takePlace({ tenant, type }: KeyDraft, context: CallContext, parts: ApiKeyParts): Promise<void> {
  const { keysPerPerson, keysPerOrg } = parts.settings;
  const limit = type === 'org' ? keysPerOrg : keysPerPerson;
  const at = new Date(parts.now()).toISOString();
  const holder = await context.work.get(parts.keyHolders, tenant);
  if ((await countLiveKeys(parts.apiKeys, tenant, at, limit)) >= limit) throw LimitReached({ limit });
  if (holder === undefined) context.work.insert(parts.keyHolders, { id: tenant, tenant, createdAt: at });
  else context.work.replace(parts.keyHolders, holder, { ...holder });
}

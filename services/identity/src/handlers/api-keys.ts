import type { Caller } from '@commonplace/kit/auth';
import { reachesTenant } from '@commonplace/kit/auth';
import { NotFound, TenantBoundary } from '@commonplace/kit/errors';
import type { PersonMemberships } from '@commonplace/kit/memberships';
import type { CallContext, Handlers } from '@commonplace/kit/rpc';
import type { ApiKeyService, CreateApiKeyRequest } from '@commonplace/proto/identity/v1/api_key_service.js';
import { homeOf } from '../domain/home.js';
import { LimitReached } from '../errors.js';
import { apiKeyCreated, apiKeyRevoked } from '../events.js';
import { visibleKeys } from '../keys/list.js';
import { type KeyDraft, newApiKey } from '../keys/new-key.js';
import { pageOfSets } from '../keys/page.js';
import { targetOf } from '../keys/target.js';
import { boundTerms, readTerms, refuseMoreScopes } from '../keys/terms.js';
import { keyStatusOf, toApiKey } from '../keys/view.js';
import { workspaceLimit } from '../keys/workspace-limit.js';
import { requireKeyControl, requireOrgAdmin } from '../policy.js';
import { type ApiKeyRecord, countLiveKeys, whereStatus } from '../stores/api-keys.js';
import type { Parts } from './parts.js';

export function createApiKeyHandlers(parts: Parts): Handlers<ApiKeyService> {
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
      const sets = visibleKeys(request, context.caller, person).map((visible) => ({ and: [visible, status] }));
      const { items, page } = await pageOfSets(apiKeys, sets, request.page);
      const names = await namesOf(items);
      return { items: items.map((key) => toApiKey(key, names.get(key.actingUserId) ?? '', time())), page };
    },

    async createApiKey(request, context) {
      const { caller } = context;
      const person = await memberships.of(caller.userId, context.onward);
      const draft = await draftOf(request, caller, person, context, parts);
      await takePlace(draft, context, parts);
      const { record, secret } = newApiKey(draft, keys.apiKeys, now());
      const key = context.work.insert(apiKeys, record);
      context.work.publish(apiKeyCreated(context, key));
      context.once('key');
      return { ...toApiKey(key, caller.userName, time()), key: secret };
    },

    async deleteApiKey({ keyId }, context) {
      const key = await context.work.get(apiKeys, keyId);
      if (key === undefined) throw NotFound();
      requireKeyControl(context.caller, await memberships.of(context.caller.userId, context.onward), key);
      if (key.state === 'revoked') throw NotFound();
      context.work.replace(apiKeys, key, { ...key, state: 'revoked', revokedAt: time() });
      context.work.publish(apiKeyRevoked(context, key));
      return { id: key.id, deleted: true };
    },
  };
}

/** What the key is to be, after every gate: tenant, role, what the creating credential holds, sense. */
async function draftOf(
  request: CreateApiKeyRequest,
  caller: Caller,
  person: PersonMemberships,
  context: CallContext,
  parts: Parts,
): Promise<KeyDraft> {
  const orgId = targetOf(request, caller);
  const org = orgId === null ? undefined : requireOrgAdmin(caller, person, orgId);
  if (orgId === null && !reachesTenant(caller, null)) throw TenantBoundary();
  const workspaceIds = await workspaceLimit(request.workspaceIds, caller, orgId, parts.reach, context.onward);
  refuseMoreScopes(request.scopes, caller.credential.scopes);
  const creator = caller.credential.type === 'api_key' ? await parts.apiKeys.get(caller.credential.id) : undefined;
  const bounds = { creator, maxLifetimeDays: org?.maxKeyLifetimeDays, now: parts.now() };
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

/** Counts the tenant's keys, and lets no other be made from the same count. */
async function takePlace({ tenant, type }: KeyDraft, context: CallContext, parts: Parts): Promise<void> {
  const { keysPerPerson, keysPerOrg } = parts.settings;
  const limit = type === 'org' ? keysPerOrg : keysPerPerson;
  const at = new Date(parts.now()).toISOString();
  const holder = await context.work.get(parts.keyHolders, tenant);
  if ((await countLiveKeys(parts.apiKeys, tenant, at, limit)) >= limit) throw LimitReached({ limit });
  if (holder === undefined) context.work.insert(parts.keyHolders, { id: tenant, tenant, createdAt: at });
  else context.work.replace(parts.keyHolders, holder, { ...holder });
}

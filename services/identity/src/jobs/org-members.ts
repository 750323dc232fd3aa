import type { EventBus, Subscription } from '@commonplace/kit/events';
import type { CallOptions, Client } from '@commonplace/kit/rpc';
import type { Collection, Store } from '@commonplace/kit/store';
import { consume, type TypedEvent } from '@commonplace/platform/events';
import type { DirectoryService } from '@commonplace/proto/tenancy/v1/directory_service.js';
import { apiKeyRevokedByJob, apiKeySuspended } from '../events.js';
import { type ApiKeyRecord, unrevokedKeys } from '../stores/api-keys.js';

interface MemberWatchParts {
  readonly bus: EventBus;
  readonly store: Store;
  readonly apiKeys: Collection<ApiKeyRecord>;
  readonly directory: Client<DirectoryService>;
  systemCall(): CallOptions;
}

/**
 * Keeps the displayed state of an Org's keys up to date: suspended while their person is not an active member. It
 * reads the current membership, so that order and repetition of events do not matter.
 */
export function watchOrgMembers(parts: MemberWatchParts): Promise<Subscription> {
  return consume(parts.bus, { consumer: 'identity.org-members', events: FOLLOWED }, (event) => follow(event, parts));
}

/**
 * Events after which an Org's keys change: it has no members while its deletion is scheduled, and never again once
 * it is purged.
 */
const FOLLOWED = [
  'tenancy.org_member.added',
  'tenancy.org_member.updated',
  'tenancy.org_member.removed',
  'tenancy.org.deleted',
  'tenancy.org.restored',
  'tenancy.org.purged',
] as const;

async function follow({ name, data }: TypedEvent<(typeof FOLLOWED)[number]>, parts: MemberWatchParts): Promise<void> {
  const { orgId } = data;
  const userId = 'userId' in data ? data.userId : undefined;
  // Open invitations change no key.
  if (orgId === '' || userId === '') return;
  const keys = await unrevokedKeys(parts.apiKeys, orgId, userId);
  const members = await activeMembers(orgId, [...new Set(keys.map(({ actingUserId }) => actingUserId))], parts);
  const suspends = keys.some(({ state, actingUserId }) => state === 'active' && !members.has(actingUserId));
  const { userIds: admins } = suspends
    ? await parts.directory.listOrgAdmins({ orgId }, parts.systemCall())
    : { userIds: [] };
  const work = parts.store.begin();
  for (const key of keys) {
    const state = name === 'tenancy.org.purged' ? 'revoked' : members.has(key.actingUserId) ? 'active' : 'suspended';
    if (key.state === state) continue;
    const now = new Date().toISOString();
    const revoked = state === 'revoked' ? { revokedAt: now } : {};
    const changed = work.replace(parts.apiKeys, key, { ...key, state, ...revoked });
    if (state === 'suspended') work.publish(apiKeySuspended(changed, now, admins));
    if (state === 'revoked') work.publish(apiKeyRevokedByJob(changed, now));
  }
  if (work.dirty) await work.commit();
}

async function activeMembers(
  orgId: string,
  userIds: readonly string[],
  { directory, systemCall }: MemberWatchParts,
): Promise<Set<string>> {
  const members = new Set<string>();
  for (const userId of userIds) {
    const { orgs } = await directory.getMemberships({ userId }, systemCall());
    if (orgs.some((org) => org.orgId === orgId)) members.add(userId);
  }
  return members;
}

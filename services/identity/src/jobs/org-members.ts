import type { DomainEvent, EventBus, Subscription } from '@commonplace/kit/events';
import type { CallOptions, Client } from '@commonplace/kit/rpc';
import type { Collection, Store } from '@commonplace/kit/store';
import type { DirectoryService } from '@commonplace/proto/tenancy/v1/directory_service.js';
import type { OrgMemberChanged } from '@commonplace/proto/tenancy/v1/events.js';
import { apiKeySuspended } from '../events.js';
import { type ApiKeyRecord, standingKeys } from '../stores/api-keys.js';

export interface MemberWatchParts {
  readonly bus: EventBus;
  readonly store: Store;
  readonly apiKeys: Collection<ApiKeyRecord>;
  readonly directory: Client<DirectoryService>;
  systemCall(): CallOptions;
}

/**
 * Shows in lists whether an Org's keys work: suspended while the person they act as is no active
 * member. It asks how things are now, so that order and repetition of the events do not matter.
 */
export function watchOrgMembers(parts: MemberWatchParts): Promise<Subscription> {
  const types = ['commonplace.tenancy.org_member.>', ...ORG_EVENTS];
  return parts.bus.subscribe({ consumer: 'identity.org-members', types }, async (events) => {
    for (const event of events) await follow(event, parts);
  });
}

/** An Org that is to be deleted has no members any more; one that is purged never has any again. */
const PURGED = 'commonplace.tenancy.org.purged';
const ORG_EVENTS = ['commonplace.tenancy.org.deleted', 'commonplace.tenancy.org.restored', PURGED];

async function follow({ type, data }: DomainEvent, parts: MemberWatchParts): Promise<void> {
  const { orgId, userId } = data as Partial<OrgMemberChanged>;
  // An invitation that is open changes nothing for anybody.
  if (!orgId || (!userId && !ORG_EVENTS.includes(type))) return;
  const keys = await standingKeys(parts.apiKeys, orgId, userId);
  const members = await activeMembers(orgId, [...new Set(keys.map(({ actingUserId }) => actingUserId))], parts);
  const work = parts.store.begin();
  for (const key of keys) {
    const state = type === PURGED ? 'revoked' : members.has(key.actingUserId) ? 'active' : 'suspended';
    if (key.state === state) continue;
    const changed = work.replace(parts.apiKeys, key, { ...key, state });
    if (state === 'suspended') work.publish(apiKeySuspended(changed, new Date().toISOString()));
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

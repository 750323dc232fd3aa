import type {
  DirectoryService,
  Memberships,
  WorkspaceMembership,
} from '@commonplace/proto/tenancy/v1/directory_service.js';
import { LRUCache } from 'lru-cache';
import type { EventBus } from '../events/port.js';
import type { CallOptions, Client } from '../rpc/port.js';

/** What a person belongs to, ready to be asked. */
export interface PersonMemberships {
  readonly userId: string;
  readonly orgs: ReadonlyMap<string, Memberships['orgs'][number]>;
  readonly workspaces: ReadonlyMap<string, WorkspaceMembership>;
  /** The person and all that they belong to, as grants name them: `user:<id>`, `org:<id>`, `workspace:<id>`. */
  readonly principals: readonly string[];
}

export interface MembershipCache {
  of(userId: string, options: CallOptions): Promise<PersonMemberships>;
  /** As tenancy has them now: for what was just joined, before anything is refused. */
  fresh(userId: string, options: CallOptions): Promise<PersonMemberships>;
}

/** No stale allow outlives this, whatever happens to the events. */
const MAX_AGE_MS = 2000;

/**
 * Memberships as tenancy has them, remembered until tenancy says that something has changed, and
 * for two seconds at most.
 */
export async function createMembershipCache(
  directory: Client<DirectoryService>,
  bus: EventBus,
): Promise<MembershipCache> {
  const cache = new LRUCache<string, Promise<PersonMemberships>>({ max: 10_000, ttl: MAX_AGE_MS, ttlResolution: 50 });
  await bus.watch(['commonplace.tenancy.>'], () => cache.clear());
  const fresh = (userId: string, options: CallOptions): Promise<PersonMemberships> => {
    const asked = directory.getMemberships({ userId }, options).then(index);
    cache.set(userId, asked);
    asked.catch(() => cache.delete(userId));
    return asked;
  };
  return { of: (userId, options) => cache.get(userId) ?? fresh(userId, options), fresh };
}

function index({ userId, orgs, workspaces }: Memberships): PersonMemberships {
  return {
    userId,
    orgs: new Map(orgs.map((org) => [org.orgId, org])),
    workspaces: new Map(workspaces.map((workspace) => [workspace.workspaceId, workspace])),
    principals: [
      `user:${userId}`,
      ...orgs.map(({ orgId }) => `org:${orgId}`),
      ...workspaces.map(({ workspaceId }) => `workspace:${workspaceId}`),
    ],
  };
}

import type { EventBus } from '@commonplace/kit/events';
import type { CallOptions, Client } from '@commonplace/kit/rpc';
import type { DirectoryService, SharingTerms } from '@commonplace/proto/tenancy/v1/directory_service.js';
import { LRUCache } from 'lru-cache';

/** What workspaces allow in sharing, as tenancy has it. */
export interface TermsCache {
  /** Throws NotFound where there is no such workspace. */
  of(workspaceId: string, options: CallOptions): Promise<SharingTerms>;
}

/** Nothing stale is gone by for longer, whatever happens to the events. */
const MAX_AGE_MS = 2000;

/** Terms are remembered until tenancy says that something has changed, and for two seconds at most. */
export async function createTermsCache(directory: Client<DirectoryService>, bus: EventBus): Promise<TermsCache> {
  const cache = new LRUCache<string, Promise<SharingTerms>>({ max: 10_000, ttl: MAX_AGE_MS, ttlResolution: 50 });
  await bus.watch(['commonplace.tenancy.>'], () => cache.clear());
  return {
    of(workspaceId, options) {
      const known = cache.get(workspaceId);
      if (known !== undefined) return known;
      const asked = directory.getSharingTerms({ workspaceId }, options);
      cache.set(workspaceId, asked);
      asked.catch(() => cache.delete(workspaceId));
      return asked;
    },
  };
}

import { maxEntries } from '@commonplace/kit/cache';
import type { EventBus } from '@commonplace/kit/events';
import type { CallOptions, Client } from '@commonplace/kit/rpc';
import type { DirectoryService, SharingTerms } from '@commonplace/proto/tenancy/v1/directory_service.js';
import { LRUCache } from 'lru-cache';

/** Caches the sharing terms of workspaces, which tenancy owns. */
export interface TermsCache {
  /** Returns the sharing terms of a workspace. Throws NotFound if there is no such workspace. */
  of(workspaceId: string, options: CallOptions): Promise<SharingTerms>;
}

/** Milliseconds after which a cached entry expires, even if no event has invalidated it. */
const MAX_AGE_MS = 2000;

/** Creates a cache that any tenancy event clears; entries live for at most two seconds. */
export async function createTermsCache(directory: Client<DirectoryService>, bus: EventBus): Promise<TermsCache> {
  const cache = new LRUCache<string, Promise<SharingTerms>>({
    ...maxEntries(10_000),
    ttl: MAX_AGE_MS,
    ttlResolution: 50,
  });
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

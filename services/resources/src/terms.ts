import { createSharedFetches } from '@commonplace/kit/cache';
import type { EventBus } from '@commonplace/kit/events';
import type { CallOptions, Client } from '@commonplace/kit/rpc';
import type { DirectoryService, SharingTerms } from '@commonplace/proto/tenancy/v1/directory_service.js';

/** Caches the sharing terms of workspaces, which tenancy owns. */
export interface TermsCache {
  /** Returns the sharing terms of a workspace. Throws NotFound if there is no such workspace. */
  of(workspaceId: string, options: CallOptions): Promise<SharingTerms>;
}

/** Milliseconds after which a cached entry expires, even if no event has invalidated it. */
const MAX_AGE_MS = 2000;

/** Creates a cache that any tenancy event clears; entries live for at most two seconds. */
export async function createTermsCache(directory: Client<DirectoryService>, bus: EventBus): Promise<TermsCache> {
  const cache = createSharedFetches({
    fetch: (workspaceId, options: CallOptions) => directory.getSharingTerms({ workspaceId }, options),
    maxCount: 10_000,
    maxAgeMs: MAX_AGE_MS,
  });
  await bus.watch(['commonplace.tenancy.>'], () => cache.clear());
  return cache;
}

import { maxEntries } from '@commonplace/kit/cache';
import { isOfOlderPeer } from '@commonplace/kit/errors';
import type { EventBus } from '@commonplace/kit/events';
import { openTenantGuard, type TenantGuard } from '@commonplace/kit/fetch';
import type { CallOptions, Client } from '@commonplace/kit/rpc';
import type { DirectoryService } from '@commonplace/proto/tenancy/v1/directory_service.js';
import { LRUCache } from 'lru-cache';

/** The settings of a service that decide which URLs it calls for its users. */
interface OutgoingSettings {
  readonly urlAllowlist: readonly string[];
  readonly publicUrl: string;
  readonly contentUrl: string | undefined;
}

export interface OutgoingParts {
  readonly settings: OutgoingSettings;
  readonly directory: Pick<Client<DirectoryService>, 'getUrlAllowlist'>;
  readonly bus: Pick<EventBus, 'watch'>;
  readonly systemCall: () => CallOptions;
  /** Milliseconds without a byte after which a call fails. */
  readonly idleMs?: number;
}

/** Maximum age of a cached list in milliseconds, even if events are lost. */
const MAX_AGE_MS = 2000;

/**
 * Opens the guard for all requests that configuration of users causes: it refuses this installation's own hosts, and
 * what the Org's `url_allowlist` does not name. Lists are cached until an event announces a change, for at most two
 * seconds.
 */
export async function openOutgoingGuard(parts: OutgoingParts): Promise<TenantGuard> {
  const { settings, directory, bus, systemCall, idleMs } = parts;
  const lists = new LRUCache<string, Promise<readonly string[]>>({
    ...maxEntries(10_000),
    ttl: MAX_AGE_MS,
    ttlResolution: 50,
  });
  await bus.watch(['commonplace.tenancy.>'], () => lists.clear());
  return openTenantGuard({
    allowlist: settings.urlAllowlist,
    ownUrls: ownUrls(settings),
    ...(idleMs !== undefined && { idleMs }),
    listOf(tenant) {
      const known = lists.get(tenant);
      if (known !== undefined) return known;
      const asked = directory
        .getUrlAllowlist({ tenant }, systemCall())
        .then(({ entries }) => entries, noneFromOlderPeer);
      lists.set(tenant, asked);
      asked.catch(() => lists.delete(tenant));
      return asked;
    },
  });
}

/** Returns the URLs by which this installation is reached. */
export function ownUrls({ publicUrl, contentUrl }: Pick<OutgoingSettings, 'publicUrl' | 'contentUrl'>): string[] {
  return contentUrl === undefined ? [publicUrl] : [publicUrl, contentUrl];
}

/** During an upgrade, lists do not count while tenancy has the version before, as they did not there. */
function noneFromOlderPeer(error: unknown): readonly string[] {
  if (isOfOlderPeer(error)) return [];
  throw error;
}

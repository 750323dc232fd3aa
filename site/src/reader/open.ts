import type { EndedSessions } from '@commonplace/kit/http';
import { createReadHost } from '@commonplace/kit/http';
import type { CallOptions, Client } from '@commonplace/kit/rpc';
import type { Host } from '@commonplace/platform/runtime';
import type { AuthService } from '@commonplace/proto/identity/v1/auth_service.js';
import type { ReaderService } from '@commonplace/proto/resources/v1/reader_service.js';
import type { Middleware } from 'koa';
import type { ReaderParts } from './parts.js';
import { createProofCookie } from './proof.js';
import { createRenderedPages } from './rendered.js';
import { createRevisions } from './revisions.js';
import { createViewerOf } from './share-links.js';
import { createReaderSite } from './site.js';
import { createViews } from './views.js';

interface ReaderSite {
  readonly serve: Middleware;
  /** Subscribes to changes, if this process receives any. */
  begin(): Promise<void>;
  /** Reports the views that have not been reported yet. */
  close(): Promise<void>;
}

/** Settings that the published pages depend on. */
interface SiteSettings {
  readonly publicUrl: string;
  readonly contentUrl: string | undefined;
  readonly pageCacheBytes: number;
  readonly requestTimeoutMs: number;
}

interface SiteParts {
  readonly reader: Client<ReaderService>;
  readonly auth: Pick<Client<AuthService>, 'getSession'>;
  readonly cookieName: string;
  readonly ended: EndedSessions;
  readonly settings: SiteSettings;
  readonly share: ReaderParts['share'];
  /** Runs a search within the rate limit of readers. */
  readonly limitSearches: ReaderParts['limitSearches'];
  /** Returns the options of calls that do not belong to a request. */
  readonly call: () => CallOptions;
  /**
   * Subscribes to changes made in this process, which are delivered before the write is answered; undefined if other
   * processes make the changes.
   */
  readonly watch: Host['watchOwn'];
}

/** Creates the site of published pages and its caches. */
export function openReaders(parts: SiteParts): ReaderSite {
  const { reader, auth, cookieName, ended, settings, share, limitSearches, call, watch } = parts;
  const { publicUrl, contentUrl, pageCacheBytes, requestTimeoutMs } = settings;
  const views = createViews(reader, call);
  const revisions = createRevisions(reader, { receivesChanges: watch !== undefined });
  const serve = createReaderSite({
    reader,
    revisions,
    pages: createRenderedPages(pageCacheBytes),
    views,
    cookie: createProofCookie(publicUrl.startsWith('https:')),
    hostOf: createReadHost(publicUrl),
    publicUrl,
    contentUrl,
    viewerOf: createViewerOf({ auth, cookieName, ended, timeoutMs: requestTimeoutMs }),
    timeoutMs: requestTimeoutMs,
    share,
    limitSearches,
  });
  return {
    serve,
    begin: async () => {
      await watch?.(CHANGES, revisions.forget);
    },
    close: views.close,
  };
}

/**
 * Events after which readers may see something else: changes of resources and their access, of files, and of settings
 * of workspaces and Orgs.
 */
const CHANGES = ['commonplace.resources.>', 'commonplace.files.>', 'commonplace.tenancy.>'];

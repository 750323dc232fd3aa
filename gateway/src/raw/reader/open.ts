import type { CallOptions, Client } from '@commonplace/kit/rpc';
import type { ReaderService } from '@commonplace/proto/resources/v1/reader_service.js';
import type { Middleware } from 'koa';
import type { Settings } from '../../config.js';
import { createReadHost } from '../../middleware/host.js';
import { createRateGate } from '../../middleware/rate-limit.js';
import type { ReaderParts } from './parts.js';
import { createProofCookie } from './proof.js';
import { createRenderedPages } from './rendered.js';
import { createRevisions } from './revisions.js';
import { createReaderSite } from './site.js';
import { createViews } from './views.js';

export interface ReaderSite {
  readonly serve: Middleware;
  /** Tells the views that were not told yet. */
  close(): Promise<void>;
}

interface SiteParts {
  readonly reader: Client<ReaderService>;
  readonly settings: Pick<Settings, 'publicUrl' | 'contentUrl' | 'pageCacheBytes' | 'requestTimeoutMs' | 'rateLimits'>;
  /** Options of a call that no request is behind. */
  readonly call: () => CallOptions;
}

/** The pages for readers, with what is kept between requests. */
export function openReaders({ reader, settings, call }: SiteParts): ReaderSite {
  const { publicUrl, contentUrl, pageCacheBytes, requestTimeoutMs, rateLimits } = settings;
  const views = createViews(reader, call);
  const serve = createReaderSite({
    reader,
    revisions: createRevisions(reader),
    pages: createRenderedPages(pageCacheBytes),
    views,
    cookie: createProofCookie(publicUrl.startsWith('https:')),
    hostOf: createReadHost(publicUrl),
    publicUrl,
    contentUrl,
    timeoutMs: requestTimeoutMs,
    limitSearches: createRateGate(rateLimits)({ limits: ['reader'], scope: 'public' }) as ReaderParts['limitSearches'],
  });
  return { serve, close: views.close };
}

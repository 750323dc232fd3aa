import type { CallOptions, Client } from '@commonplace/kit/rpc';
import type { ReaderAddress, ReaderService } from '@commonplace/proto/resources/v1/reader_service.js';
import type { Context } from 'koa';
import type { ReadHost } from '../../middleware/host.js';
import type { ProofCookie } from './proof.js';
import type { RenderedPages } from './rendered.js';
import type { Revisions } from './revisions.js';
import type { Views } from './views.js';

/** What the pages for readers stand on. */
export interface ReaderParts {
  readonly reader: Client<ReaderService>;
  readonly revisions: Revisions;
  readonly pages: RenderedPages;
  readonly views: Views;
  readonly cookie: ProofCookie;
  readonly hostOf: ReadHost;
  readonly publicUrl: string;
  /** The origin of users' bytes, where it is another than the product's. */
  readonly contentUrl: string | undefined;
  /** Milliseconds that a call may take. */
  readonly timeoutMs: number;
  /** Goes on where the address of a request may search once more; throws `rate_limited`. */
  readonly limitSearches: (ctx: Context, search: () => Promise<void>) => Promise<void>;
}

/** Where in a publication a request leads. */
export interface Place {
  readonly address: ReaderAddress;
  /** Names the address among kept revisions and pages. */
  readonly key: string;
  /** Behind the publication's own path, without a slash before it. */
  readonly path: string;
}

export function callOf(ctx: Context, { timeoutMs }: Pick<ReaderParts, 'timeoutMs'>): CallOptions {
  const { requestId, traceparent } = ctx.state;
  return { metadata: { requestId, traceparent }, deadline: Date.now() + timeoutMs };
}

/** Whether a host is the one of users' bytes alone, where nothing else of the server is. */
export function isBytesHost({ contentUrl, publicUrl, hostOf }: Apart, host: string): boolean {
  if (contentUrl === undefined) return false;
  const bytes = hostOf(new URL(contentUrl));
  return bytes === host && bytes !== hostOf(new URL(publicUrl));
}

export type Apart = Pick<ReaderParts, 'contentUrl' | 'publicUrl' | 'hostOf'>;

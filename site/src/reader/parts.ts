import type { ReadHost, ShareWork } from '@commonplace/kit/http';
import type { CallOptions, Client } from '@commonplace/kit/rpc';
import type { ReaderAddress, ReaderService } from '@commonplace/proto/resources/v1/reader_service.js';
import type { Context } from 'koa';
import type { ProofCookie } from './proof.js';
import type { RenderedPages } from './rendered.js';
import type { Revisions } from './revisions.js';
import type { Views } from './views.js';

/** Dependencies of the pages for readers. */
export interface ReaderParts {
  readonly reader: Client<ReaderService>;
  readonly revisions: Revisions;
  readonly pages: RenderedPages;
  readonly views: Views;
  readonly cookie: ProofCookie;
  readonly hostOf: ReadHost;
  readonly publicUrl: string;
  /** The origin of uploaded content, if it differs from the product's. */
  readonly contentUrl: string | undefined;
  /** Returns the user id of the browser's signed-in person, for share links. */
  readonly viewerOf: (ctx: Context) => Promise<string>;
  /** Timeout of a call in milliseconds. */
  readonly timeoutMs: number;
  readonly share: ShareWork;
  /** Runs a search within the rate limit of the client's network. Throws `rate_limited`. */
  readonly limitSearches: (ctx: Context, search: () => Promise<void>) => Promise<void>;
}

/** The place in a publication that a request addresses. */
export interface Place {
  readonly address: ReaderAddress;
  /** Key of the address in the caches of revisions and pages. */
  readonly key: string;
  /** Path within the publication, without a leading slash. */
  readonly path: string;
  /** Set if the place is addressed by a share link. */
  readonly shared?: true;
}

export function callOf(ctx: Context, { timeoutMs }: Pick<ReaderParts, 'timeoutMs'>): CallOptions {
  const { requestId, traceparent } = ctx.state;
  return { metadata: { requestId, traceparent }, deadline: Date.now() + timeoutMs };
}

/** Returns whether a host serves only uploaded content. */
export function isBytesHost({ contentUrl, publicUrl, hostOf }: Apart, host: string): boolean {
  if (contentUrl === undefined) return false;
  const bytes = hostOf(new URL(contentUrl));
  return bytes === host && bytes !== hostOf(new URL(publicUrl));
}

export type Apart = Pick<ReaderParts, 'contentUrl' | 'publicUrl' | 'hostOf'>;

const MAX_OFFSET = 10_000_000;

/** Returns the number of rows or results to skip, from `?offset=`. */
export function offsetOf({ query: { offset } }: Context): number {
  return typeof offset === 'string' && /^\d{1,8}$/.test(offset) ? Math.min(Number(offset), MAX_OFFSET) : 0;
}

import type { CallOptions, Client } from '@commonplace/kit/rpc';
import type { ReaderAddress, ReaderService } from '@commonplace/proto/resources/v1/reader_service.js';
import type { Context } from 'koa';
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
  readonly publicUrl: string;
  /** The origin of users' bytes, where it is another than the product's. */
  readonly contentUrl: string | undefined;
  /** Milliseconds that a call may take. */
  readonly timeoutMs: number;
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

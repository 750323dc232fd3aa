import type { Middleware, ParameterizedContext } from 'koa';
import { isSafe } from './authenticate.js';
import { type Claim, createInProgress } from './in-progress.js';
import { sharerOf } from './sharer.js';
import type { State } from './state.js';

/** Number of bytes up to which an answer is not counted: its connection takes more memory. */
const SMALL_BYTES = 4096;

/** Headers that describe a body, and so do not belong to the error that replaces it. */
const HEADERS_OF_BODY = ['Accept-Ranges', 'Content-Disposition', 'Content-Range', 'ETag', 'Link'];

/**
 * Limits the bytes in memory that the clients of one tenant, or of one network without a credential, have not read yet,
 * because a client that reads slowly or not at all occupies them as long as it likes. Beyond the limit, further reads
 * are refused with `concurrency_limited`. The answer to a write is sent in any case, because the write has taken effect.
 */
export function limitUnreadAnswers(maxBytes: number): Middleware<State> {
  const inProgress = createInProgress();
  const message = (limit: number) =>
    `Clients have not read answers of ${limit} bytes yet. Read them before further requests.`;
  return async (ctx, next) => {
    await next();
    const amount = ctx.state.bytesInMemory ?? lengthOf(ctx);
    if (amount <= SMALL_BYTES || ctx.res.destroyed || ctx.method === 'HEAD') return;
    const claim: Claim = { policy: 'unread', key: sharerOf(ctx), limit: maxBytes, amount, message, retryAfter: 1 };
    try {
      if (isSafe(ctx.method)) inProgress.require([claim]);
    } catch (error) {
      for (const name of HEADERS_OF_BODY) ctx.remove(name);
      throw error;
    }
    const release = inProgress.count([claim]);
    // The answer of a batched call is in memory until the client has read the answer of the batch.
    if (ctx.state.batched === undefined) ctx.res.once('close', release);
    else ctx.state.batched.held.push(release);
  };
}

/** Returns the size of an answer in bytes, or in characters if it is a text. */
function lengthOf({ body, response }: ParameterizedContext<State>): number {
  return typeof body === 'string' ? body.length : (response.length ?? 0);
}

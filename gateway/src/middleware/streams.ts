import { pipeline, Readable } from 'node:stream';
import type { Middleware } from 'koa';

/**
 * Sends bodies that are streams, as Koa would. Koa first tests whether a body is a `Response`, and Node loads its HTTP client
 * for that name: the first stream of a process would hold the event loop for 30 to 80 ms.
 */
export function sendStreams(): Middleware {
  return async (ctx, next) => {
    await next();
    const { body, res } = ctx;
    if (!(body instanceof Readable) || ctx.method === 'HEAD' || WITHOUT_BODY.has(ctx.status) || !ctx.writable) return;
    ctx.respond = false;
    // What a request passes waits for the end of its answer, and `pipeline` does so several times: Node would warn of a leak.
    res.setMaxListeners(MAX_LISTENERS);
    pipeline(body, res, (error) => {
      if (error) ctx.onerror(error);
    });
  };
}

/** More than there are: a sampled request whose answer is large has eleven. */
const MAX_LISTENERS = 20;

const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

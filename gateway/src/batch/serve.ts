import { cancelled } from '@commonplace/kit/deadline';
import type { BatchCall, BatchResponses, SendBatchRequest } from '@commonplace/proto/gateway/v1/batch_service.js';
import type { Middleware } from 'koa';
import { readBody } from '../body/read.js';
import type { Settings } from '../config.js';
import { type Ctx, readAll, respond } from '../endpoint.js';
import type { FairShares } from '../fair-shares/index.js';
import type { OpenInProcess } from '../in-process.js';
import type { LargeBodies } from '../large-bodies/index.js';
import { sharerOf } from '../middleware/sharer.js';
import type { State } from '../middleware/state.js';
import type { Route } from '../routes.js';
import { requireCalls } from './check.js';
import { createMakeCall } from './make-call.js';
import { runCalls } from './run.js';

interface BatchParts {
  readonly settings: Pick<
    Settings,
    'requestTimeoutMs' | 'batchCalls' | 'batchBodyBytes' | 'batchAnswerBytes' | 'batchAnswersBytes'
  >;
  readonly largeBodies: LargeBodies;
  readonly fairShares: FairShares;
  /** Sends a request through all of the API's middleware. */
  readonly open: OpenInProcess;
}

/**
 * Serves `POST /batch`: makes the calls that the request names, and answers with the answer of each. The batch holds no
 * share of the process while its calls run, because each of them takes its own.
 */
export function serveBatch(route: Route, parts: BatchParts): Middleware<State> {
  const { settings, open } = parts;
  return async (context) => {
    const ctx = context as unknown as Ctx;
    const { calls, deadline } = await readCalls(ctx, route, parts);
    requireCalls(calls, ctx.req.headers, settings.batchCalls);
    const held: (() => void)[] = [];
    const gone = new AbortController();
    ctx.res.once('close', () => {
      if (!ctx.res.writableFinished) gone.abort();
      for (const release of held) release();
    });
    if (ctx.res.destroyed) throw cancelled();
    const make = createMakeCall(open, {
      headers: ctx.req.headers,
      url: ctx.req.url ?? '',
      requestId: ctx.state.requestId,
      traceparent: ctx.state.traceparent,
      remoteAddress: ctx.req.socket.remoteAddress ?? '',
      deadline,
      signal: gone.signal,
      held,
    });
    const { batchAnswerBytes: answerBytes, batchAnswersBytes: answersBytes } = settings;
    const responses = await runCalls(calls, { make, deadline, signal: gone.signal, answerBytes, answersBytes });
    // The answers of the calls count as unread already.
    ctx.state.bytesInMemory = 0;
    const message: BatchResponses = { responses };
    await respond(ctx, route, { message, reply: {}, shown: {} });
  };
}

/** Reads the calls when it is the tenant's turn. Returns them with the end of the time that they have together. */
async function readCalls(
  ctx: Ctx,
  route: Route,
  { settings, fairShares, largeBodies }: BatchParts,
): Promise<{ readonly calls: readonly BatchCall[]; readonly deadline: number }> {
  const began = Date.now();
  const limit = { bytes: settings.batchBodyBytes, setting: 'COMMONPLACE_BATCH_BODY_BYTES' };
  const bytes = await readBody(ctx as never, limit);
  const deadline = ctx.state.arrivedAt + settings.requestTimeoutMs + Date.now() - began;
  const running = await fairShares.enter(sharerOf(ctx), deadline);
  running.bytes = bytes.length;
  try {
    const { request } = await readAll(ctx, route, { bytes, type: ctx.req.headers['content-type'] }, { largeBodies });
    return { calls: (request.message as unknown as SendBatchRequest).requests, deadline };
  } finally {
    fairShares.leave(running);
  }
}

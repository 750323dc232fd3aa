import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { type AppError, asAppError } from '@commonplace/kit/errors';
import type { ParameterizedContext } from 'koa';
import type { OpenStreams } from './middleware/open-streams.js';
import type { State } from './middleware/state.js';
import type { EventRoute, WrittenEvent } from './routes.js';

type Ctx = ParameterizedContext<State>;

/** Opens the stream of an rpc after a given event; the stream ends when the signal aborts. */
export type OpenEvents = (lastEventId: string, signal: AbortSignal) => AsyncIterable<object>;

/** Streams of rpcs that clients read as server-sent events (WHATWG HTML, 9.2). */
export interface EventStreams {
  /**
   * Answers with the events of a stream. Rejects with the error of a stream that fails before its first event, and with
   * `concurrency_limited` if the credential or its tenant has too many streams open. Ends the stream, without an error, at
   * `deadline` (epoch milliseconds).
   */
  send(ctx: Ctx, route: EventRoute, open: OpenEvents, deadline: number): Promise<void>;
  /**
   * Ends all streams without a last event. Clients reconnect by themselves and continue after the last event they have
   * seen.
   */
  close(): void;
}

/** Milliseconds after which clients reconnect to a stream that has ended; below, milliseconds between two pings. */
const CLIENT_RETRY_MS = 2_000;
const PING_MS = 15_000;
/** Milliseconds between two checks of the credential. With what is remembered of it, a revoked one ends within 2 s. */
const RENEW_MS = 1_000;
/** Milliseconds in which a client has to take what it was sent; one that does not is disconnected, and may resume. */
const STALL_MS = 30_000;
/** Times in a row that a stream is reopened after its service became unavailable, and milliseconds before each. */
const REOPENINGS = 5;
const REOPEN_MS = 500;

/** Returns whether a client asks for events. */
export function wantsEvents(ctx: Pick<Ctx, 'get'>): boolean {
  return /\btext\/event-stream\b/.test(ctx.get('Accept'));
}

export function createEventStreams(streams: OpenStreams, stallMs = STALL_MS): EventStreams {
  const open = new Set<PassThrough>();
  return {
    async send(ctx, route, openEvents, deadline) {
      const leave = streams.open(ctx.state.admitted);
      const body = new PassThrough();
      const gone = new AbortController();
      body.on('error', () => {});
      const end = () => {
        open.delete(body);
        gone.abort();
        leave();
      };
      body.once('close', end);
      ctx.res.once('close', () => body.destroy());
      // A client that left while its credential was checked closes nothing any more.
      if (ctx.res.destroyed) {
        body.destroy();
        return;
      }
      const tokenOf = () => ctx.state.admitted.token;
      const reader = new Reader(route, openEvents, ctx.get('Last-Event-ID'), gone.signal, deadline, tokenOf);
      try {
        await reader.start();
      } catch (error) {
        body.destroy();
        throw error;
      }
      open.add(body);
      ctx.status = 200;
      ctx.set({
        'Content-Type': 'text/event-stream; charset=utf-8',
        'Cache-Control': 'no-store',
        'X-Accel-Buffering': 'no',
      });
      ctx.req.socket.setTimeout(0);
      ctx.body = body;
      void pump(ctx, body, reader, gone.signal, stallMs).finally(() => {
        if (!body.destroyed) body.end();
        gone.abort();
      });
    },
    close() {
      for (const body of open) body.end();
    },
  };
}

/**
 * Reads a stream, and reopens it after its last event if the service becomes unavailable, or if the caller token with which
 * it was opened has expired and the credential has got another one.
 */
class Reader {
  private events: AsyncIterator<object> | undefined;
  private first: IteratorResult<object> | undefined;
  private reopenings = 0;
  /** Times in a row that the stream was opened with a token that has expired. */
  private lateTokens = 0;
  private openedWith: string | undefined;

  constructor(
    private readonly route: EventRoute,
    private readonly open: OpenEvents,
    private lastEventId: string,
    private readonly signal: AbortSignal,
    private readonly deadline: number,
    private readonly tokenOf: () => string,
  ) {}

  /** Waits for the first message, so that an error before it is answered like the error of any request. */
  async start(): Promise<void> {
    this.first = await this.read();
  }

  get last(): string {
    return this.lastEventId;
  }

  /** Returns the next event, or undefined at the end of the stream. Rejects with the error that ends it. */
  async next(): Promise<WrittenEvent | undefined> {
    for (;;) {
      try {
        const { done, value } = this.first ?? (await this.read());
        this.first = undefined;
        if (done) return undefined;
        this.reopenings = 0;
        const event = this.route.writeEvent(value);
        if (event === undefined) continue;
        this.lastEventId = event.id;
        return event;
      } catch (error) {
        const failure = asAppError(error);
        if (failure.code === 'UNAUTHENTICATED' && !this.signal.aborted) {
          this.events = undefined;
          if (this.openedWith !== this.tokenOf()) {
            this.lateTokens = 0;
            continue;
          }
          // The next token is late, since it can't be asked for now. A credential that has ended ends the stream by itself.
          if (++this.lateTokens > REOPENINGS) return undefined;
          await sleep(REOPEN_MS, undefined, { ref: false });
          continue;
        }
        if (isPassing(failure) && Date.now() >= this.deadline) return undefined;
        if (this.signal.aborted || !isPassing(failure) || ++this.reopenings > REOPENINGS) throw failure;
        this.events = undefined;
        await sleep(REOPEN_MS, undefined, { ref: false });
      }
    }
  }

  /** Gives the stream up. A generator that nobody reads would keep what it holds for ever. */
  close(): void {
    void this.events?.return?.().catch(() => {});
  }

  private read(): Promise<IteratorResult<object>> {
    if (this.events === undefined) {
      this.openedWith = this.tokenOf();
      this.events = this.open(this.lastEventId, this.signal)[Symbol.asyncIterator]();
    }
    return this.events.next();
  }
}

/** Returns whether an error is temporary: another replica, or the same one a little later, can continue. */
function isPassing({ code }: AppError): boolean {
  return code === 'UNAVAILABLE' || code === 'DEADLINE_EXCEEDED';
}

async function pump(ctx: Ctx, body: PassThrough, reader: Reader, signal: AbortSignal, stallMs: number): Promise<void> {
  const { requestId } = ctx.state;
  const write = async (text: string) => {
    if (body.writableEnded || body.destroyed) return;
    if (body.write(text)) return;
    const stalled = AbortSignal.timeout(stallMs);
    await once(body, 'drain', { signal: AbortSignal.any([signal, stalled]) }).catch(() => {});
    if (stalled.aborted) ctx.res.destroy();
  };
  const fail = async (error: unknown) => {
    const { reason: code, message } = asAppError(error);
    await write(frame({ id: reader.last, name: 'error', data: JSON.stringify({ code, message }) }, requestId));
    body.end();
  };
  const ping = setInterval(() => void write(': ping\n\n'), PING_MS);
  const renewal = setInterval(() => void renew(ctx).catch(fail), RENEW_MS);
  try {
    await write(`retry: ${CLIENT_RETRY_MS}\n\n`);
    for (let event = await reader.next(); event !== undefined; event = await reader.next()) {
      await write(frame(event, requestId));
      if (signal.aborted || body.destroyed) return;
    }
  } catch (error) {
    if (!signal.aborted) await fail(error);
  } finally {
    reader.close();
    clearInterval(ping);
    clearInterval(renewal);
  }
}

/** Authenticates the credential again. Rejects if it is no longer valid, but not if that can't be determined now. */
async function renew({ state }: Ctx): Promise<void> {
  try {
    state.admitted = await state.renew();
  } catch (error) {
    if (!isPassing(asAppError(error))) throw error;
  }
}

/** Returns an event as it is sent. Its data end with the sequence number and the id of the request that it answers. */
function frame({ id, name, data }: WrittenEvent, requestId: string): string {
  const sequence = /^\d{1,15}$/.test(id) ? `"sequence":${Number(id)},` : '';
  const comma = data === '{}' ? '' : ',';
  return `id: ${id}\nevent: ${name}\ndata: ${data.slice(0, -1)}${comma}${sequence}"request_id":"${requestId}"}\n\n`;
}

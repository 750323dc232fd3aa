import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { type AppError, asAppError } from '@commonplace/kit/errors';
import type { ParameterizedContext } from 'koa';
import { asksFor } from './accept.js';
import type { OpenStreams } from './middleware/open-streams.js';
import type { State } from './middleware/state.js';
import type { EventRoute, WrittenEvent } from './routes.js';

type Ctx = ParameterizedContext<State>;

/** Opens the stream of an rpc after the event with the given id. The stream ends when the signal aborts. */
export type OpenEvents = (lastEventId: string, signal: AbortSignal) => AsyncIterable<object>;

/** Sends streams of rpcs to clients as server-sent events (WHATWG HTML, 9.2). */
export interface EventStreams {
  /** Throws `concurrency_limited` if the credential or its tenant has too many streams open for another one. */
  requireRoom(ctx: Ctx): void;
  /**
   * Responds with the events of a stream. Rejects if the stream fails before its first event, and with
   * `concurrency_limited` if the credential or its tenant has too many streams open. At `deadline` (epoch milliseconds)
   * the stream ends without an error.
   */
  send(ctx: Ctx, route: EventRoute, open: OpenEvents, deadline: number): Promise<void>;
  /**
   * Ends all streams without a last event. Clients reconnect by themselves and resume after the last event that they
   * received.
   */
  close(): void;
}

/** Milliseconds after which a client reconnects to a stream that has ended. Below, milliseconds between two pings. */
const CLIENT_RETRY_MS = 2_000;
const PING_MS = 15_000;
/**
 * Milliseconds between two checks of the credential. Authentication is cached for less than a second, so a stream ends
 * within 2 s after its credential is revoked.
 */
const RENEW_MS = 1_000;
/** Milliseconds in which a client must read what was sent. A slower client is disconnected, and may resume. */
const STALL_MS = 30_000;
/**
 * Maximum number of consecutive attempts to reopen a stream whose service became unavailable. Below, milliseconds
 * before each attempt.
 */
const REOPENINGS = 5;
const REOPEN_MS = 500;

/** Returns whether a request accepts `text/event-stream`. */
export function wantsEvents(ctx: Pick<Ctx, 'accepts'>): boolean {
  return asksFor(ctx, 'text/event-stream');
}

export function createEventStreams(streams: OpenStreams, stallMs = STALL_MS): EventStreams {
  const open = new Set<PassThrough>();
  return {
    requireRoom: (ctx) => streams.require(ctx.state.admitted),
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
      // If the client disconnected while its credential was checked, `close` is not emitted any more.
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
      ctx.state.streamsEvents = true;
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
 * Reads a stream, and reopens it after its last event if the service becomes unavailable, or if the stream's caller
 * token has expired and the credential has got a new one.
 */
class Reader {
  private events: AsyncIterator<object> | undefined;
  private first: IteratorResult<object> | undefined;
  private reopenings = 0;
  /** Number of consecutive times that the stream was opened with an expired token. */
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

  /** Reads the first message. An error before it is answered like the error of any request. */
  async start(): Promise<void> {
    this.first = await this.read();
  }

  get last(): string {
    return this.lastEventId;
  }

  /** Returns the next event, or undefined at the end of the stream. Rejects with the error that ends the stream. */
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
          // The token has expired, and identity can't issue the next one now. A credential that has ended ends the
          // stream by itself.
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

  /** Closes the stream. Without it, the abandoned generator would keep its resources forever. */
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

/** Returns whether an error is temporary, so that another replica, or the same one later, can continue the stream. */
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

/**
 * Authenticates the credential again. Rejects if the credential is no longer valid, but not if that can't be determined
 * now.
 */
async function renew({ state }: Ctx): Promise<void> {
  try {
    state.admitted = await state.renew();
  } catch (error) {
    if (!isPassing(asAppError(error))) throw error;
  }
}

/** Formats an event for the stream. Its data end with the sequence number and the id of the request. */
function frame({ id, name, data }: WrittenEvent, requestId: string): string {
  const sequence = /^\d{1,15}$/.test(id) ? `"sequence":${Number(id)},` : '';
  const comma = data === '{}' ? '' : ',';
  return `id: ${id}\nevent: ${name}\ndata: ${data.slice(0, -1)}${comma}${sequence}"request_id":"${requestId}"}\n\n`;
}

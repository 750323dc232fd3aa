import { PassThrough } from 'node:stream';
import { asAppError } from '@commonplace/kit/errors';
import type { ParameterizedContext } from 'koa';
import type { State } from './middleware/state.js';
import type { Route } from './routes.js';

type Ctx = ParameterizedContext<State>;

/** Records that clients follow as server-sent events. */
export interface Watches {
  /** Answers with a record, and with each later state of it that `again` gives, until it is final. */
  follow(ctx: Ctx, route: Route, first: object, again: () => Promise<object>): void;
  /** Ends all of them; clients come back by themselves, and go on behind what they have seen. */
  close(): void;
}

/** Milliseconds between two looks, and between two signs of life. */
const LOOK_MS = 500;
const PING_MS = 15_000;

/** Whether a request asks to follow a record that can be. */
export function isFollowed(ctx: Ctx, { watchable }: Route): boolean {
  return watchable && ctx.method === 'GET' && /\btext\/event-stream\b/.test(ctx.get('Accept'));
}

export function createWatches(): Watches {
  const open = new Set<PassThrough>();
  return {
    follow(ctx, route, first, again) {
      const stream = new PassThrough();
      open.add(stream);
      stream.once('close', () => open.delete(stream));
      ctx.status = 200;
      ctx.set({
        'Content-Type': 'text/event-stream; charset=utf-8',
        'Cache-Control': 'no-store',
        'X-Accel-Buffering': 'no',
      });
      ctx.req.socket.setTimeout(0);
      ctx.body = stream;
      const seen = Number(ctx.get('Last-Event-ID') || -1);
      tell(stream, route, ctx.state.requestId, Number.isNaN(seen) ? -1 : seen, first, again).catch(() =>
        stream.destroy(),
      );
    },
    close() {
      for (const stream of open) stream.end();
    },
  };
}

async function tell(
  stream: PassThrough,
  route: Route,
  requestId: string,
  seen: number,
  first: object,
  again: () => Promise<object>,
): Promise<void> {
  let record = first;
  let last = seen;
  let toldAt = Date.now();
  for (;;) {
    const version = route.versionOf(record) ?? 0;
    const end = endOf(record);
    if (version !== last || end !== undefined) {
      const data = route.writeResponse(record).data.slice(0, -1);
      write(
        stream,
        version,
        `${nounOf(route)}.${end ?? 'progress'}`,
        `${data},"sequence":${version},"request_id":"${requestId}"}`,
      );
      last = version;
      toldAt = Date.now();
    } else if (Date.now() - toldAt >= PING_MS) {
      stream.write(': ping\n\n');
      toldAt = Date.now();
    }
    if (end !== undefined) {
      stream.end();
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    if (stream.destroyed || stream.writableEnded) return;
    try {
      record = await again();
    } catch (error) {
      const { reason: code, message } = asAppError(error);
      write(stream, last, 'error', JSON.stringify({ code, message, sequence: last, request_id: requestId }));
      stream.end();
      return;
    }
  }
}

function write(stream: PassThrough, id: number, event: string, data: string): void {
  if (!stream.writableEnded) stream.write(`id: ${id}\nevent: ${event}\ndata: ${data}\n\n`);
}

/** What the last event of a record is called; undefined as long as more may come. */
export function endOf(record: object): 'completed' | 'failed' | 'canceled' | undefined {
  const { status = '' } = record as { readonly status?: string };
  const word = /_(COMPLETED|FAILED|CANCELED)(?:_|$)/.exec(status)?.[1];
  return word?.toLowerCase() as ReturnType<typeof endOf>;
}

/** `Import` → `import`. */
function nounOf({ descriptor }: Route): string {
  return descriptor.output.name.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase();
}

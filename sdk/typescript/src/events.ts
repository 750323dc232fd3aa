import { CommonplaceError, ConnectionError } from './errors.js';
import type { Http, Input } from './http.js';
import type { StreamOptions } from './options.js';
import { sleep } from './retry.js';

/** One event of a stream. */
export interface ServerEvent {
  /** Where to continue: `lastEventId` of a later stream. */
  readonly id: string;
  /** What has happened, such as `message.delta` or `resource.created`. */
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The server has ended a stream with an error. */
export class StreamError extends CommonplaceError {
  constructor(
    readonly code: string,
    message: string,
    readonly requestId: string | null,
  ) {
    super(message);
  }
}

/** Events after which there are no others. */
const LAST = /^(run|import)\.(completed|failed|canceled|expired)$|^idle$/;
/** A stream that was open for as long as this was not refused. */
const SETTLED_MS = 10_000;
const DEFAULT_REOPENINGS = 5;
const REOPEN_MS = 500;

/**
 * Yields the events of a stream. Where the connection breaks or the server ends it before its last event, it is opened
 * again behind the event that was seen last. Leaving the loop closes the connection.
 */
export async function* streamEvents(
  http: Http,
  path: string,
  input: Input,
  options: StreamOptions,
): AsyncGenerator<ServerEvent, void, undefined> {
  const most = options.maxRetries ?? DEFAULT_REOPENINGS;
  let { lastEventId = '' } = options;
  let reopenings = 0;
  for (;;) {
    const opened = Date.now();
    try {
      for await (const event of readOnce(http, path, input, options, lastEventId)) {
        reopenings = 0;
        if (event.id !== '') lastEventId = event.id;
        if (event.event === 'error') throw errorOf(event);
        yield event;
        if (LAST.test(event.event)) return;
      }
      // What has nothing more to tell is ended at once, each time that it is opened.
      if (Date.now() - opened > SETTLED_MS) reopenings = 0;
      if (++reopenings > most) return;
    } catch (error) {
      if (!(error instanceof ConnectionError) || ++reopenings > most) throw error;
    }
    await sleep(REOPEN_MS * 2 ** Math.min(reopenings - 1, 5) * (0.5 + Math.random() / 2), options.signal);
  }
}

async function* readOnce(http: Http, path: string, input: Input, options: StreamOptions, lastEventId: string) {
  const cut = new AbortController();
  const signal = options.signal === undefined ? cut.signal : AbortSignal.any([cut.signal, options.signal]);
  const headers = { ...options.headers, ...(lastEventId === '' ? {} : { 'Last-Event-ID': lastEventId }) };
  const request = { method: 'GET', path, keyed: false, accept: 'text/event-stream', ...input };
  const response = await http.send(request, { ...options, signal, headers }, async (answer) => answer);
  try {
    yield* parseEvents(http.chunks(response, cut, options));
  } catch (error) {
    options.signal?.throwIfAborted();
    if (error instanceof CommonplaceError) throw error;
    throw new ConnectionError('The stream of events broke.', { cause: error });
  } finally {
    cut.abort();
  }
}

/** Reads `text/event-stream` as the HTML standard has it; events without data are skipped. */
export async function* parseEvents(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<ServerEvent, void, undefined> {
  const decoder = new TextDecoder();
  let text = '';
  let id = '';
  let event = '';
  let data: string[] = [];
  for await (const chunk of chunks) {
    text += decoder.decode(chunk, { stream: true });
    const lines = text.split(/\r\n|\n|\r(?!$)/);
    text = lines.pop() ?? '';
    for (const line of lines) {
      const [, name = '', value = ''] = line.match(/^([^:]*)(?:: ?(.*))?$/s) ?? [];
      if (name === 'id') id = value;
      else if (name === 'event') event = value;
      else if (name === 'data') data.push(value);
      if (line !== '') continue;
      if (data.length > 0) yield { id, event: event || 'message', data: JSON.parse(data.join('\n')) };
      event = '';
      data = [];
    }
  }
}

/** A server that stops for a moment says so; the stream continues on the next one. */
function errorOf({ data }: ServerEvent): Error {
  const { code, message, request_id: requestId } = data as Readonly<Record<string, string | undefined>>;
  if (code === 'unavailable' || code === 'timeout') return new ConnectionError(message ?? code);
  return new StreamError(code ?? 'unknown', message ?? 'The stream has failed.', requestId ?? null);
}

import { type Fetched, type Guard, UrlNotAllowed } from './guard.js';

interface WebFetchOptions {
  /** Maximum size of a response body in bytes; reading a larger one fails. */
  readonly maxBytes: number;
  /** Called for each chunk of a response body. */
  readonly onBytes?: () => void;
}

/** Error code of the response that replaces a call to a URL that is not allowed. */
export const NOT_CALLED = 'url_not_called';

/** Statuses whose responses have no body. */
const WITHOUT_BODY: ReadonlySet<number> = new Set([101, 103, 204, 205, 304]);

/**
 * Creates a `fetch` that sends its requests through a guard, with the features that clients of JSON APIs and of event
 * streams need. Passes on a body while it arrives, and refuses redirects.
 */
export function createWebFetch(guard: Guard, options: WebFetchOptions): typeof fetch {
  return async (input, init = {}) => {
    try {
      const answer = await call(guard, String(input instanceof Request ? input.url : input), init);
      return responseOf(answer, options);
    } catch (error) {
      // Returned as a response, because clients would retry after an error.
      if (error instanceof UrlNotAllowed) return refusal(error);
      throw error;
    }
  };
}

function call(guard: Guard, url: string, init: RequestInit): Promise<Fetched> {
  return guard.fetch(url, {
    method: init.method === 'GET' ? 'GET' : 'POST',
    headers: Object.fromEntries(new Headers(init.headers as Record<string, string>)),
    body: typeof init.body === 'string' ? init.body : undefined,
    redirects: 0,
    signal: init.signal ?? undefined,
  });
}

function responseOf({ status, headers, body }: Fetched, options: WebFetchOptions): Response {
  const named = new Headers();
  for (const [name, value] of Object.entries(headers)) named.set(name, String(value));
  if (!WITHOUT_BODY.has(status)) return new Response(streamOf(body, options), { status, headers: named });
  body.destroy();
  return new Response(null, { status, headers: named });
}

function streamOf(body: Fetched['body'], { maxBytes, onBytes }: WebFetchOptions): ReadableStream<Uint8Array> {
  const pieces = (body as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  let bytes = 0;
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await pieces.next();
        if (done) return controller.close();
        bytes += value.length;
        if (bytes > maxBytes) {
          body.destroy();
          throw new Error(`the response has more than ${maxBytes} bytes`);
        }
        onBytes?.();
        controller.enqueue(value);
      },
      cancel: () => void body.destroy(),
    },
    // Nothing is read ahead of the consumer.
    { highWaterMark: 0 },
  );
}

function refusal({ message }: Error): Response {
  return Response.json({ error: { message, code: NOT_CALLED } }, { status: 403 });
}

/** An API with OpenAI's protocol. `timeoutMs` is for each attempt, `retries` counts those after the first. */
type OpenAiApi = { url: string; apiKey: string | undefined; timeoutMs: number; retries?: number };

/** Returns the options with which the client library of OpenAI calls an API through a guard. */
export function openAiOptions(api: OpenAiApi, guard: Guard, options: WebFetchOptions) {
  return {
    baseURL: api.url,
    // The library requires a key.
    apiKey: api.apiKey ?? 'none',
    defaultHeaders: api.apiKey === undefined ? { authorization: null } : {},
    organization: null,
    project: null,
    timeout: api.timeoutMs,
    maxRetries: api.retries ?? 0,
    fetch: createWebFetch(guard, options),
    logLevel: 'off' as const,
  };
}

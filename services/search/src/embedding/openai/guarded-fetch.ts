import { type Guard, UrlNotAllowed } from '@commonplace/kit/fetch';

/** More than 2,048 vectors of 4,096 numbers as text take. */
const MOST_BYTES = 128 * 1024 * 1024;

/** The code of the answer that stands for a URL that is not called. */
export const NOT_CALLED = 'url_not_called';

/** `fetch` by a guard, as far as a client of JSON needs it. Redirects are refused. */
export function guardedFetch(guard: Guard): typeof fetch {
  return async (input, init = {}) => {
    try {
      return await call(guard, String(input instanceof Request ? input.url : input), init);
    } catch (error) {
      // As an answer, for the client tries again after errors.
      if (error instanceof UrlNotAllowed) return refusal(error);
      throw error;
    }
  };
}

async function call(guard: Guard, url: string, init: RequestInit): Promise<Response> {
  const answer = await guard.fetch(url, {
    method: init.method === 'GET' ? 'GET' : 'POST',
    headers: Object.fromEntries(new Headers(init.headers as Record<string, string>)),
    body: typeof init.body === 'string' ? init.body : undefined,
    redirects: 0,
    signal: init.signal ?? undefined,
  });
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer.body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) throw new Error(`the answer has more than ${MOST_BYTES} bytes`);
    chunks.push(chunk);
  }
  const headers = new Headers();
  for (const [name, value] of Object.entries(answer.headers)) headers.set(name, String(value));
  return new Response(Buffer.concat(chunks), { status: answer.status, headers });
}

function refusal({ message }: Error): Response {
  return Response.json({ error: { message, code: NOT_CALLED } }, { status: 403 });
}

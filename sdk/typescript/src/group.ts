import { type ServerEvent, streamEvents } from './events.js';
import type { Bytes, Http, Input } from './http.js';
import type { RequestOptions, StreamOptions } from './options.js';
import { type PageOf, Pages } from './pages.js';

export { type Bytes, Pages, type RequestOptions, type ServerEvent, type StreamOptions };

/** Writes a path with parameters that may contain any character. */
export function at(parts: TemplateStringsArray, ...values: string[]): string {
  return String.raw({ raw: parts }, ...values.map(encodeURIComponent));
}

/** What the generated groups of operations share: one method for each kind of answer. */
export class Group {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Returns the data of an answer, with the page of its list if it has one. */
  protected async record<T>(method: string, path: string, input: Input, options?: RequestOptions, keyed = true) {
    const { data, page } = await this.#http.json({ method, path, keyed, ...input }, options);
    return (page === undefined ? data : { ...(data as object), page }) as T;
  }

  protected bare<T>(method: string, path: string, input: Input, options?: RequestOptions, keyed = true): Promise<T> {
    return this.#http.json({ method, path, keyed, ...input }, options) as Promise<T>;
  }

  protected bytes(method: string, path: string, input: Input, options: RequestOptions = {}, keyed = true) {
    const request = { method, path, keyed, accept: '*/*', ...input };
    return this.#http.send(request, options, async (response) => response);
  }

  /** Returns a list. Its cursor goes where the other parameters are: into the query, or into the body. */
  protected pages<T extends { items: readonly unknown[] }>(
    method: string,
    path: string,
    input: Input,
    options: RequestOptions = {},
  ): Pages<T> {
    const { idempotencyKey, ...others } = options;
    return new Pages<T>((cursor) => {
      const next = cursor === undefined ? input : after(input, cursor);
      // A key is of one request: the next page is another one.
      return this.record<PageOf<T>>(method, path, next, cursor === undefined ? options : others);
    });
  }

  protected events(
    path: string,
    input: Input,
    options: StreamOptions = {},
  ): AsyncGenerator<ServerEvent, void, undefined> {
    return streamEvents(this.#http, path, input, options);
  }
}

function after({ query, body }: Input, cursor: string): Input {
  const next = (given: object | undefined) => {
    const { offset: _, ...rest } = (given ?? {}) as { offset?: number };
    return { ...rest, cursor };
  };
  return body === undefined ? { query: next(query) } : { body: next(body) };
}

import type { Page } from './generated/types.js';

/** One page of a list, with all other fields of the answer. */
export type PageOf<Answer> = Answer & { readonly page: Page };

type ItemOf<Answer> = Answer extends { items: readonly (infer Item)[] } ? Item : never;

/**
 * A list. `await` gives its first page; `for await` gives all items, and fetches further pages as they are needed.
 * Nothing is sent before one of them.
 */
export class Pages<Answer extends { items: readonly unknown[] }> implements PromiseLike<PageOf<Answer>> {
  readonly #fetch: (cursor: string | undefined) => Promise<PageOf<Answer>>;
  #first: Promise<PageOf<Answer>> | undefined;

  constructor(fetch: (cursor: string | undefined) => Promise<PageOf<Answer>>) {
    this.#fetch = fetch;
  }

  // biome-ignore lint/suspicious/noThenProperty: a list can be awaited like the answer of any other method
  then<A = PageOf<Answer>, B = never>(
    onPage?: ((page: PageOf<Answer>) => A | PromiseLike<A>) | null,
    onError?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#first ??= this.#fetch(undefined);
    return this.#first.then(onPage, onError);
  }

  /** Returns the pages one after the other. */
  async *pages(): AsyncGenerator<PageOf<Answer>, void, undefined> {
    let page: PageOf<Answer> = await this.then((first) => first);
    for (;;) {
      yield page;
      const { has_more: more, next_cursor: cursor } = page.page;
      if (!more || cursor === null) return;
      page = await this.#fetch(cursor);
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ItemOf<Answer>, void, undefined> {
    for await (const { items } of this.pages()) yield* items as readonly ItemOf<Answer>[];
  }

  /** Returns all items, at most `limit`. */
  async all(limit = Number.POSITIVE_INFINITY): Promise<ItemOf<Answer>[]> {
    const found: ItemOf<Answer>[] = [];
    for await (const item of this) {
      if (found.length >= limit) break;
      found.push(item);
    }
    return found;
  }
}

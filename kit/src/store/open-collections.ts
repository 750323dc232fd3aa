import type { Collection, CollectionSpec, Store } from './port.js';

// biome-ignore lint/suspicious/noExplicitAny: a table names collections of any records.
type Specs = Readonly<Record<string, CollectionSpec<any>>>;

/** The opened collections of a table, by the names that the table gives them. */
export type Collections<T extends Specs> = {
  readonly [Name in keyof T]: T[Name] extends CollectionSpec<infer R> ? Collection<R> : never;
};

/** Opens the collections of a table one after another. */
export async function openCollections<T extends Specs>(
  store: Pick<Store, 'collection'>,
  specs: T,
): Promise<Collections<T>> {
  const opened: Record<string, unknown> = {};
  for (const [name, spec] of Object.entries(specs)) opened[name] = await store.collection(spec);
  return opened as Collections<T>;
}

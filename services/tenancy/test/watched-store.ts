import type { Collection, CollectionSpec, Query, Store, StoredRecord } from '@commonplace/kit/store';

/** Records the queries that no index serves. */
export function watchStore() {
  const unindexed: string[] = [];

  async function check<T extends StoredRecord>(collection: Collection<T>, query: Query<T>): Promise<void> {
    const { indexed, plan } = await collection.explain(query);
    if (!indexed) unindexed.push(`${collection.spec.name} ${JSON.stringify(query)}: ${plan}`);
  }

  function wrapCollection<T extends StoredRecord>(collection: Collection<T>): Collection<T> {
    return {
      ...collection,
      find: async (query) => {
        await check(collection, query);
        return collection.find(query);
      },
      count: async (where, limit) => {
        await check(collection, { where, limit: 1 });
        return collection.count(where, limit);
      },
      findAndCount: async (query, countLimit) => {
        await check(collection, query);
        await check(collection, { where: query.where, limit: 1 });
        return collection.findAndCount(query, countLimit);
      },
      countBy: async (field, where) => {
        await check(collection, { where, limit: 1 });
        return collection.countBy(field, where);
      },
    };
  }

  return {
    unindexed,
    wrap: (store: Store): Store => ({
      ...store,
      collection: async <T extends StoredRecord>(spec: CollectionSpec<T>) =>
        wrapCollection(await store.collection(spec)),
    }),
  };
}

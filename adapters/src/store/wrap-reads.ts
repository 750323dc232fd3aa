import type { Collection, StoredRecord } from '@commonplace/kit/store';

export type Read<A, B, R> = (a: A, b: B) => Promise<R>;

/** Returns a collection each of whose reads, except `explain`, is what `wrap` makes of it. */
export function wrapReads<T extends StoredRecord>(
  collection: Collection<T>,
  wrap: <A, B, R>(name: string, read: Read<A, B, R>) => Read<A, B, R>,
): Collection<T> {
  const { spec, get, getMany, find, count, countEach, findAndCount, countBy, sum, sumBy, max, maxBy, explain } =
    collection;
  return {
    spec,
    get: wrap('get', get) as typeof get,
    getMany: wrap('getMany', getMany) as typeof getMany,
    find: wrap('find', find) as typeof find,
    count: wrap('count', count) as typeof count,
    countEach: wrap('countEach', countEach) as typeof countEach,
    findAndCount: wrap('findAndCount', findAndCount),
    countBy: wrap('countBy', countBy),
    sum: wrap('sum', sum),
    sumBy: wrap('sumBy', sumBy),
    max: wrap('max', max) as typeof max,
    maxBy: wrap('maxBy', maxBy),
    explain,
  };
}

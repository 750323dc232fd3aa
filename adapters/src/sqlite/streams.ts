import type { Condition, Scalar, SortTerm, Where } from '@commonplace/kit/store';
import { flatten } from './flatten.js';
import { isEmpty, splitByIndex } from './index-part.js';
import type { TableShape } from './schema.js';

/**
 * Some alternatives of a filter, for each of which an index has the records in the requested order: one stream of records
 * for each combination of the values in its lists. SQLite would sort the records of all alternatives to find a page; with
 * streams, it looks up the first record of each, and then the next one behind each record that it returns.
 */
export interface Streams<T> {
  /** Fields of the index. */
  readonly index: readonly string[];
  readonly lists: readonly ValueList[];
  /** The other conditions that the index serves. */
  readonly served: Where<T>;
  /** Conditions of which a record must fulfil one; none if the index serves all. */
  readonly rest: readonly Where<T>[];
}

interface ValueList {
  readonly field: string;
  readonly values: readonly Scalar[];
}

/** Maximum number of alternatives. Each is two parts of the statement, of which SQLite allows 500. */
const MAX_ALTERNATIVES = 64;

/**
 * Returns the streams of a flat filter; none if it has an alternative whose order no index has, or if an index has all
 * records that its other conditions select: in the order, or few of them unless `isLong`.
 */
export function findStreams<T>(
  shape: TableShape,
  where: Where<T>,
  terms: readonly SortTerm[],
  isLong: boolean,
): readonly Streams<T>[] {
  const isTotal = terms.at(-1)?.field === 'id';
  if (!isTotal || terms.some(({ descending }) => descending !== terms[0]?.descending)) return [];
  const order = terms.map(({ field }) => field);
  if (splitByIndex(shape, where, isLong ? order : []) !== undefined) return [];
  const found = unite(divide(shape, where, order) ?? []);
  return found.length > MAX_ALTERNATIVES ? [] : found;
}

function divide<T>(shape: TableShape, where: Where<T>, order: readonly string[]): Streams<T>[] | undefined {
  const found = inOneIndex(shape, where, order);
  if (found !== undefined) return found.lists.some(({ values }) => values.length === 0) ? [] : [found];
  for (const { alternatives, common } of waysToDivide(where)) {
    const all = alternatives.map((one) => divide(shape, flatten({ and: [common, one] } as Where<T>), order));
    if (all.every((streams) => streams !== undefined)) return all.flat();
  }
  return undefined;
}

/** Returns the streams of a filter without alternatives by the index that has the order and most of its equalities. */
function inOneIndex<T>(shape: TableShape, where: Where<T>, order: readonly string[]): Streams<T> | undefined {
  const part = splitByIndex(shape, where, order, true);
  if (part === undefined) return undefined;
  // Fields between those of the order and the id would be in the order as well.
  const behind = part.index[part.equalities + order.filter((field) => field !== 'id').length];
  if (behind !== undefined && behind !== 'id') return undefined;
  const lists: ValueList[] = [];
  const served: Record<string, unknown> = { ...part.served };
  for (const [field, entry] of Object.entries(part.served) as [string, Scalar | Condition][]) {
    if (typeof entry !== 'object' || entry.in === undefined) continue;
    const { in: values, ...others } = entry;
    lists.push({ field, values: [...new Set(values)] });
    served[field] = others;
  }
  return { index: part.index, lists, served: served as Where<T>, rest: isEmpty(part.rest) ? [] : [part.rest] };
}

/** Makes one of those streams that differ only in the conditions that their index does not serve. */
function unite<T>(all: readonly Streams<T>[]): Streams<T>[] {
  const united = new Map<string, Streams<T>>();
  for (const streams of all) {
    const { rest, ...same } = streams;
    const key = JSON.stringify(same);
    const known = united.get(key);
    const isServed = rest.length === 0 || known?.rest.length === 0;
    united.set(key, { ...same, rest: isServed ? [] : [...(known?.rest ?? []), ...rest] });
  }
  return [...united.values()];
}

/** Yields the lists of alternatives in a flat filter, each with the conditions beside it. */
function* waysToDivide<T>({ or, and = [], ...fields }: Where<T>) {
  const others = [fields as Where<T>, ...and];
  if (or !== undefined) yield { alternatives: or, common: { and: others } as Where<T> };
  for (const part of and) {
    if (part.or === undefined || Object.keys(part).length > 1) continue;
    const rest = others.filter((one) => one !== part);
    yield { alternatives: part.or, common: { and: or === undefined ? rest : [...rest, { or }] } as Where<T> };
  }
}

export function countStreams<T>(all: readonly Streams<T>[]): number {
  return all.reduce((sum, { lists }) => sum + lists.reduce((count, { values }) => count * values.length, 1), 0);
}

/** Returns the conditions that the index of some streams serves, with the values in their lists. */
export function selectionOf<T>({ lists, served }: Pick<Streams<T>, 'lists' | 'served'>): Where<T> {
  const listed = lists.map(({ field, values }) => [
    field,
    { ...(served[field as keyof T & string] as Condition), in: values },
  ]);
  return { ...served, ...Object.fromEntries(listed) };
}

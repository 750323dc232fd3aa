import type { Condition, Scalar, Where } from '@commonplace/kit/store';
import { flatten } from './flatten.js';
import { indexName, type TableShape } from './schema.js';

/** The conditions of a filter that an index serves, and the remaining ones, which have to be tested on each record. */
export interface IndexPart<T> {
  /** Fields of the index. */
  readonly index: readonly string[];
  /** Value of the first field of the index, such as the id of a workspace. */
  readonly first: Scalar;
  /** Number of fields at the beginning of the index that are equal to a value. */
  readonly equalities: number;
  readonly served: Where<T>;
  readonly rest: Where<T>;
}

/**
 * Splits a filter by the index that serves most of its equalities and, after them, the order: any order if it is empty.
 * Returns undefined if no index does, or if the filter selects its records by other means: by id, by a unique value or by
 * elements of an array. With `lists`, one of several values and the absence of one are equalities too.
 */
export function splitByIndex<T>(
  shape: TableShape,
  where: Where<T>,
  order: readonly string[],
  lists = false,
): IndexPart<T> | undefined {
  const entries = Object.entries(where).filter(([, entry]) => entry !== undefined) as [string, Scalar | Condition][];
  if (entries.some(([field]) => field === 'id' || shape.unique.has(field) || shape.many.has(field))) return undefined;
  const isListed = ({ in: values, exists }: Condition) => values !== undefined || exists === false;
  const isEqual = (entry: Scalar | Condition) => typeof entry !== 'object' || (lists && isListed(entry));
  const equal = new Set(entries.filter(([, entry]) => isEqual(entry)).map(([field]) => field));
  const absent = new Set(entries.filter(([, entry]) => (entry as Condition).exists === false).map(([field]) => field));
  const fields = order.filter((field) => field !== 'id');
  // Each index ends with the id, so only one without further fields has the order of ids.
  const isInOrder = (index: readonly string[], from: number) =>
    isById(order) ? index.length === from : fields.every((field, at) => index[from + at] === field);
  let best: readonly string[] = [];
  let chosen: readonly string[] = [];
  for (const index of shape.indexes) {
    const last = index.at(-1) ?? '';
    if (shape.sparse.has(last) && (absent.has(last) || !(equal.has(last) || fields.includes(last)))) continue;
    const other = index.findIndex((field) => !equal.has(field));
    const head = other < 0 ? index : index.slice(0, other);
    if (head.length <= best.length || !isInOrder(index, head.length)) continue;
    best = head;
    chosen = index;
  }
  if (best.length === 0) return undefined;
  const [sorted] = fields;
  const isServed = ([field, entry]: (typeof entries)[number]) =>
    best.includes(field) || (field === sorted && isRange(entry));
  return {
    index: chosen,
    first: entries.find(([field]) => field === best[0])?.[1] as Scalar,
    equalities: best.length,
    served: Object.fromEntries(entries.filter(isServed)) as Where<T>,
    rest: Object.fromEntries(entries.filter((entry) => !isServed(entry))) as Where<T>,
  };
}

const isById = (order: readonly string[]): boolean => order.length > 0 && order.every((field) => field === 'id');

/**
 * Returns the conditions by which indexes select the records that a read in some order tests, sorts or, with `readsAll`,
 * reads for a field that is in no index: several if the filter has alternatives, none if an index serves it as a whole or
 * no index is known to select its records.
 */
export function candidatesOf<T>(
  shape: TableShape,
  where: Where<T>,
  order: readonly string[],
  readsAll = false,
): Where<T>[] {
  const part = splitByIndex(shape, where, []);
  if (part !== undefined) {
    // A range is served in the order of its field alone.
    const inOrder = readsAll ? undefined : splitByIndex(shape, where, order);
    return inOrder !== undefined && isEmpty(inOrder.rest) ? [] : [part.served];
  }
  const inOrder = splitByIndex(shape, where, order, true);
  if (inOrder !== undefined && isEmpty(inOrder.rest) && !readsAll) return [];
  const listed = inOrder ?? splitByIndex(shape, where, [], true);
  if (listed !== undefined) return [listed.served];
  if (!readsAll && elementInOrder(shape, where, order) !== undefined && Object.keys(where).length === 1) return [];
  const elements = Object.entries(where).find(([field, entry]) => shape.many.has(field) && isContaining(entry));
  if (elements !== undefined) return [Object.fromEntries([elements]) as Where<T>];
  const { or = [], ...common } = where;
  return or.flatMap((arm) => selectionsOf(shape, flatten({ and: [common, arm] } as Where<T>)));
}

/** Returns the conditions by which indexes select the records of an alternative. */
function selectionsOf<T>(shape: TableShape, where: Where<T>): Where<T>[] {
  const part = splitByIndex(shape, where, [], true);
  return part === undefined ? candidatesOf(shape, where, []) : [part.served];
}

/**
 * Returns the table for a statement that tests few candidates. It names their index, as another index may serve as many
 * conditions: SQLite does not know which of them selects fewer records.
 */
export function tableOfFew<T>(shape: TableShape, where: Where<T>, order: readonly string[]): string {
  const inOrder = splitByIndex(shape, where, order);
  const part = splitByIndex(shape, where, []);
  const isServed = [inOrder, part].some((found) => found !== undefined && isEmpty(found.rest));
  if (part === undefined || isServed || isInOneIndex(shape, where, [])) return shape.source;
  return `${shape.table} INDEXED BY ${indexName(shape.table, part.index)}`;
}

/** A field whose elements are in a table of their own, and the element that a filter requires. */
export interface Element {
  readonly field: string;
  readonly value: Scalar;
}

/**
 * Returns the element by which a filter selects its records in the order of their ids, which the table of elements has;
 * undefined if an index selects them by another condition.
 */
export function elementInOrder<T>(shape: TableShape, where: Where<T>, order: readonly string[]): Element | undefined {
  if (!isById(order)) return undefined;
  for (const [field, entry] of Object.entries(where) as [string, Condition | undefined][]) {
    if (!shape.many.has(field)) continue;
    const { contains, ...others } = entry ?? {};
    if (contains === undefined || !isEmpty(others)) continue;
    const rest = { ...where, [field]: undefined };
    const hasId = (rest as { readonly id?: unknown }).id !== undefined;
    return hasId || splitByIndex(shape, rest, []) !== undefined ? undefined : { field, value: contains };
  }
  return undefined;
}

function isContaining(entry: unknown): boolean {
  const { contains, containsAny } = (entry ?? {}) as Condition;
  return contains !== undefined || containsAny !== undefined;
}

/** Returns whether one index has all fields of a filter and some others, so that SQLite reads no records for them. */
export function isInOneIndex<T>(shape: TableShape, where: Where<T>, others: readonly string[]): boolean {
  // Each index has the id, and elements of arrays are in tables of their own.
  const fields = [...fieldsIn(where), ...others].filter((field) => field !== 'id' && !shape.many.has(field));
  return shape.indexes.some((index) => fields.every((field) => index.includes(field)));
}

function fieldsIn(where: Where<never>): string[] {
  return Object.entries(where as Record<string, unknown>).flatMap(([name, entry]) =>
    name === 'and' || name === 'or' ? (entry as Where<never>[]).flatMap(fieldsIn) : [name],
  );
}

export const isEmpty = (where: Where<never>): boolean => Object.keys(where).length === 0;

const RANGES: ReadonlySet<string> = new Set(['gt', 'gte', 'lt', 'lte', 'prefix'] satisfies (keyof Condition)[]);

function isRange(entry: Scalar | Condition): boolean {
  return typeof entry === 'object' && Object.keys(entry).every((name) => RANGES.has(name));
}

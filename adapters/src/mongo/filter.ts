import type { Condition, Query, Scalar, Sort, StoredRecord, Where } from '@commonplace/kit/store';
import { invalidCursor, sortTerms } from '@commonplace/kit/store';
import type { Document, Filter } from 'mongodb';
import { elementsOf, pathOf, type StoredDocument } from './codec.js';

type DocumentFilter = Filter<StoredDocument>;

/** A filter that matches no record, because ids are always strings. */
const NOTHING: Document = { _id: { $in: [] } };

/** Returns the MongoDB filter for a `Where`. Every value is the operand of an operator, so that it can only be data. */
export function filterOf<T>(where: Where<T>): DocumentFilter {
  return all(partsOf(where));
}

function all(parts: readonly Document[]): DocumentFilter {
  const [only] = parts;
  if (only === undefined) return {};
  return (parts.length === 1 ? only : { $and: [...parts] }) as DocumentFilter;
}

function partsOf<T>(where: Where<T>): Document[] {
  const { and, or, ...fields } = where as { and?: readonly Where<T>[]; or?: readonly Where<T>[] };
  const conditions = fields as Record<string, Scalar | Condition | undefined>;
  const parts = Object.entries(conditions).flatMap(([field, value]) => conditionsOf(field, value));
  for (const inner of and ?? []) parts.push(...partsOf(inner));
  if (or !== undefined) parts.push(or.length === 0 ? NOTHING : { $or: or.map((inner) => filterOf(inner)) });
  return parts;
}

function conditionsOf(field: string, value: Scalar | Condition | undefined): Document[] {
  if (value === undefined) return [];
  if (typeof value !== 'object') return [{ [pathOf(field)]: { $eq: value } }];
  return Object.entries(value).flatMap(([name, operand]) =>
    operand === undefined ? [] : [conditionOf(field, name as keyof Condition, operand)],
  );
}

function conditionOf(field: string, name: keyof Condition, operand: unknown): Document {
  const path = pathOf(field);
  switch (name) {
    case 'in':
      return { [path]: { $in: operand } };
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return { [path]: { [`$${name}`]: operand } };
    case 'prefix':
      return { [path]: prefixRange(String(operand)) };
    case 'substring':
      return { [path]: { $regex: literalPattern(String(operand)) } };
    case 'contains':
      return { [elementsOf(field)]: { $eq: operand } };
    case 'containsAny':
      return { [elementsOf(field)]: { $in: operand } };
    case 'exists':
      return { [path]: { $exists: operand } };
    case 'not':
      return { [path]: { $exists: true, $ne: operand } };
    default:
      throw new TypeError(`${String(name)} is not a condition`);
  }
}

/**
 * Returns a range in place of an anchored regular expression: from the prefix up to the next text that does not start
 * with it.
 */
function prefixRange(prefix: string): Document {
  const points = [...prefix].map((char) => char.codePointAt(0) ?? 0);
  while (points.at(-1) === 0x10ffff) points.pop();
  const last = points.pop();
  if (last === undefined) return { $gte: prefix, $type: 'string' };
  // Surrogates are not characters: the code point after U+D7FF is U+E000.
  const end = String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1);
  return { $gte: prefix, $lt: end };
}

/** Returns a regular expression source that matches a text literally. */
function literalPattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&').replaceAll('\0', '\\x00');
}

type Order = readonly (readonly [path: string, direction: 1 | -1])[];

/** Returns the order of a sort, with the id as the last sort key. */
export function orderOf<T>(sort: Sort<T> = []): Order {
  const order = sortTerms(sort).map(({ field, descending }) => [pathOf(field), descending ? -1 : 1] as const);
  return order.slice(0, order.findIndex(([path]) => path === '_id') + 1);
}

/** Returns the filter of a query, including the part after its keyset. */
export function queryFilter<T extends StoredRecord>(query: Query<T>): DocumentFilter {
  const parts = partsOf(query.where);
  if (query.after !== undefined) parts.push(...behind(orderOf(query.sort), keysetOf(query)));
  return all(parts);
}

function keysetOf<T>({ sort, after = [] }: Query<T>): readonly Scalar[] {
  if (after.length !== sortTerms(sort).length) throw invalidCursor();
  return after;
}

/**
 * Returns the conditions for records after a keyset in an order. The first condition is redundant, but gives an index
 * its bounds.
 */
function behind(order: Order, after: readonly Scalar[]): Document[] {
  const branches = order.map(([path, direction], at) => ({
    ...Object.fromEntries(order.slice(0, at).map(([earlier], n) => [earlier, { $eq: after[n] }])),
    [path]: { [direction === 1 ? '$gt' : '$lt']: after[at] },
  }));
  const [first] = order;
  if (branches.length === 1 || first === undefined) return branches;
  return [{ [first[0]]: { [first[1] === 1 ? '$gte' : '$lte']: after[0] } }, { $or: branches }];
}

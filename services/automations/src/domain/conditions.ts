import { foldName } from '@commonplace/kit/words';
import type { ConditionOp, SimpleCondition, StoredCondition } from './condition.js';
import { lookUp, parsePath, SyntaxFault } from './path.js';
import type { Scope } from './templates.js';
import { timeRange } from './times.js';

export const MAX_CONDITIONS = 10;
/** Maximum number of values of `in`, and of lists that `contains`, `eq` and `neq` compare with. */
const MAX_VALUES = 100;
/** Maximum length of a text that a condition compares with. */
const MAX_VALUE_CHARACTERS = 4096;
/** Maximum number of characters of a text, and of items of a list, that conditions look at; the rest is ignored. */
const MAX_SEARCHED_CHARACTERS = 262_144;
const MAX_SEARCHED_ITEMS = 10_000;

/** The data that conditions are evaluated on. */
export interface Facts {
  readonly scope: Scope;
  /** Returns whether the trigger changed a field or a column; `field` is the last name of the path. */
  hasChanged(field: string): boolean;
  /** Returns the name of a tag of the workspace. */
  tagName(id: string): string | undefined;
}

/** Operators without a value. */
const ALONE: ReadonlySet<ConditionOp> = new Set(['empty', 'not_empty', 'exists', 'not_exists', 'changed']);
const collator = new Intl.Collator(['en', 'zh'], { numeric: true, caseFirst: 'lower' });

const isScalar = (value: unknown): value is string | number | boolean =>
  typeof value === 'string' || typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value));

/** Returns the paths that conditions read. Throws `SyntaxFault`. */
export function pathsOf(conditions: readonly StoredCondition[]): (readonly string[])[] {
  return conditions
    .flatMap((condition) => ('any' in condition ? condition.any : [condition]))
    .map(({ path }) => parsePath(path));
}

/** Returns the fault of a condition, as a sentence without its subject; undefined if it is valid. */
export function conditionFault({
  path,
  op,
  value,
}: SimpleCondition): { readonly at: 'path' | 'value'; readonly message: string } | undefined {
  try {
    parsePath(path);
  } catch (error) {
    if (error instanceof SyntaxFault) return { at: 'path', message: `${error.message}.` };
    throw error;
  }
  const message = valueFault(op, value);
  return message === undefined ? undefined : { at: 'value', message };
}

function valueFault(op: ConditionOp, value: unknown): string | undefined {
  if (ALONE.has(op)) return value === undefined ? undefined : `must be left out with ${op}.`;
  const values = Array.isArray(value) ? value : [value];
  if (values.length > MAX_VALUES) return `has more than ${MAX_VALUES} values.`;
  if (values.some((one) => typeof one === 'string' && one.length > MAX_VALUE_CHARACTERS)) {
    return `has a text that is longer than ${MAX_VALUE_CHARACTERS} characters.`;
  }
  if (!values.every(isScalar)) return 'must be a text, a number, true or false; for no value there is empty.';
  if (op === 'in') return Array.isArray(value) ? undefined : 'must be a list with in.';
  if (LISTS.has(op)) return undefined;
  if (Array.isArray(value)) return `must be one value with ${op}.`;
  if ((op === 'before' || op === 'after') && timeRange(value) === undefined) {
    return `must be a day YYYY-MM-DD or a time of RFC 3339 with ${op}.`;
  }
  if (op === 'matches_tag' && typeof value !== 'string') return 'must be the id or the name of a tag.';
  if (ORDERS[op] !== undefined && typeof value === 'boolean') return `must be a number, a text or a time with ${op}.`;
  return undefined;
}

/** Operators that compare with one value or with a list. */
const LISTS: ReadonlySet<ConditionOp> = new Set(['eq', 'neq', 'contains', 'not_contains', 'changed_to']);

const ORDERS: Partial<Record<ConditionOp, (a: number, b: number) => boolean>> = {
  gt: (a, b) => a > b,
  gte: (a, b) => a >= b,
  lt: (a, b) => a < b,
  lte: (a, b) => a <= b,
  after: (a, b) => a > b,
  before: (a, b) => a < b,
};

/** Returns whether all conditions hold. A group holds if one of its conditions does, an empty list always. */
export function conditionsHold(conditions: readonly StoredCondition[], facts: Facts): boolean {
  const search = createSearch();
  const holds = (condition: SimpleCondition): boolean => conditionHolds(condition, facts, search);
  return conditions.every((condition) => ('any' in condition ? condition.any.some(holds) : holds(condition)));
}

function conditionHolds({ path: text, op, value }: SimpleCondition, facts: Facts, search: Search): boolean {
  const path = parsePath(text);
  const actual = lookUp(facts.scope, path);
  switch (op) {
    case 'exists':
      return actual !== undefined;
    case 'not_exists':
      return actual === undefined;
    case 'changed':
      return facts.hasChanged(path.at(-1) ?? '');
    case 'changed_to':
      return facts.hasChanged(path.at(-1) ?? '') && equals(actual, value, search);
    case 'matches_tag':
      return hasTag(actual, String(value), facts);
    default:
      return compare(op, actual, value, search);
  }
}

/**
 * Applies an operator in the way tables do. Tables choose the comparison by the type of the column, this by the type of
 * the value.
 */
function compare(op: ConditionOp, actual: unknown, value: unknown, search: Search): boolean {
  switch (op) {
    case 'empty':
      return isEmpty(actual);
    case 'not_empty':
      return !isEmpty(actual);
    case 'eq':
      return equals(actual, value, search);
    case 'neq':
      return !equals(actual, value, search);
    case 'contains':
      return contains(actual, value, search);
    case 'not_contains':
      return !contains(actual, value, search);
    case 'in':
      return isOneOf(actual, value, search);
    default:
      return isOrdered(op, actual, value);
  }
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);
}

/**
 * Returns whether two values are equal. A list equals exactly the same items in any order, a day equals each time on
 * it, and a missing flag equals false.
 */
function equals(actual: unknown, value: unknown, search: Search): boolean {
  if (Array.isArray(actual)) return equalsList(actual, Array.isArray(value) ? value : [value], search);
  if (Array.isArray(value)) return value.length === 1 && equals(actual, value[0], search);
  if (typeof value === 'boolean') return (actual ?? false) === value;
  if (actual === value) return true;
  if (typeof actual === 'string' && typeof value === 'string') {
    const [time, range] = [timeRange(actual), timeRange(value)];
    return time !== undefined && range !== undefined && time.from >= range.from && time.from <= range.to;
  }
  return isNumberLike(actual) && isNumberLike(value) && Number(actual) === Number(value);
}

/** Returns whether a value is a number or a text in decimal notation. */
function isNumberLike(value: unknown): boolean {
  return (
    typeof value === 'number' || (typeof value === 'string' && value.length <= 40 && /^-?\d+(?:\.\d+)?$/.test(value))
  );
}

function equalsList(actual: readonly unknown[], values: readonly unknown[], search: Search): boolean {
  if (actual.length > MAX_SEARCHED_ITEMS) return false;
  const keys = search.keys(actual);
  const wanted = new Set(values.map(keyOf));
  return keys.size === wanted.size && [...wanted].every((key) => key !== undefined && keys.has(key));
}

/**
 * Returns whether a list contains all of the values, by id or text, or whether a text contains each of them, ignoring
 * case and width.
 */
function contains(actual: unknown, value: unknown, search: Search): boolean {
  const values = Array.isArray(value) ? value : [value];
  if (Array.isArray(actual)) {
    const keys = search.keys(actual);
    return values.every((one) => keys.has(keyOf(one) ?? ''));
  }
  if (!isScalar(actual)) return false;
  const text = search.folded(String(actual));
  return values.every((one) => text.includes(search.folded(String(one))));
}

function isOneOf(actual: unknown, value: unknown, search: Search): boolean {
  if (!Array.isArray(value)) return false;
  if (!Array.isArray(actual)) return value.some((one) => equals(actual, one, search));
  const keys = search.keys(actual);
  return value.some((one) => keys.has(keyOf(one) ?? ''));
}

function isOrdered(op: ConditionOp, actual: unknown, value: unknown): boolean {
  const order = ORDERS[op];
  if (order === undefined || isEmpty(actual)) return false;
  const [time, range] = [timeRange(actual), timeRange(value)];
  if (time !== undefined && range !== undefined) {
    const edge = op === 'gt' || op === 'after' || op === 'lte' ? range.to : range.from;
    return order(time.from, edge);
  }
  if (op === 'before' || op === 'after') return false;
  if (isNumberLike(actual) && isNumberLike(value)) return order(Number(actual), Number(value));
  if (typeof actual !== 'string' || typeof value !== 'string') return false;
  // Collation is slow, so only the beginnings of long texts are compared.
  const [a, b] = [actual.slice(0, 2 * MAX_VALUE_CHARACTERS), value.slice(0, 2 * MAX_VALUE_CHARACTERS)];
  return order(collator.compare(a, b), 0);
}

/** Returns whether a resource with `tags`, or a list of tags, has the tag with this id or name. */
function hasTag(actual: unknown, wanted: string, { tagName }: Facts): boolean {
  const tags = Array.isArray(actual) ? actual : lookUp(actual, ['tags']);
  if (!Array.isArray(tags)) return false;
  const name = fold(wanted);
  return tags.slice(0, MAX_SEARCHED_ITEMS).some((tag) => {
    const id = keyOf(tag);
    if (id === undefined) return false;
    const own = lookUp(tag, ['name']);
    const known = typeof own === 'string' ? own : tagName(id);
    return id === wanted || (known !== undefined && fold(known) === name);
  });
}

/** Returns the key by which list items are compared: the text of a scalar, or the id of an object. */
function keyOf(item: unknown): string | undefined {
  if (isScalar(item)) return String(item);
  const id = lookUp(item, ['id']);
  return isScalar(id) ? String(id) : undefined;
}

const fold = (text: string): string => foldName(text.slice(0, MAX_SEARCHED_CHARACTERS));

/** Caches folded texts and indexed lists, so that each is processed once for all conditions. */
interface Search {
  folded(text: string): string;
  keys(list: readonly unknown[]): ReadonlySet<string>;
}

function createSearch(): Search {
  const texts = new Map<string, string>();
  const lists = new Map<readonly unknown[], ReadonlySet<string>>();
  return {
    folded(text) {
      const known = texts.get(text) ?? fold(text);
      texts.set(text, known);
      return known;
    },
    keys(list) {
      const known = lists.get(list) ?? new Set(list.slice(0, MAX_SEARCHED_ITEMS).flatMap((item) => keyOf(item) ?? []));
      lists.set(list, known);
      return known;
    },
  };
}

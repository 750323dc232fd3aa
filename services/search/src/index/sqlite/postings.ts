import type { Pattern } from '../../domain/pattern.js';
import type { Field } from '../port.js';
import { type IndexFile, tenantOf } from './file.js';
import { matchAny, type TermField } from './match.js';
import { COMMENT_TERMS, countMatches, TERMS, type Terms } from './rank.js';
import { TENANT_ROWS } from './schema.js';
import type { Scope } from './scope.js';

/**
 * The rows of one tenant that meet one pattern, and their weights. BM25 adds up over patterns, so that any query
 * is answered from the lists of its patterns. Lists are kept in memory until a change concerns them.
 */
export interface Postings {
  readonly tenant: number;
  readonly pattern: Pattern;
  /** Rows less the tenant's first, rising. */
  readonly offsets: Uint32Array;
  readonly weights: Float32Array;
  /** Rows that the tenant had when it was read: how rare a term is hangs on that. */
  readonly rows: number;
}

/** Weights are read as whole numbers of this part of one. */
const PRECISION = 10_000;
/** A list is read anew once the tenant has so many times as many rows. */
const OUTGROWN = 1.2;
/** About what a term weighs that most entries have. */
const COMMON_WEIGHT = 0.01;

/** Which field a list is of; undefined for names and texts together. */
type ListField = Field | undefined;

/** The list of a pattern; undefined where it is longer than `most`. */
export function postingsOf(
  file: IndexFile,
  scope: Scope,
  pattern: Pattern,
  field: ListField,
  most = file.limits.list,
): Postings | undefined {
  const key = `${scope.tenant} ${field ?? ''} ${matchAny([[pattern]])}`;
  let known = file.postings.get(key);
  if (known !== undefined && known !== 'too long' && scope.rows > known.rows * OUTGROWN) known = undefined;
  if (known === undefined || (known === 'too long' && most > file.limits.list)) {
    known = load(file, scope, pattern, field, most) ?? 'too long';
    file.postings.set(key, known);
  }
  return known === 'too long' ? undefined : known;
}

function load(file: IndexFile, scope: Scope, pattern: Pattern, field: ListField, most: number): Postings | undefined {
  const { tenant } = scope;
  const everywhere = { ...scope, conditions: [], params: [] };
  if (field === 'comments') {
    const match = matchAny([[pattern]]);
    const { count } = countMatches(file, match, everywhere, most + 1, undefined, COMMENT_TERMS);
    if (count > most) return undefined;
    return { tenant, pattern, rows: scope.rows, ...weighedList(file, scope, match, count, COMMENT_TERMS) };
  }
  const match = matchAny([[pattern]], field);
  const { count } = countMatches(file, match, everywhere, most + 1);
  if (count > most) return undefined;
  const isCommon = count > file.limits.common && count > entriesIn(file) / 2;
  const list = isCommon ? commonList(file, scope, pattern, field) : weighedList(file, scope, match, count, TERMS);
  return { tenant, pattern, rows: scope.rows, ...list };
}

function entriesIn({ workspaces }: IndexFile): number {
  let entries = 0;
  for (const { count } of workspaces.values()) entries += count;
  return entries;
}

type List = Pick<Postings, 'offsets' | 'weights'>;

/** The engine gives terms that more than half of all entries have next to no weight; so much of it shows again. */
const LEAST_WEIGHT = 1e-4;
const COMMON_SCALE = 10_000;

/** Rows with BM25. */
function weighedList(file: IndexFile, scope: Scope, match: string, count: number, { table, weight }: Terms): List {
  const { firstRow, lastRow } = scope;
  // The limit keeps the inner query apart: the engine ranks in a plain query only.
  const sql = `SELECT max(weight), group_concat(place || ' ' || CAST(weight * ? AS INTEGER), ' ') FROM (
    SELECT f.rowid - ? AS place, ${weight} AS weight
    FROM ${table} f WHERE ${table} MATCH ? AND f.rowid BETWEEN ? AND ? LIMIT ?)`;
  const read = (precision: number) => file.db.get(sql, [precision, firstRow, match, firstRow, lastRow, count]) ?? [];
  let [most, text] = count === 0 ? [] : read(PRECISION);
  if (count > 0 && Number(most) < LEAST_WEIGHT) [, text] = read(PRECISION * COMMON_SCALE);
  const numbers = numbersIn(typeof text === 'string' ? text : '', count * 2);
  const offsets = new Uint32Array(count);
  const weights = new Float32Array(count);
  for (let i = 0; i < count; i++) {
    offsets[i] = numbers[2 * i] as number;
    weights[i] = (numbers[2 * i + 1] as number) / PRECISION;
  }
  return { offsets, weights };
}

/** Rows of a long list of which most entries are: weighed by their names alone, for that is ten times as fast. */
function commonList(file: IndexFile, scope: Scope, pattern: Pattern, field: TermField): List {
  const rows = (within: TermField): Float64Array => {
    const sql = `SELECT count(*), group_concat(f.rowid - ?, ' ')
      FROM terms f WHERE terms MATCH ? AND f.rowid BETWEEN ? AND ?`;
    const match = matchAny([[pattern]], within);
    const [count, text] = file.db.get(sql, [scope.firstRow, match, scope.firstRow, scope.lastRow]) ?? [];
    return numbersIn(typeof text === 'string' ? text : '', Number(count));
  };
  const offsets = Uint32Array.from(rows(field));
  const weights = new Float32Array(offsets.length).fill(COMMON_WEIGHT);
  if (field !== 'text') {
    let at = 0;
    for (const offset of rows('name')) {
      while ((offsets[at] as number) < offset) at++;
      weights[at] = 2 * COMMON_WEIGHT;
    }
  }
  return { offsets, weights };
}

/** Whole numbers separated by spaces. */
export function numbersIn(text: string, count: number): Float64Array {
  const numbers = new Float64Array(count);
  let at = 0;
  let number = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit === 0x20) {
      numbers[at++] = number;
      number = 0;
    } else number = number * 10 + unit - 0x30;
  }
  if (at < count) numbers[at] = number;
  return numbers;
}

/** What a change of texts concerns. */
export interface Concern {
  readonly tenants: ReadonlySet<number>;
  readonly rows: readonly number[];
  /** Terms of the new texts. */
  readonly terms: ReadonlySet<string>;
}

/** Drops the lists that changes concern: those that hold a changed row, or whose terms new texts have. */
export function dropPostings(file: IndexFile, concern: Concern): void {
  if (concern.tenants.size === 0) return;
  for (const [key, kept] of file.postings.entries()) {
    if (kept === 'too long' || !concern.tenants.has(kept.tenant)) continue;
    if (gained(kept.pattern, concern.terms) || lost(kept, concern.rows)) file.postings.delete(key);
  }
}

function gained({ terms, prefix }: Pattern, changed: ReadonlySet<string>): boolean {
  const exact = prefix ? terms.slice(0, -1) : terms;
  if (!exact.every((term) => changed.has(term))) return false;
  if (!prefix) return true;
  const beginning = terms.at(-1) as string;
  for (const term of changed) if (term.startsWith(beginning)) return true;
  return false;
}

function lost({ tenant, offsets }: Postings, rows: readonly number[]): boolean {
  return rows.some((row) => tenantOf(row) === tenant && holds(offsets, row % TENANT_ROWS));
}

function holds(offsets: Uint32Array, offset: number): boolean {
  let low = 0;
  let high = offsets.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((offsets[middle] as number) < offset) low = middle + 1;
    else high = middle;
  }
  return offsets[low] === offset;
}

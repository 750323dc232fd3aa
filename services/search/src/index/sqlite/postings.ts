import { type Field, USUAL_FIELDS } from '../../domain/narrowing.js';
import type { Pattern } from '../../domain/pattern.js';
import { NAME_TIMES } from '../../domain/score.js';
import { type IndexFile, tenantOf } from './file.js';
import { matchAny } from './match.js';
import { numbersIn } from './numbers.js';
import { REPEAT_COLUMNS } from './repeats.js';
import { TENANT_ROWS } from './schema.js';
import type { Scope } from './scope.js';

/**
 * The rows of one tenant that match one pattern in some fields, with frequencies. BM25 is a sum over words, so the
 * lists of a query's patterns suffice to answer it. Lists are cached until a change affects them.
 */
export interface Postings {
  readonly tenant: number;
  readonly pattern: Pattern;
  /** Offsets from the tenant's first row, ascending. */
  readonly offsets: Float64Array;
  /**
   * Frequencies in the rows: each occurrence of a word in the name counts `NAME_TIMES`, each in the text once. A phrase
   * counts as often as the rarest of its first words does in the row. Prefixes, and words in one field alone or in
   * comments, count as if they occurred once.
   */
  readonly values: Float32Array;
}

/** Returns the list of a pattern. */
export function postingsOf(file: IndexFile, scope: Scope, pattern: Pattern, fields: readonly Field[]): Postings {
  const key = `${scope.tenant.number} ${[...fields].sort().join()} ${matchAny([[pattern]])}`;
  let known = file.postings.get(key);
  if (known === undefined) {
    known = { tenant: scope.tenant.number, pattern, ...load(file, scope, pattern, fields) };
    file.postings.set(key, known);
  }
  return known;
}

type List = Pick<Postings, 'offsets' | 'values'>;

function load(file: IndexFile, scope: Scope, pattern: Pattern, fields: readonly Field[]): List {
  const rows = (table: string, column?: string): Float64Array =>
    rowsOf(file, scope, table, matchAny([[pattern]], column));
  const has = (field: Field): boolean => fields.includes(field);
  const isWhole = !pattern.prefix && has('name') && has('text');
  const lists: List[] = [];
  if (isWhole && pattern.terms.length > 1) lists.push(phraseList(file, scope, pattern, rows));
  else if (isWhole) lists.push(...termLists(rows));
  else {
    if (has('text')) lists.push(counted(rows('terms', 'text'), 1));
    if (has('name')) lists.push(counted(rows('terms', 'name'), NAME_TIMES));
  }
  if (has('comments')) lists.push(counted(rows('comment_terms'), 1));
  return lists.reduce(summed);
}

/** Returns the occurrences of a term in names and texts: the first of each row, then the further ones. */
function termLists(rows: (table: string, column?: string) => Float64Array): List[] {
  const first = counted(rows('terms'), 1);
  if (first.offsets.length === 0 || rows('repeats').length === 0) return [first];
  return [first, ...REPEAT_COLUMNS.map(({ column, times }) => counted(rows('repeats', column), times))];
}

/** Words of a phrase whose frequencies are looked up, so that a long quotation does not load a list for each of its words. */
const COUNTED_WORDS = 4;

/**
 * Returns the rows of a phrase. How often a row has it is not stored; the frequency of the rarest of its first words is
 * the most that it can be, and seldom more than it is.
 */
function phraseList(file: IndexFile, scope: Scope, { terms }: Pattern, rows: (table: string) => Float64Array): List {
  const offsets = rows('terms');
  const values = new Float32Array(offsets.length).fill(Number.POSITIVE_INFINITY);
  if (offsets.length > 0) {
    for (const term of [...new Set(terms)].slice(0, COUNTED_WORDS)) {
      const word = postingsOf(file, scope, { terms: [term], prefix: false }, USUAL_FIELDS);
      lowerValues(offsets, values, word);
    }
  }
  return { offsets, values };
}

/** Lowers the values of rows to those that a list has for them. Both are in the order of their rows. */
function lowerValues(offsets: Float64Array, values: Float32Array, list: List): void {
  let j = 0;
  for (let i = 0; i < offsets.length; i++) {
    while ((list.offsets[j] ?? Number.POSITIVE_INFINITY) < (offsets[i] as number)) j++;
    if (list.offsets[j] === offsets[i]) values[i] = Math.min(values[i] as number, list.values[j] as number);
  }
}

/** Returns the offsets of the matching rows of a tenant, ascending. */
function rowsOf({ db }: IndexFile, { firstRow, lastRow }: Scope, table: string, match: string): Float64Array {
  const sql = `SELECT count(*), group_concat(rowid - ?, ' ') FROM ${table}
    WHERE ${table} MATCH ? AND rowid BETWEEN ? AND ?`;
  const [count, text] = db.get(sql, [firstRow, match, firstRow, lastRow]) ?? [];
  return numbersIn(typeof text === 'string' ? text : '', Number(count));
}

function counted(offsets: Float64Array, times: number): List {
  return { offsets, values: new Float32Array(offsets.length).fill(times) };
}

/** Merges two lists; frequencies of rows in both are added. */
function summed(a: List, b: List): List {
  if (b.offsets.length === 0) return a;
  const offsets = new Float64Array(a.offsets.length + b.offsets.length);
  const values = new Float32Array(offsets.length);
  let length = 0;
  for (let i = 0, j = 0; i < a.offsets.length || j < b.offsets.length; length++) {
    const left = a.offsets[i] ?? Number.POSITIVE_INFINITY;
    const right = b.offsets[j] ?? Number.POSITIVE_INFINITY;
    offsets[length] = Math.min(left, right);
    if (left <= right) values[length] = a.values[i++] as number;
    if (right <= left) values[length] = (values[length] as number) + (b.values[j++] as number);
  }
  return { offsets: offsets.slice(0, length), values: values.slice(0, length) };
}

/** Describes what a change of texts affects. */
interface ChangeEffect {
  readonly tenants: ReadonlySet<number>;
  readonly rows: readonly number[];
  /** Terms of the new texts. */
  readonly terms: ReadonlySet<string>;
}

/** Removes the lists that changes affect: those that contain a changed row, or whose terms occur in new texts. */
export function dropPostings(file: IndexFile, concern: ChangeEffect): void {
  if (concern.tenants.size === 0) return;
  for (const [key, kept] of file.postings.entries()) {
    if (!concern.tenants.has(kept.tenant)) continue;
    if (gainsRows(kept.pattern, concern.terms) || containsRow(kept, concern.rows)) file.postings.delete(key);
  }
}

function gainsRows({ terms, prefix }: Pattern, changed: ReadonlySet<string>): boolean {
  const exact = prefix ? terms.slice(0, -1) : terms;
  if (!exact.every((term) => changed.has(term))) return false;
  if (!prefix) return true;
  const beginning = terms.at(-1) as string;
  for (const term of changed) if (term.startsWith(beginning)) return true;
  return false;
}

function containsRow({ tenant, offsets }: Postings, rows: readonly number[]): boolean {
  return rows.some((row) => tenantOf(row) === tenant && holds(offsets, row % TENANT_ROWS));
}

function holds(offsets: Float64Array, offset: number): boolean {
  let low = 0;
  let high = offsets.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((offsets[middle] as number) < offset) low = middle + 1;
    else high = middle;
  }
  return offsets[low] === offset;
}

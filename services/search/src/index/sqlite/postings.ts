import type { Pattern } from '../../domain/pattern.js';
import { NAME_WEIGHT } from '../../domain/score.js';
import type { Field } from '../port.js';
import { type IndexFile, tenantOf } from './file.js';
import { engineRarity, frequencyFrom, tableFacts } from './frequencies.js';
import { lengthsOf } from './lengths.js';
import { matchAny, type TermField } from './match.js';
import { numbersIn } from './numbers.js';
import { COMMENT_TERMS, countMatches, TERMS, type Terms } from './rank.js';
import { TENANT_ROWS } from './schema.js';
import type { Scope } from './scope.js';

/**
 * The rows of one tenant that meet one pattern, and how often. BM25 adds up over patterns, so that any query is
 * answered from the lists of its patterns. Lists are kept in memory until a change concerns them.
 */
export interface Postings {
  readonly tenant: number;
  readonly pattern: Pattern;
  /** Rows less the tenant's first, rising. */
  readonly offsets: Uint32Array;
  /** How often a row has it, once in its name as NAME_WEIGHT times; of comments what it weighs. */
  readonly values: Float32Array;
  /** The values are weights already. */
  readonly weighed: boolean;
}

/** Weights are read as whole numbers of these parts of one, and what is left of them without the rarity of a term. */
const [WEIGHT_PARTS, SHARE_PARTS] = [10_000, 1_000_000];

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
  const key = `${scope.tenant.number} ${field ?? ''} ${matchAny([[pattern]])}`;
  let known = file.postings.get(key);
  if (known === undefined || (known === 'too long' && most > file.limits.list)) {
    known = load(file, scope, pattern, field, most) ?? 'too long';
    file.postings.set(key, known);
  }
  return known === 'too long' ? undefined : known;
}

function load(file: IndexFile, scope: Scope, pattern: Pattern, field: ListField, most: number): Postings | undefined {
  const comments = field === 'comments';
  const match = matchAny([[pattern]], comments ? undefined : field);
  const everywhere = { ...scope, conditions: [], params: [] };
  const { count } = countMatches(file, match, everywhere, most + 1, undefined, comments ? COMMENT_TERMS : TERMS);
  if (count > most) return undefined;
  const about = { tenant: scope.tenant.number, pattern };
  if (comments) return { ...about, weighed: true, ...engineWeights(file, scope, match, count) };
  const isCommon = count > file.limits.common && count > entriesIn(file) / 2;
  const list = isCommon ? commonList(file, scope, pattern, field) : countedList(file, scope, match, count);
  return { ...about, weighed: false, ...list };
}

function entriesIn({ workspaces }: IndexFile): number {
  let entries = 0;
  for (const { count } of workspaces.values()) entries += count;
  return entries;
}

type List = Pick<Postings, 'offsets' | 'values'>;

/** Rows of a pattern with the engine's weights, times a number, less what is behind the point. */
function readList({ db }: IndexFile, scope: Scope, match: string, count: number, of: Terms, times: number): List {
  const { table, weight } = of;
  const { firstRow, lastRow } = scope;
  // The limit keeps the inner query apart: the engine ranks in a plain query only.
  const sql = `SELECT group_concat(place || ' ' || CAST(weight * ? AS INTEGER), ' ') FROM (
    SELECT f.rowid - ? AS place, ${weight} AS weight
    FROM ${table} f WHERE ${table} MATCH ? AND f.rowid BETWEEN ? AND ? LIMIT ?)`;
  const [text] = count === 0 ? [] : (db.get(sql, [times, firstRow, match, firstRow, lastRow, count]) ?? []);
  const numbers = numbersIn(typeof text === 'string' ? text : '', count * 2);
  const offsets = new Uint32Array(count);
  const values = new Float32Array(count);
  for (let i = 0; i < count; i++) {
    offsets[i] = numbers[2 * i] as number;
    values[i] = numbers[2 * i + 1] as number;
  }
  return { offsets, values };
}

/** Comments weigh what the engine says. */
function engineWeights(file: IndexFile, scope: Scope, match: string, count: number): List {
  const list = readList(file, scope, match, count, COMMENT_TERMS, WEIGHT_PARTS);
  for (let i = 0; i < count; i++) list.values[i] = (list.values[i] as number) / WEIGHT_PARTS;
  return list;
}

/** How often rows have a pattern, as the engine's weights of it tell. */
function countedList(file: IndexFile, scope: Scope, match: string, count: number): List {
  const facts = tableFacts(file.db);
  const { terms } = lengthsOf(file, scope.tenant);
  const rarity = engineRarity(facts, countInTable(file, scope, match, count));
  const { offsets, values } = readList(file, scope, match, count, TERMS, SHARE_PARTS / rarity);
  for (let i = 0; i < count; i++) {
    const share = (values[i] as number) / SHARE_PARTS;
    values[i] = frequencyFrom(share, terms[offsets[i] as number] as number, facts);
  }
  return { offsets, values };
}

/** How many rows of all tenants match, where so many of one do. */
function countInTable({ byNumber, db }: IndexFile, { tenant }: Scope, match: string, count: number): number {
  const others = [...byNumber.values()].some(
    ({ number, workspaceIds }) => number !== tenant.number && workspaceIds.size > 0,
  );
  if (!others) return count;
  return Number(db.get('SELECT count(*) FROM terms WHERE terms MATCH ?', [match])?.[0]);
}

/** Rows of a long list that most entries are in: once in their texts, or in their names, for that is ten times as fast. */
function commonList(file: IndexFile, scope: Scope, pattern: Pattern, field: TermField): List {
  const rows = (within: TermField): Float64Array => {
    const sql = `SELECT count(*), group_concat(f.rowid - ?, ' ')
      FROM terms f WHERE terms MATCH ? AND f.rowid BETWEEN ? AND ?`;
    const match = matchAny([[pattern]], within);
    const [count, text] = file.db.get(sql, [scope.firstRow, match, scope.firstRow, scope.lastRow]) ?? [];
    return numbersIn(typeof text === 'string' ? text : '', Number(count));
  };
  const offsets = Uint32Array.from(rows(field));
  const values = new Float32Array(offsets.length).fill(1);
  if (field !== 'text') {
    let at = 0;
    for (const offset of rows('name')) {
      while ((offsets[at] as number) < offset) at++;
      values[at] = NAME_WEIGHT;
    }
  }
  return { offsets, values };
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

import { analyse } from '@commonplace/kit/analysis';
import type { IndexEntry } from '@commonplace/proto/resources/v1/index_service.js';
import { NAME_TIMES } from '../../domain/score.js';
import { commentsText } from '../comments.js';
import { MAX_TEXT_CHARS } from '../port.js';
import { createTenant, type IndexFile, inTransaction, PERSONAL, reload, type Tenant, tenantOf } from './file.js';
import { noteLength } from './lengths.js';
import { listText, pairItem } from './lists.js';
import { analyseChanged } from './long-texts.js';
import { needsNone, needsVectors } from './needs.js';
import { dropPostings } from './postings.js';
import { REPEAT_COLUMNS, repeatsOf } from './repeats.js';
import { TENANT_ROWS } from './schema.js';
import { markStale, removeVectors } from './vectors.js';

export type Change = { readonly upsert: IndexEntry } | { readonly remove: string };

export function idOf(change: Change): string {
  return 'remove' in change ? change.remove : change.upsert.id;
}

/**
 * Describes a change of the full-text tables. Changes are applied in the order of rows, which the engine writes most
 * efficiently.
 */
interface TermChange {
  readonly row: number;
  /** Whether terms of names and texts, and of comments, have to be deleted. */
  readonly old: boolean;
  readonly oldComments: boolean;
  /** New terms; undefined when there are none, or they are unchanged. */
  readonly texts?: { readonly name: string; readonly text: string } | undefined;
  readonly comments?: string | undefined;
}

/** Commits changes of different entries, all or none. */
export function applyChanges(file: IndexFile, changes: readonly Change[]): void {
  try {
    inTransaction(file.db, () => {
      const terms = changes.flatMap((change) =>
        'remove' in change ? removeEntry(file, change.remove) : upsertEntry(file, change.upsert),
      );
      terms.sort((a, b) => a.row - b.row);
      for (const change of terms) changeTerms(file, change);
      const rows = terms.map(({ row }) => row);
      const tenants = new Set(rows.map(tenantOf));
      for (const number of tenants) saveTenant(file, number);
      if (file.postings.size > 0) dropPostings(file, { tenants, rows, terms: newTerms(terms) });
    });
  } catch (error) {
    reload(file);
    throw error;
  }
}

/** Stores the number of rows that a tenant has had. */
function saveTenant({ db, byNumber }: IndexFile, number: number): void {
  const tenant = byNumber.get(number);
  if (tenant === undefined) return;
  db.run('INSERT OR REPLACE INTO tenants (number, id, next) VALUES (?, ?, ?)', [number, tenant.id, tenant.next]);
}

function newTerms(changes: readonly TermChange[]): Set<string> {
  const terms = new Set<string>();
  for (const { texts, comments } of changes) {
    for (const text of [texts?.name, texts?.text, comments]) for (const term of text?.split(' ') ?? []) terms.add(term);
  }
  return terms;
}

interface HeldEntry {
  readonly row: number;
  readonly workspaceId: string;
  readonly version: number;
  readonly contentVersion: number;
  readonly updatedAt: string;
  readonly length: number;
}

function heldEntry({ db }: IndexFile, id: string): HeldEntry | undefined {
  const sql = 'SELECT row, workspace_id, version, content_version, updated_at, length FROM entries WHERE id = ?';
  const cells = db.get(sql, [id]);
  if (cells === undefined) return undefined;
  const [row, workspaceId, version, contentVersion, updatedAt, length] = cells;
  return {
    row: Number(row),
    workspaceId: String(workspaceId),
    version: Number(version),
    contentVersion: Number(contentVersion),
    updatedAt: String(updatedAt),
    length: Number(length),
  };
}

function removeEntry(file: IndexFile, id: string): TermChange[] {
  const held = heldEntry(file, id);
  return held === undefined ? [] : removeHeld(file, held);
}

function removeHeld(file: IndexFile, held: HeldEntry): TermChange[] {
  const oldComments = file.db.get("SELECT 1 FROM texts WHERE row = ? AND comments <> ''", [held.row]) !== undefined;
  file.db.run('DELETE FROM entries WHERE row = ?', [held.row]);
  file.db.run('DELETE FROM texts WHERE row = ?', [held.row]);
  file.texts.delete(held.row);
  file.identities.delete(held.row);
  removeVectors(file, held.row);
  needsNone(file, held.row);
  const tenant = file.byNumber.get(tenantOf(held.row));
  if (tenant !== undefined) {
    tenant.changes.add(held.row % TENANT_ROWS);
    count(file, held.workspaceId, tenant, -1, -held.length);
    noteLength(file, held.row, undefined, 0);
  }
  return [{ row: held.row, old: true, oldComments }];
}

function isOlder(entry: IndexEntry, held: HeldEntry): boolean {
  if (entry.version !== held.version) return entry.version < held.version;
  if (entry.contentVersion !== held.contentVersion) return entry.contentVersion < held.contentVersion;
  return (entry.updatedAt ?? '') < held.updatedAt;
}

function upsertEntry(file: IndexFile, entry: IndexEntry): TermChange[] {
  const tenant = tenantFor(file, partitionOf(entry));
  let held = heldEntry(file, entry.id);
  if (held !== undefined && isOlder(entry, held)) return [];
  const changes: TermChange[] = [];
  if (held !== undefined && tenantOf(held.row) !== tenant.number) {
    changes.push(...removeHeld(file, held));
    held = undefined;
  }
  const row = held?.row ?? tenant.number * TENANT_ROWS + tenant.next++;
  tenant.changes.add(row % TENANT_ROWS);
  const { change, length = held?.length ?? 0 } = putText(file, row, held !== undefined, entry);
  if (held !== undefined) count(file, held.workspaceId, tenant, -1, -held.length);
  count(file, entry.workspaceId, tenant, 1, length);
  putEntry(file, row, entry, length);
  file.identities.delete(row);
  noteLength(file, row, entry.workspaceId, length);
  return change === undefined ? changes : [...changes, change];
}

/**
 * Returns the partition of an entry: its Org, or a common one for everything Personal, because a user's search covers
 * several Personal workspaces, each of which is a tenant of its own.
 */
function partitionOf({ tenant, workspaceId }: IndexEntry): string {
  return tenant === workspaceId ? PERSONAL : tenant;
}

function tenantFor(file: IndexFile, id: string): Tenant {
  let tenant = file.tenants.get(id);
  if (tenant === undefined) {
    tenant = createTenant(id, file.tenants.size + 1);
    file.tenants.set(id, tenant);
    file.byNumber.set(tenant.number, tenant);
  }
  return tenant;
}

function count(file: IndexFile, workspaceId: string, tenant: Tenant, by: number, terms: number): void {
  const { count: before = 0, length = 0 } = file.workspaces.get(workspaceId) ?? {};
  const now = before + by;
  if (now > 0) {
    file.workspaces.set(workspaceId, { tenant, count: now, length: length + terms });
    tenant.workspaceIds.add(workspaceId);
  } else {
    file.workspaces.delete(workspaceId);
    tenant.workspaceIds.delete(workspaceId);
  }
}

function putEntry({ db }: IndexFile, row: number, entry: IndexEntry, length: number): void {
  db.run('INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)', [
    row,
    entry.id,
    entry.workspaceId,
    entry.boundaryId,
    listText(entry.ancestorIds),
    listText(entry.directPrincipals),
    entry.type,
    listText(metadataItems(entry.metadataJson)),
    entry.createdBy?.id ?? '',
    entry.updatedAt ?? '',
    entry.version,
    entry.contentVersion,
    listText(entry.tags),
    length,
  ]);
}

function metadataItems(json: string): string[] {
  if (json === '') return [];
  const metadata = JSON.parse(json) as Record<string, string | number | boolean>;
  return Object.entries(metadata).map(([name, value]) => pairItem(name, value));
}

/** A change of terms, and the length of name and text afterwards; undefined when they are unchanged. */
interface TextUpdate {
  readonly change?: TermChange;
  readonly length?: number;
}

/** Stores name, text and comments. */
function putText(file: IndexFile, row: number, old: boolean, entry: IndexEntry): TextUpdate {
  const { db } = file;
  const name = withoutNul(entry.name);
  const text = withoutNul(entry.text.slice(0, MAX_TEXT_CHARS));
  const comments = withoutNul(commentsText(entry));
  file.texts.delete(row);
  const sql = "SELECT name = ? AND text = ?, comments = ?, comments <> '' FROM texts WHERE row = ?";
  const [sameTexts, sameComments, hadComments] = (old ? db.get(sql, [name, text, comments, row]) : undefined) ?? [];
  if (sameTexts && sameComments) return {};
  db.run('INSERT OR REPLACE INTO texts VALUES (?, ?, ?, ?)', [row, name, text, comments]);
  const vocabulary = vocabularyOf(file, entry);
  const add = (words: ReadonlySet<string>): void => addWords(file, vocabulary, words);
  const analysed = (which: string): string => {
    const { terms, words } = analyse(which);
    add(words);
    return terms;
  };
  const termsOf = (): string => (old ? analyseChanged(file.knownBlocks, vocabulary, text, add) : analysed(text));
  const change = {
    row,
    old: old && !sameTexts,
    oldComments: Boolean(hadComments) && !sameComments,
    texts: sameTexts ? undefined : { name: analysed(name), text: termsOf() },
    comments: sameComments || comments === '' ? undefined : analysed(comments),
  };
  if (change.texts === undefined) return { change };
  if (old) markStale(file, row);
  needsVectors(file, row);
  return { change, length: NAME_TIMES * countTerms(change.texts.name) + countTerms(change.texts.text) };
}

/** Counts the terms in a text, which spaces separate. */
function countTerms(terms: string): number {
  if (terms === '') return 0;
  let count = 1;
  for (let at = terms.indexOf(' '); at >= 0; at = terms.indexOf(' ', at + 1)) count++;
  return count;
}

/** The driver accepts no NUL; a space keeps all offsets. */
function withoutNul(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', ' ') : text;
}

const WORD = /^\p{L}{2,32}$/u;

/**
 * Returns the number of an entry's vocabulary. Personal workspaces share rows but have separate vocabularies:
 * completions and corrections must not reveal words that other people use.
 */
function vocabularyOf({ db, vocabularies }: IndexFile, { tenant }: IndexEntry): number {
  let number = vocabularies.get(tenant);
  if (number === undefined) {
    number = vocabularies.size + 1;
    db.run('INSERT INTO vocabularies VALUES (?, ?)', [number, tenant]);
    vocabularies.set(tenant, number);
  }
  return number;
}

function addWords({ db, knownWords }: IndexFile, vocabulary: number, words: Iterable<string>): void {
  for (const word of words) {
    if (knownWords.has(vocabulary, word) || !WORD.test(word)) continue;
    db.run('INSERT OR IGNORE INTO words VALUES (?, ?)', [vocabulary, word]);
    knownWords.add(vocabulary, word);
  }
}

const INSERT_REPEATS = `INSERT INTO repeats (rowid, ${REPEAT_COLUMNS.map(({ column }) => column).join(', ')})
  VALUES (?${', ?'.repeat(REPEAT_COLUMNS.length)})`;

function changeTerms({ db }: IndexFile, { row, old, oldComments, texts, comments }: TermChange): void {
  if (old) for (const table of ['terms', 'repeats']) db.run(`DELETE FROM ${table} WHERE rowid = ?`, [row]);
  if (texts !== undefined) {
    db.run('INSERT INTO terms (rowid, name, text) VALUES (?, ?, ?)', [row, texts.name, texts.text]);
    db.run(INSERT_REPEATS, [row, ...repeatsOf(texts.name, texts.text)]);
  }
  if (oldComments) db.run('DELETE FROM comment_terms WHERE rowid = ?', [row]);
  if (comments !== undefined) db.run('INSERT INTO comment_terms (rowid, comments) VALUES (?, ?)', [row, comments]);
}

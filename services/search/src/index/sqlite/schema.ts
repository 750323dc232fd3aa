import { ANALYSER_VERSION } from '@commonplace/kit/analysis';
import { REPEAT_COLUMNS } from './repeats.js';

/** Version of the file format; a file with another stamp is rebuilt. */
export const STAMP = `7 ${ANALYSER_VERSION}`;

/** Row numbers of one tenant begin at `number * TENANT_ROWS`, so that a search reads only its tenant's rows. */
export const TENANT_ROWS = 2 ** 30;

/** Percentage of deleted rows from which FTS5 merges a segment; with its default of 10, changes merge all the time. */
const DELETED_PERCENT = 50;

function mergeLater(table: string): string {
  return `INSERT INTO ${table} (${table}, rank) VALUES ('deletemerge', ${DELETED_PERCENT});`;
}

/**
 * The tables of an index file. Lists (`ancestors`, `principals`, `metadata`, `tags`) are stored as items with a line
 * feed before and after each. The terms in `terms` are the analyser's; they contain letters and digits only, which the
 * `ascii` tokenizer leaves unchanged. Beginnings of one letter have an index of their own; longer ones are ranges of terms. Each Org and each Personal workspace has a
 * vocabulary; `words` only grows: words of deleted texts stay until a rebuild. Comments have a
 * separate table of terms, so that they don't slow down other searches; those of an entry are one text. `repeats` has
 * the terms that occur more than once: see `repeats.ts`. `length` is the number of terms in the text and `NAME_TIMES` that of
 * the name. `models` counts the entries that have vectors
 * of their present text, and all chunks.
 */
export const SCHEMA = `
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE tenants (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, next INTEGER NOT NULL);
CREATE TABLE entries (
  row INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  workspace_id TEXT NOT NULL,
  boundary_id TEXT NOT NULL,
  ancestors TEXT NOT NULL,
  principals TEXT NOT NULL,
  type TEXT NOT NULL,
  metadata TEXT NOT NULL,
  created_by TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  version INTEGER NOT NULL,
  content_version INTEGER NOT NULL,
  tags TEXT NOT NULL,
  length INTEGER NOT NULL
);
CREATE INDEX entries_by_update ON entries (workspace_id, updated_at);
CREATE TABLE texts (row INTEGER PRIMARY KEY, name TEXT NOT NULL, text TEXT NOT NULL, comments TEXT NOT NULL);
CREATE TABLE vocabularies (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE);
CREATE TABLE words (vocabulary INTEGER NOT NULL, word TEXT NOT NULL, PRIMARY KEY (vocabulary, word)) WITHOUT ROWID;
CREATE TABLE models (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  about TEXT NOT NULL,
  fresh INTEGER NOT NULL,
  chunks INTEGER NOT NULL
);
CREATE VIRTUAL TABLE terms USING fts5(
  name, text, content = '', contentless_delete = 1, tokenize = 'ascii', prefix = '1'
);
CREATE VIRTUAL TABLE repeats USING fts5(
  ${REPEAT_COLUMNS.map(({ column }) => column).join(', ')},
  content = '', contentless_delete = 1, tokenize = 'ascii', detail = column
);
CREATE VIRTUAL TABLE comment_terms USING fts5(
  comments, content = '', contentless_delete = 1, tokenize = 'ascii', prefix = '1'
);
${['terms', 'repeats', 'comment_terms'].map(mergeLater).join('\n')}
`;

/**
 * Returns the name of the table with the vectors of one model, by row of their entry: see `packing.ts`. Vectors of a
 * text that has changed are stale.
 */
export function vectorTable(number: number): string {
  return `vectors_${number}`;
}

export function vectorSchema(number: number): string {
  return `CREATE TABLE ${vectorTable(number)} (
  row INTEGER PRIMARY KEY,
  stale INTEGER NOT NULL,
  chunks INTEGER NOT NULL,
  bounds BLOB NOT NULL,
  scales BLOB NOT NULL,
  numbers BLOB NOT NULL
)`;
}

import { ANALYSER_VERSION } from '../../domain/analysis.js';

/** A file with another stamp is made anew. */
export const STAMP = `5 ${ANALYSER_VERSION}`;

/** Rows of one tenant lie between `number * TENANT_ROWS` and the next, so that a search reads its tenant's only. */
export const TENANT_ROWS = 2 ** 30;

/**
 * Lists (`ancestors`, `principals`, `metadata`, `tags`) are their items between line feeds, each with one before and
 * one behind it. The terms in `terms` are the analyser's; they hold letters and digits only, which the `ascii`
 * tokenizer leaves as they are. `words` only grows: words of texts that are gone stay until a rebuild.
 * Comments have a table of terms of their own, so that they neither weigh on other searches nor slow them down; those
 * of an entry are one text.
 * `length` counts the terms of name and text.
 * `models` counts the entries that have vectors of their present text, and all chunks.
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
CREATE TABLE words (tenant INTEGER NOT NULL, word TEXT NOT NULL, PRIMARY KEY (tenant, word)) WITHOUT ROWID;
CREATE TABLE models (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  about TEXT NOT NULL,
  fresh INTEGER NOT NULL,
  chunks INTEGER NOT NULL
);
CREATE VIRTUAL TABLE terms USING fts5(
  name, text, content = '', contentless_delete = 1, tokenize = 'ascii', prefix = '1 2 3'
);
CREATE VIRTUAL TABLE comment_terms USING fts5(
  comments, content = '', contentless_delete = 1, tokenize = 'ascii', prefix = '1 2 3'
);
`;

/** The vectors of one model, by row of their entry: see `packing.ts`. Those of a text that has changed are stale. */
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

import type { Condition, StoredRecord, Where } from '@commonplace/kit/store';
import type { Param, Row } from './file/binding.js';
import type { TableShape } from './schema.js';
import { checkName } from './values.js';

/**
 * Finds the records that may contain a text by the parts of three characters that it consists of. SQLite's full-text
 * index keeps for each part the numbers of the records with it; these numbers, unlike row ids, stay the same in a copy of
 * the file.
 */

/** Number of characters in a part; shorter texts are not looked up. */
const PART_LENGTH = 3;
/** Maximum number of a text's parts that are looked up. */
const MAX_PARTS = 64;
/** Maximum number of candidates. If there are more, reading the records in order finds enough of them soon. */
const MAX_CANDIDATES = 1000;

/** Runs a query that may take long. */
export type Run = (sql: string, params: readonly Param[]) => Promise<Row[]>;

/** A filter, and the table whose records it tests. */
export interface Chosen<T> {
  readonly shape: TableShape;
  readonly where: Where<T>;
}

/**
 * Returns a filter that tests only the records that may contain the text of a `substring` condition; the same filter if
 * no index serves the condition, or if they are too many.
 */
export async function byParts<T extends StoredRecord>(
  shape: TableShape,
  where: Where<T>,
  run: Run,
): Promise<Chosen<T>> {
  const all = { shape, where };
  if (where.id !== undefined) return all;
  const found = Object.entries(where as Record<string, Condition | undefined>).find(
    ([field, entry]) => shape.substrings.has(field) && entry?.substring !== undefined,
  );
  if (found === undefined) return all;
  const [field, { substring = '' } = {}] = found;
  const match = matchOf(substring);
  if (match === undefined) return all;
  const { index, numbers } = namesOf(shape.table, field);
  const matching = `SELECT n.id FROM ${index}(?) i CROSS JOIN ${numbers} n ON n.number = i.rowid LIMIT ?`;
  const [row] = await run(`SELECT json_group_array(id) FROM (${matching})`, [match, MAX_CANDIDATES + 1]);
  const ids = JSON.parse(row?.[0] as string) as string[];
  if (ids.length > MAX_CANDIDATES) return all;
  const chosen = { ...where, id: { in: ids } } as Where<T>;
  return { shape: ids.length === 0 ? shape : readById(shape), where: chosen };
}

/** Returns the query of the full-text index for all parts of a text; undefined if it is too short. */
function matchOf(text: string): string | undefined {
  const characters = [...text];
  const parts = new Set<string>();
  for (let at = 0; at + PART_LENGTH <= characters.length && parts.size < MAX_PARTS; at++) {
    parts.add(characters.slice(at, at + PART_LENGTH).join(''));
  }
  // The index reads a text only up to NUL.
  if (parts.size === 0 || text.includes('\0')) return undefined;
  return [...parts].map((part) => `"${part.replaceAll('"', '""')}"`).join(' AND ');
}

/** Reads records by id even if another index serves other conditions, because SQLite cannot know that the ids are few. */
function readById(shape: TableShape): TableShape {
  return { ...shape, source: `${shape.table} INDEXED BY sqlite_autoindex_${shape.table}_1`, indexes: [] };
}

function namesOf(table: string, field: string): { readonly index: string; readonly numbers: string } {
  const index = `${table}__${checkName(field)}__parts`;
  return { index, numbers: `${index}__numbers` };
}

/** Name of a trigger that exists if the index of a field does. */
export function partsTrigger(table: string, field: string): string {
  return `${namesOf(table, field).index}__insert`;
}

/**
 * Returns the statements that create the index of the parts of a field with a column, the triggers that keep it current,
 * and its initial entries.
 */
export function partsSchema(table: string, field: string, column: string): string[] {
  const { index, numbers } = namesOf(table, field);
  const numberOf = (row: string) => `(SELECT number FROM ${numbers} WHERE id = ${row}.id)`;
  const add = (number: string) =>
    `INSERT INTO ${index} (rowid, text) SELECT ${number}, NEW.${column} WHERE typeof(NEW.${column}) = 'text'`;
  const drop =
    `INSERT INTO ${index} (${index}, rowid, text) ` +
    `SELECT 'delete', ${numberOf('OLD')}, OLD.${column} WHERE typeof(OLD.${column}) = 'text'`;
  const trigger = (event: string, on: string) =>
    `CREATE TRIGGER IF NOT EXISTS ${index}__${event} AFTER ${on} ON ${table}`;
  return [
    `CREATE TABLE IF NOT EXISTS ${numbers} (number INTEGER PRIMARY KEY, id UNIQUE NOT NULL)`,
    `CREATE VIRTUAL TABLE IF NOT EXISTS ${index} USING fts5` +
      `(text, content = '', detail = none, columnsize = 0, tokenize = 'trigram case_sensitive 1')`,
    `${trigger('insert', 'INSERT')} BEGIN INSERT INTO ${numbers} (id) VALUES (NEW.id); ${add('last_insert_rowid()')}; END`,
    `${trigger('update', 'UPDATE OF doc')} WHEN OLD.${column} IS NOT NEW.${column} BEGIN ${drop}; ${add(numberOf('NEW'))}; END`,
    `${trigger('delete', 'DELETE')} BEGIN ${drop}; DELETE FROM ${numbers} WHERE id = OLD.id; END`,
    `INSERT INTO ${numbers} (id) SELECT id FROM ${table}`,
    `INSERT INTO ${index} (rowid, text) SELECT n.number, t.${column} FROM ${numbers} n JOIN ${table} t ON t.id = n.id ` +
      `WHERE typeof(t.${column}) = 'text'`,
  ];
}

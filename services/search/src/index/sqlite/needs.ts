import { textHashOf } from '../../domain/text-hash.js';
import type { UnembeddedEntry } from '../port.js';
import type { IndexFile } from './file.js';
import { vectorTable } from './schema.js';

/** Holds rows that lack vectors of a model. */
export interface Needs {
  /** Rows whose text has changed since the file was opened, the latest last. */
  readonly recent: Set<number>;
  /** Rows found by the scan of all rows, from the newest on. */
  readonly found: Set<number>;
  /** The scan has covered all rows from this one on. */
  seenFrom: number;
}

/** Returns entries that need vectors of a model, the most recently changed first. */
export function unembedded(file: IndexFile, model: string, limit: number): UnembeddedEntry[] {
  const needs = needsOf(file, model);
  const rows = [...needs.recent].slice(-limit).reverse();
  if (needs.recent.size + needs.found.size < limit) search(file, model, needs, limit - needs.recent.size);
  for (const row of needs.found) {
    if (rows.length >= limit) break;
    rows.push(row);
  }
  return rows.flatMap((row) => {
    const sql =
      'SELECT e.id, e.type, t.name, t.text, e.workspace_id FROM entries e JOIN texts t ON t.row = e.row WHERE e.row = ?';
    const cells = file.db.get(sql, [row]);
    if (cells === undefined) return [];
    const [id, type, name, text, workspaceId] = cells.map(String) as [
      string,
      UnembeddedEntry['type'],
      string,
      string,
      string,
    ];
    return [{ id, workspaceId, type, name, text, textHash: textHashOf(name, text) }];
  });
}

/** Records that a row has a new text. */
export function needsVectors({ needs }: IndexFile, row: number): void {
  for (const { recent, found } of needs.values()) {
    found.delete(row);
    recent.delete(row);
    recent.add(row);
  }
}

/** Records that a row needs no vectors of a model, or of any model because it was deleted. */
export function needsNone({ needs }: IndexFile, row: number, model?: string): void {
  for (const [id, { recent, found }] of needs) {
    if (model !== undefined && id !== model) continue;
    recent.delete(row);
    found.delete(row);
  }
}

function needsOf({ needs }: IndexFile, model: string): Needs {
  let known = needs.get(model);
  if (known === undefined) {
    known = { recent: new Set(), found: new Set(), seenFrom: Number.MAX_SAFE_INTEGER };
    needs.set(model, known);
  }
  return known;
}

/** Continues the scan from newer to older rows until enough rows are found. */
function search({ db, models }: IndexFile, model: string, needs: Needs, limit: number): void {
  const held = models.get(model);
  const lacking =
    held === undefined
      ? 'WHERE e.row < ?'
      : `LEFT JOIN ${vectorTable(held.number)} v ON v.row = e.row WHERE e.row < ? AND v.stale IS NOT 0`;
  const wanted = limit - needs.found.size;
  const sql = `SELECT e.row FROM entries e ${lacking} ORDER BY e.row DESC LIMIT ?`;
  const rows = db.all(sql, [needs.seenFrom, wanted + needs.recent.size]).map(([row]) => Number(row));
  for (const row of rows) if (!needs.recent.has(row)) needs.found.add(row);
  needs.seenFrom = rows.length < wanted + needs.recent.size ? 0 : (rows.at(-1) as number);
}

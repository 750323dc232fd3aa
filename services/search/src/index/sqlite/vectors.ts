import { textHashOf } from '../../domain/text-hash.js';
import type { EmbeddingModel } from '../../embedding/port.js';
import type { EntryVectors, VectorStats } from '../port.js';
import { type IndexFile, inTransaction, reload, tenantOf } from './file.js';
import { countVectors, dropModel, type HeldModel, heldModel } from './models.js';
import { needsNone } from './needs.js';
import { bytes, type PackedChunks, pack } from './packing.js';
import { TENANT_ROWS, vectorTable } from './schema.js';
import { addRow, removeRow } from './slab.js';

/** Commits vectors, all or none; those of entries that are gone or have other texts are skipped. */
export function putVectors(file: IndexFile, model: EmbeddingModel, entries: readonly EntryVectors[]): void {
  if (entries.length === 0) return;
  changing(file, () => {
    const held = heldModel(file, model);
    for (const { id, textHash, chunks } of entries) {
      const sql = 'SELECT e.row, t.name, t.text FROM entries e JOIN texts t ON t.row = e.row WHERE e.id = ?';
      const [row, name, text] = file.db.get(sql, [id]) ?? [];
      if (row === undefined || textHashOf(String(name), String(text)) !== textHash) continue;
      putRow(file, held, Number(row), pack(chunks, held.about.dimensions));
    }
  });
}

/** Deletes all vectors of a model. */
export function dropVectors(file: IndexFile, model: string): void {
  changing(file, () => dropModel(file, model));
}

export function vectorStats({ models, workspaces }: IndexFile, model: string): VectorStats {
  const { fresh = 0, chunks = 0 } = models.get(model) ?? {};
  const entries = [...workspaces.values()].reduce((sum, { count }) => sum + count, 0);
  return { embedded: fresh, pending: entries - fresh, chunks };
}

/** Replaces the vectors of a row. Must run in a transaction. */
function putRow(file: IndexFile, model: HeldModel, row: number, packed: PackedChunks): void {
  const table = vectorTable(model.number);
  const [stale, chunks] = file.db.get(`SELECT stale, chunks FROM ${table} WHERE row = ?`, [row]) ?? [];
  file.db.run(`INSERT OR REPLACE INTO ${table} VALUES (?, 0, ?, ?, ?, ?)`, [
    row,
    packed.chunks,
    bytes(packed.bounds),
    bytes(packed.scales),
    bytes(packed.numbers),
  ]);
  countVectors(file, model, stale === 0 ? 0 : 1, packed.chunks - Number(chunks ?? 0));
  needsNone(file, row, model.about.id);
  changeSlab(file, model, row, packed);
}

/** Deletes the vectors of a deleted entry. Must run in a transaction. */
export function removeVectors(file: IndexFile, row: number): void {
  for (const model of file.models.values()) {
    const table = vectorTable(model.number);
    const [stale, chunks] = file.db.get(`SELECT stale, chunks FROM ${table} WHERE row = ?`, [row]) ?? [];
    if (chunks === undefined) continue;
    file.db.run(`DELETE FROM ${table} WHERE row = ?`, [row]);
    countVectors(file, model, stale === 0 ? -1 : 0, -Number(chunks));
    changeSlab(file, model, row);
  }
}

/** Marks the vectors of a row whose text has changed as stale. Must run in a transaction. */
export function markStale(file: IndexFile, row: number): void {
  for (const model of file.models.values()) {
    const changed = file.db.run(`UPDATE ${vectorTable(model.number)} SET stale = 1 WHERE row = ? AND stale = 0`, [row]);
    countVectors(file, model, -changed, 0);
  }
}

/** Copies the vectors of entries from one file to another if their texts are the same. */
export function carryVectors(from: IndexFile, to: IndexFile, ids: readonly string[]): void {
  if (from.models.size === 0) return;
  changing(to, () => {
    for (const model of from.models.values()) {
      const sql = `SELECT t.name, t.text, v.chunks, v.bounds, v.scales, v.numbers FROM entries e
        JOIN texts t ON t.row = e.row JOIN ${vectorTable(model.number)} v ON v.row = e.row WHERE e.id = ? AND v.stale = 0`;
      const held = heldModel(to, model.about);
      for (const id of ids) carry(to, held, id, from.db.get(sql, [id]));
    }
  });
}

function carry(to: IndexFile, model: HeldModel, id: string, cells: ReturnType<IndexFile['db']['get']>): void {
  if (cells === undefined) return;
  const [name, text, chunks, bounds, scales, numbers] = cells;
  const sql = 'SELECT e.row FROM entries e JOIN texts t ON t.row = e.row WHERE e.id = ? AND t.name = ? AND t.text = ?';
  const row = to.db.get(sql, [id, String(name), String(text)])?.[0];
  if (row === undefined) return;
  const table = vectorTable(model.number);
  if (to.db.get(`SELECT 1 FROM ${table} WHERE row = ?`, [Number(row)]) !== undefined) return;
  const packed = [bounds, scales, numbers] as Buffer[];
  to.db.run(`INSERT INTO ${table} VALUES (?, 0, ?, ?, ?, ?)`, [Number(row), Number(chunks), ...packed]);
  countVectors(to, model, 1, Number(chunks));
  needsNone(to, Number(row), model.about.id);
}

/** Updates the vectors in memory to match the file. */
function changeSlab(file: IndexFile, model: HeldModel, row: number, packed?: PackedChunks): void {
  const key = `${model.number} ${tenantOf(row)}`;
  const slab = file.slabs.peek(key);
  if (slab === undefined || slab === 'too large') return;
  removeRow(slab, row % TENANT_ROWS);
  if (packed !== undefined) addRow(slab, row % TENANT_ROWS, packed);
  // `set` updates the size in the cache; a slab of mostly dead chunks is dropped and read again.
  if (slab.dead > 1000 && slab.dead > slab.chunks / 2) file.slabs.delete(key);
  else if (packed !== undefined) file.slabs.set(key, slab);
}

function changing(file: IndexFile, work: () => void): void {
  try {
    inTransaction(file.db, work);
  } catch (error) {
    reload(file);
    throw error;
  }
}

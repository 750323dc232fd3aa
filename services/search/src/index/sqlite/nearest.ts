import type { NearHit, VectorQuery } from '../port.js';
import { admittedRows } from './admitted.js';
import type { IndexFile } from './file.js';
import { identitiesOf } from './identities.js';
import type { HeldModel } from './models.js';
import { unpack } from './packing.js';
import { vectorTable } from './schema.js';
import { type Scope, scopeOf } from './scope.js';
import { addRow, bytesOf, createSlab, type Look, type Slab, scan } from './slab.js';
import { textOf } from './texts.js';
import { createTop, type Top } from './top.js';

/** A chunk that may be among the nearest. */
interface Candidate {
  readonly row: number;
  readonly similarity: number;
  readonly start: number;
  readonly end: number;
}

/** Rows of vectors read at once. */
const READ_AT_ONCE = 2000;

/** Finds the nearest chunks by comparing all admitted vectors of a tenant. */
export function nearest(file: IndexFile, query: VectorQuery): NearHit[] {
  const { model: id, vector, filter, narrowing, groupBy, limit, minSimilarity = -2 } = query;
  const model = file.models.get(id);
  const scope = scopeOf(file, filter, narrowing);
  if (model === undefined || scope === undefined) return [];
  const { dimensions } = model.about;
  if (vector.length !== dimensions) throw new Error(`a vector has ${vector.length} numbers, not ${dimensions}`);
  const admitted = admittedRows(file, scope);
  const top = createTop<Candidate>(limit, before);
  const { look, end } = groupBy === 'chunk' ? eachChunk(top, minSimilarity) : eachRow(top, minSimilarity);
  if (scope.named) for (const slab of ofRows(file, model, scope, admitted)) scan(slab, vector, undefined, look);
  else for (const slab of slabsOf(file, model, scope)) scan(slab, vector, admitted, look);
  end();
  return hitsOf(file, scope, top.sorted(), query.bare ?? false);
}

function before(a: Candidate, b: Candidate): boolean {
  if (a.similarity !== b.similarity) return a.similarity > b.similarity;
  return a.row === b.row ? a.start < b.start : a.row < b.row;
}

interface Looker {
  readonly look: Look;
  end(): void;
}

function eachChunk(top: Top<Candidate>, minSimilarity: number): Looker {
  const look: Look = ({ bounds }, chunk, row, similarity) => {
    if (similarity < minSimilarity || similarity < (top.last()?.similarity ?? -2)) return;
    top.add({ row, similarity, start: bounds[2 * chunk] as number, end: bounds[2 * chunk + 1] as number });
  };
  return { look, end() {} };
}

/** Keeps the best chunk of each row; the chunks of a row are consecutive. */
function eachRow(top: Top<Candidate>, minSimilarity: number): Looker {
  const { look: take } = eachChunk(top, minSimilarity);
  let best: { slab: Slab; chunk: number; row: number; similarity: number } | undefined;
  const end = (): void => {
    if (best !== undefined) take(best.slab, best.chunk, best.row, best.similarity);
    best = undefined;
  };
  let last = -1;
  const look: Look = (slab, chunk, row, similarity) => {
    if (row !== last) end();
    last = row;
    if (similarity < (top.last()?.similarity ?? -2) || similarity <= (best?.similarity ?? -2)) return;
    best = { slab, chunk, row, similarity };
  };
  return { look, end };
}

/** Yields the vectors of a tenant: from memory, or in portions from the file if they are too many. */
function* slabsOf(file: IndexFile, model: HeldModel, scope: Scope): Generator<Slab> {
  const key = `${model.number} ${scope.tenant.number}`;
  const kept = file.slabs.get(key);
  if (kept !== undefined && kept !== 'too large') {
    yield kept;
    return;
  }
  const whole = kept === 'too large' ? undefined : createSlab(model.about.dimensions);
  if (whole !== undefined && loaded(file, model, scope, whole)) {
    file.slabs.set(key, whole);
    yield whole;
    return;
  }
  file.slabs.set(key, 'too large');
  for (const rows of pieces(file, model, scope)) yield slabOf(model, scope, rows);
}

/** Reads all vectors of a tenant into memory. Returns false when they are too many. */
function loaded(file: IndexFile, model: HeldModel, scope: Scope, slab: Slab): boolean {
  for (const rows of pieces(file, model, scope)) {
    for (const cells of rows) addCells(slab, scope, cells);
    if (bytesOf(slab) > file.limits.vectors) return false;
  }
  return true;
}

type Cells = ReturnType<IndexFile['db']['all']>[number];
const COLUMNS = 'row, bounds, scales, numbers';

function* pieces({ db }: IndexFile, model: HeldModel, scope: Scope): Generator<Cells[]> {
  const sql = `SELECT ${COLUMNS} FROM ${vectorTable(model.number)} WHERE row BETWEEN ? AND ? ORDER BY row LIMIT ?`;
  for (let from = scope.firstRow; ; ) {
    const rows = db.all(sql, [from, scope.lastRow, READ_AT_ONCE]);
    yield rows;
    if (rows.length < READ_AT_ONCE) return;
    from = Number(rows.at(-1)?.[0]) + 1;
  }
}

/** Yields the vectors of the few named rows. */
function* ofRows({ db }: IndexFile, model: HeldModel, scope: Scope, admitted?: Uint8Array): Generator<Slab> {
  const sql = `SELECT ${COLUMNS} FROM ${vectorTable(model.number)} WHERE row = ?`;
  for (let row = admitted?.indexOf(1) ?? -1; row >= 0; row = admitted?.indexOf(1, row + 1) ?? -1) {
    yield slabOf(model, scope, db.all(sql, [scope.firstRow + row]));
  }
}

function slabOf(model: HeldModel, scope: Scope, rows: readonly Cells[]): Slab {
  const slab = createSlab(model.about.dimensions);
  for (const cells of rows) addCells(slab, scope, cells);
  return slab;
}

function addCells(slab: Slab, scope: Scope, [row, bounds, scales, numbers]: Cells): void {
  addRow(slab, Number(row) - scope.firstRow, unpack(bounds as Buffer, scales as Buffer, numbers as Buffer));
}

function hitsOf(file: IndexFile, scope: Scope, found: readonly Candidate[], bare: boolean): NearHit[] {
  const entries = identitiesOf(
    file,
    found.map(({ row }) => scope.firstRow + row),
  );
  const read = new Map<number, string>();
  const textIn = (row: number): string => {
    const text = read.get(row) ?? textOf(file, scope.firstRow + row);
    read.set(row, text);
    return text;
  };
  return found.flatMap(({ row, similarity, start, end }, i) => {
    const entry = entries[i];
    if (entry === undefined) return [];
    const text = bare ? '' : textIn(row).slice(start, end);
    return [{ id: entry.id, type: entry.type, similarity, chunk: { start, end, text } }];
  });
}

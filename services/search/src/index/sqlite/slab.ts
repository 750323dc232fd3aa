import { createComparer } from './dots.js';
import type { PackedChunks } from './packing.js';

/** Holds the vectors of one model and one tenant in memory; the chunks of an entry are adjacent. */
export interface Slab {
  readonly dimensions: number;
  /** Number of chunks, including dead ones. */
  chunks: number;
  dead: number;
  /** Row of each chunk as an offset from the tenant's first; `DEAD` for a deleted chunk. */
  rows: Uint32Array;
  bounds: Uint32Array;
  scales: Float32Array;
  numbers: Int8Array;
  /** For each row the index of its first chunk plus 1; 0 when it has none. */
  firsts: Uint32Array;
}

const DEAD = 0xffff_ffff;

export function createSlab(dimensions: number): Slab {
  return {
    dimensions,
    chunks: 0,
    dead: 0,
    rows: new Uint32Array(0),
    bounds: new Uint32Array(0),
    scales: new Float32Array(0),
    numbers: new Int8Array(0),
    firsts: new Uint32Array(0),
  };
}

export function bytesOf({ rows, bounds, scales, numbers, firsts }: Slab): number {
  return [rows, bounds, scales, numbers, firsts].reduce((sum, { byteLength }) => sum + byteLength, 1);
}

/** Adds the chunks of a row that has none yet. */
export function addRow(slab: Slab, row: number, { chunks, bounds, scales, numbers }: PackedChunks): void {
  if (chunks === 0) return;
  const { dimensions, chunks: at } = slab;
  reserve(slab, at + chunks, row + 1);
  slab.rows.fill(row, at, at + chunks);
  slab.bounds.set(bounds, 2 * at);
  slab.scales.set(scales, at);
  slab.numbers.set(numbers, at * dimensions);
  slab.firsts[row] = at + 1;
  slab.chunks += chunks;
}

export function removeRow(slab: Slab, row: number): void {
  const first = slab.firsts[row] ?? 0;
  if (first === 0) return;
  slab.firsts[row] = 0;
  for (let chunk = first - 1; chunk < slab.chunks && slab.rows[chunk] === row; chunk++) {
    slab.rows[chunk] = DEAD;
    slab.dead++;
  }
}

function reserve(slab: Slab, chunks: number, rows: number): void {
  if (slab.rows.length < chunks) {
    const room = Math.max(64, Math.ceil(chunks * 1.25));
    slab.rows = grown(slab.rows, new Uint32Array(room));
    slab.bounds = grown(slab.bounds, new Uint32Array(2 * room));
    slab.scales = grown(slab.scales, new Float32Array(room));
    slab.numbers = grown(slab.numbers, new Int8Array(room * slab.dimensions));
  }
  if (slab.firsts.length < rows) slab.firsts = grown(slab.firsts, new Uint32Array(Math.ceil(rows * 1.25) + 64));
}

function grown<A extends Uint32Array | Float32Array | Int8Array>(from: A, to: A): A {
  to.set(from);
  return to;
}

/** Called with each examined chunk; those of a row come one after the other. */
export type Look = (slab: Slab, chunk: number, row: number, similarity: number) => void;

/** Visits the chunks of admitted rows, or of all rows if `admitted` is undefined. */
export function scan(slab: Slab, vector: Float32Array, admitted: Uint8Array | undefined, look: Look): void {
  const { dimensions, chunks, rows, scales, numbers } = slab;
  const { atOnce, unit, products } = createComparer(vector);
  const skips = (row: number): boolean => row === DEAD || (admitted !== undefined && admitted[row] !== 1);
  for (let from = 0; from < chunks; from++) {
    if (skips(rows[from] as number)) continue;
    let to = from + 1;
    while (to < chunks && to - from < atOnce && !skips(rows[to] as number)) to++;
    const found = products(numbers, from * dimensions, to - from);
    for (let chunk = from; chunk < to; chunk++) {
      const similarity = (found[chunk - from] as number) * unit * (scales[chunk] as number);
      look(slab, chunk, rows[chunk] as number, similarity);
    }
    from = to - 1;
  }
}

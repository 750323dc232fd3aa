import { type Cell, type Column, isNumber, isTime } from './column.js';
import { timeOf } from './dates.js';
import { cellAt, metadataAt } from './row-scan.js';
import { BETWEEN, decodeRow, decodeRows, type Row } from './rows.js';
import type { Breathe } from './slices.js';
import { createTerms, type Terms } from './terms.js';

/** The values of a column in one chunk: numbers, or codes of terms. */
type Vector = Float64Array | Uint32Array;

/** A chunk in memory: its text in a buffer outside the heap, and the columns that were loaded. */
export interface ChunkImage {
  readonly rows: number;
  readonly bytes: Buffer;
  /** Byte offset of each row, followed by the end. */
  readonly starts: Uint32Array;
  readonly vectors: Map<number, { readonly terms: Terms; readonly values: Vector }>;
  /** The chunk's text for search, with the key `by` that it was rendered for. */
  rendered: { readonly by: string; readonly text: string } | undefined;
  /** Approximate size in bytes. */
  weight: number;
  /** The table image whose weight includes this chunk. */
  holder: TableImage | undefined;
}

/** Pseudo-slots for a row's own metadata. */
const ROW_ID = -1;
const CREATED_AT = -2;
const UPDATED_AT = -3;
const CREATED_BY = -4;
const UPDATED_BY = -5;

/** Returns the slot of a column's values in a row. */
export function slotOf({ type, slot }: Pick<Column, 'type' | 'slot'>): number {
  if (type === 'created_at') return CREATED_AT;
  if (type === 'updated_at') return UPDATED_AT;
  if (type === 'created_by') return CREATED_BY;
  return type === 'updated_by' ? UPDATED_BY : slot;
}

/** A slot of a row and how its values are represented. */
export interface Field {
  readonly slot: number;
  readonly kind: 'number' | 'time' | 'flag' | 'term';
}

export const ID_FIELD: Field = { slot: ROW_ID, kind: 'term' };

export function fieldOf(column: Pick<Column, 'type' | 'slot'>): Field {
  const { type } = column;
  const kind = isNumber(type) ? 'number' : isTime(type) ? 'time' : type === 'checkbox' ? 'flag' : 'term';
  return { slot: slotOf(column), kind };
}

/** The cached data of one table. Chunks are immutable, so data read from a chunk stays valid. */
export interface TableImage {
  readonly chunks: Map<number, ChunkImage>;
  readonly terms: Map<number, Terms>;
  /** Approximate bytes of the chunks in this image, updated as they come and go. */
  chunkWeight: number;
}

export const createTableImage = (): TableImage => ({ chunks: new Map(), terms: new Map(), chunkWeight: 0 });

/** Adds a chunk to an image, which counts its weight from then on. */
export function holdChunk(image: TableImage, number: number, chunk: ChunkImage): void {
  dropChunk(image, number);
  image.chunks.set(number, chunk);
  image.chunkWeight += chunk.weight;
  chunk.holder = image;
}

export function dropChunk(image: TableImage, number: number): void {
  const chunk = image.chunks.get(number);
  if (chunk === undefined) return;
  image.chunks.delete(number);
  if (chunk.holder !== image) return;
  image.chunkWeight -= chunk.weight;
  chunk.holder = undefined;
}

function addWeight(chunk: ChunkImage, more: number): void {
  chunk.weight += more;
  if (chunk.holder !== undefined) chunk.holder.chunkWeight += more;
}

/** Renders a chunk's rows as text, and caches the text for the key `by`. */
export async function renderedText(
  chunk: ChunkImage,
  by: string,
  render: (rows: readonly Row[]) => Promise<string>,
): Promise<string> {
  if (chunk.rendered?.by === by) return chunk.rendered.text;
  const text = await render(decodeRows(textOf(chunk)));
  addWeight(chunk, 2 * (text.length - (chunk.rendered?.text.length ?? 0)));
  chunk.rendered = { by, text };
  return text;
}

/** A column over all rows of a view, chunk by chunk. */
export interface LoadedColumn {
  readonly field: Field;
  /** The values that the codes in the vectors denote, if the column does not hold numbers. */
  readonly terms: Terms;
  readonly vectors: readonly Vector[];
}

/** Chunks of a table in order. A view keeps its chunks in memory for as long as it is used. */
export interface TableView {
  readonly rowCount: number;
  readonly chunks: readonly ChunkImage[];
  /** The index of the first row of each chunk. */
  readonly firsts: Uint32Array;
  row(at: number): Row;
  /** Loads the values of columns. */
  load(fields: readonly Field[], breathe: Breathe): Promise<LoadedColumn[]>;
}

export function createTableView({ chunks: known, terms }: TableImage, numbers: readonly number[]): TableView {
  const chunks = numbers.flatMap((number) => known.get(number) ?? []);
  const firsts = new Uint32Array(chunks.length);
  let rowCount = 0;
  for (const [i, { rows }] of chunks.entries()) {
    firsts[i] = rowCount;
    rowCount += rows;
  }
  return {
    rowCount,
    chunks,
    firsts,
    row(at) {
      const i = chunkAt(firsts, at);
      return decodeRow(lineAt(chunks[i] as ChunkImage, at - (firsts[i] as number)));
    },
    async load(fields, breathe) {
      const prepare = (field: Field): LoadedColumn & { readonly vectors: Vector[] } => ({
        field,
        terms: termsFor(terms, field.slot, rowCount),
        vectors: [],
      });
      const columns = fields.map(prepare);
      for (const chunk of chunks) {
        for (const { field, terms, vectors } of columns) {
          if (chunk.vectors.get(field.slot)?.terms !== terms) {
            keepVector(chunk, field.slot, { terms, values: vectorOf(chunk, field, terms) });
          }
          vectors.push(chunk.vectors.get(field.slot)?.values as Vector);
          await breathe();
        }
      }
      return columns;
    },
  };
}

/** Returns a column's terms; starts afresh when most of them belong to rows that no longer exist. */
function termsFor(all: Map<number, Terms>, slot: number, rows: number): Terms {
  const known = all.get(slot);
  if (known !== undefined && known.cells.length <= rows * 2 + 4096) return known;
  const made = createTerms();
  all.set(slot, made);
  return made;
}

/** Finds the chunk that holds a row, by binary search. */
function chunkAt(firsts: Uint32Array, at: number): number {
  let low = 0;
  let high = firsts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >>> 1;
    if ((firsts[middle] as number) <= at) low = middle;
    else high = middle - 1;
  }
  return low;
}

export const textOf = ({ bytes }: ChunkImage): string => bytes.toString('utf8');

function lineAt({ bytes, starts }: ChunkImage, at: number): string {
  return bytes.toString('utf8', starts[at], (starts[at + 1] as number) - BETWEEN.length);
}

/** Creates the image of a chunk with `rows` rows from its text. */
export function createChunkImage(rows: number, text: string): ChunkImage {
  const bytes = Buffer.from(text);
  const starts = new Uint32Array(rows + 1);
  for (let row = 1, at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) starts[row++] = at + 1;
  starts[rows] = bytes.length + BETWEEN.length;
  const weight = bytes.length + starts.byteLength + 500;
  return { rows, bytes, starts, vectors: new Map(), rendered: undefined, weight, holder: undefined };
}

function keepVector(chunk: ChunkImage, slot: number, vector: { readonly terms: Terms; readonly values: Vector }): void {
  const before = chunk.vectors.get(slot);
  chunk.vectors.set(slot, vector);
  addWeight(chunk, vector.values.byteLength - (before?.values.byteLength ?? -100));
}

/** Returns the approximate size of an image in bytes. */
export function weightOf({ chunkWeight, terms }: TableImage): number {
  let total = chunkWeight;
  for (const { weight } of terms.values()) total += weight;
  return total;
}

function vectorOf({ rows, bytes, starts }: ChunkImage, { slot, kind }: Field, { code }: Terms): Vector {
  if (kind === 'term') {
    const codes = new Uint32Array(rows);
    for (let i = 0; i < rows; i++) codes[i] = code(encodedValueAt(bytes, starts[i] as number, slot));
    return codes;
  }
  const numbers = new Float64Array(rows);
  for (let i = 0; i < rows; i++) numbers[i] = numberOf(encodedValueAt(bytes, starts[i] as number, slot), kind);
  return numbers;
}

/** Returns the same value as `valueAt` of the encoded row that begins at `start`. */
function encodedValueAt(bytes: Buffer, start: number, slot: number): Cell {
  switch (slot) {
    case ROW_ID:
      return metadataAt(bytes, start, 0);
    case CREATED_AT:
      return metadataAt(bytes, start, 1);
    case CREATED_BY:
      return String(metadataAt(bytes, start, 2));
    case UPDATED_AT:
      return metadataAt(bytes, start, 3);
    case UPDATED_BY:
      return String(metadataAt(bytes, start, 4));
    default:
      return cellAt(bytes, start, slot);
  }
}

/** Returns the value of a row at a slot. Its own authors are list indices and its own times are epoch milliseconds. */
export function valueAt(row: Row, slot: number): Cell {
  switch (slot) {
    case ROW_ID:
      return row.id;
    case CREATED_AT:
      return row.createdAt;
    case UPDATED_AT:
      return row.updatedAt;
    case CREATED_BY:
      return String(row.createdBy);
    case UPDATED_BY:
      return String(row.updatedBy);
    default:
      return row.cells[slot] ?? null;
  }
}

/** Returns the number that a value is compared by; NaN for an empty one. */
export function numberOf(cell: Cell, kind: Field['kind']): number {
  if (typeof cell === 'number') return cell;
  if (typeof cell === 'boolean') return cell ? 1 : 0;
  return kind === 'time' && typeof cell === 'string' ? timeOf(cell) : Number.NaN;
}

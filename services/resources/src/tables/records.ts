import type { Actor } from '@commonplace/kit/auth';
import {
  type Collection,
  type CollectionSpec,
  LostRace,
  type StoredRecord,
  type UnitOfWork,
} from '@commonplace/kit/store';
import type { ChunkEntry } from './chunks.js';
import type { Column } from './column.js';
import { shortHash } from './rows.js';

/** A table's columns and its rows as a list of chunks. A kept state has the id `<table>.<snapshot>`. */
export interface TableHead extends StoredRecord {
  readonly tenant: string;
  readonly columns: readonly Column[];
  readonly primary: string;
  readonly nextSlot: number;
  readonly nextChunk: number;
  /** The next number of each auto_number column, by slot. */
  readonly nextNumbers: Readonly<Record<string, number>>;
  /** Authors of rows; rows refer to them by index. */
  readonly people: readonly Actor[];
  readonly chunks: readonly PackedEntry[];
  /** Number of the last chunks that are parts of the open chunk, which appended rows join; absent if it is unknown. */
  readonly open?: number | undefined;
  readonly rowCount: number;
  readonly bytes: number;
  /** Ids of the snapshots that keep a state of the table. */
  readonly kept: readonly string[];
  /** Numbers of chunks that this state no longer uses but a kept one may use. */
  readonly loose: readonly number[];
  /** Set if the table itself was deleted while kept states remain. */
  readonly gone?: true;
}

export type PackedEntry = readonly [number: number, rows: number, bytes: number, hash: string, content: string];

/** Rows of a table, in order. Chunks are never changed, only replaced by others. */
interface StoredChunk extends StoredRecord {
  readonly tenant: string;
  /** One row per line. */
  readonly text: string;
}

/**
 * A head in its stored form. If a table has many chunks, `chunks` contains only the last of them. The others are in a
 * separate list, which is stored like a chunk and never changes, so that appending rows writes nothing that grows with
 * the table.
 */
export interface StoredHead extends TableHead {
  /** The number of the list, in the same sequence as chunks. */
  readonly list?: number;
}

export const headCollection: CollectionSpec<StoredHead> = { name: 'tables', indexes: [] };
export const chunkCollection: CollectionSpec<StoredChunk> = { name: 'table_chunks', indexes: [] };

export interface TableStores {
  readonly heads: Collection<StoredHead>;
  readonly chunks: Collection<StoredChunk>;
}

export const keptId = (tableId: string, snapshotId: string): string => `${tableId}.${snapshotId}`;
export const chunkId = (tableId: string, number: number): string => `${tableId}.${number}`;

/** Returns a head without its version, in the form in which it is written. */
export function bare<T extends Omit<TableHead, 'version'> & { readonly version?: number }>(
  head: T,
): Omit<T, 'version'> {
  const { version: _version, ...rest } = head;
  return rest;
}

export function packEntry({ number, rows, bytes, hash, content }: ChunkEntry): PackedEntry {
  return [number, rows, bytes, hash, content];
}

/** Returns the entries of a head's chunks; `from` and `to` select a range as in `slice`. */
export function entriesOf({ chunks }: Pick<TableHead, 'chunks'>, from = 0, to = chunks.length): ChunkEntry[] {
  const some = from === 0 && to === chunks.length ? chunks : chunks.slice(from, to);
  return some.map(([number, rows, bytes, hash, content]) => ({ number, rows, bytes, hash, content }));
}

/** Returns a head without columns and rows. */
export function emptyHead(id: string, tenant: string): Omit<TableHead, 'version'> {
  return {
    id,
    tenant,
    columns: [],
    primary: '',
    nextSlot: 0,
    nextChunk: 1,
    nextNumbers: {},
    people: [],
    chunks: [],
    rowCount: 0,
    bytes: 0,
    kept: [],
    loose: [],
  };
}

/**
 * Returns a hash that is equal for equal columns and rows, whoever wrote them and when. `contents` are the content
 * hashes of the chunks.
 */
export function contentHash({ columns, primary }: Omit<TableHead, 'version'>, contents: readonly string[]): string {
  return shortHash(JSON.stringify([columns, primary, contents]));
}

/** Deletes a chunk. Chunks are never changed, so the version is always 1. */
export function removeChunk({ chunks }: TableStores, work: UnitOfWork, id: string): void {
  work.remove(chunks, { id, version: 1, tenant: '', text: '' });
}

/** Returns the head of a kept state. Throws LostRace if it was deleted. */
export async function requireHead({ heads }: TableStores, id: string): Promise<StoredHead> {
  const head = await heads.get(id);
  if (head === undefined) throw new LostRace(heads.spec.name, id);
  return head;
}

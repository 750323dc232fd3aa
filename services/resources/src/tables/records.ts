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

/** What a table holds, its rows as a list of chunks. A kept state has `<table>.<snapshot>` as its id. */
export interface TableHead extends StoredRecord {
  readonly tenant: string;
  readonly columns: readonly Column[];
  readonly primary: string;
  readonly nextSlot: number;
  readonly nextChunk: number;
  /** The number that the next row gets, by the slot of an auto_number column. */
  readonly nextNumbers: Readonly<Record<string, number>>;
  /** Who made and changed rows; the rows name them by their place here. */
  readonly people: readonly Actor[];
  readonly chunks: readonly PackedEntry[];
  /** How many of the last chunks are parts of one that rows at the end join; absent where it has to be looked at. */
  readonly open?: number | undefined;
  readonly rowCount: number;
  readonly bytes: number;
  /** Snapshots' ids under which a state is kept. */
  readonly kept: readonly string[];
  /** Chunks that this state has no more and a kept one may have. */
  readonly loose: readonly number[];
  /** The table itself is gone; there are kept states yet. */
  readonly gone?: true;
}

export type PackedEntry = readonly [number: number, rows: number, bytes: number, hash: string, content: string];

/** Some rows of a table, in their order: never changed, only left out for others. */
export interface StoredChunk extends StoredRecord {
  readonly tenant: string;
  /** A row a line. */
  readonly text: string;
}

/**
 * A head as it is stored. Where a table has many chunks, `chunks` names only the last of them: those before stand in a
 * list of their own, which is kept like a chunk and never changes, so that rows at the end write nothing that grows
 * with the table.
 */
export interface StoredHead extends TableHead {
  /** The number of the list. */
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

export function packEntry({ number, rows, bytes, hash, content }: ChunkEntry): PackedEntry {
  return [number, rows, bytes, hash, content];
}

/** The chunks of a head; those between two places where these are given, as `slice` takes them. */
export function entriesOf({ chunks }: Pick<TableHead, 'chunks'>, from = 0, to = chunks.length): ChunkEntry[] {
  const some = from === 0 && to === chunks.length ? chunks : chunks.slice(from, to);
  return some.map(([number, rows, bytes, hash, content]) => ({ number, rows, bytes, hash, content }));
}

/** A table as it is before anything was written into it. */
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

/** Equal for equal contents: columns and rows, without who and when. `contents`: the hashes of those of its chunks. */
export function contentHash({ columns, primary }: Omit<TableHead, 'version'>, contents: readonly string[]): string {
  return shortHash(JSON.stringify([columns, primary, contents]));
}

/** Takes a chunk away; it is never changed, so its version is known. */
export function removeChunk({ chunks }: TableStores, work: UnitOfWork, id: string): void {
  work.remove(chunks, { id, version: 1, tenant: '', text: '' });
}

/** A kept head. Throws LostRace where it is gone. */
export async function requireHead({ heads }: TableStores, id: string): Promise<StoredHead> {
  const head = await heads.get(id);
  if (head === undefined) throw new LostRace(heads.spec.name, id);
  return head;
}

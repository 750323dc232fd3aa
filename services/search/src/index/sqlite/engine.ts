import type { IndexEntry } from '@commonplace/proto/resources/v1/index_service.js';
import type { EmbeddingModel } from '../../embedding/port.js';
import type {
  EntryVectors,
  IndexAnswer,
  IndexQuery,
  IndexStats,
  NearHit,
  RankAnswer,
  RankQuery,
  UnembeddedEntry,
  VectorQuery,
  VectorStats,
} from '../port.js';
import {
  type IndexFile,
  type Limits,
  markComplete,
  openFormerFile,
  openIndexFile,
  removeIndexFile,
  replaceIndexFile,
} from './file.js';
import { type Inspection, inspect } from './inspect.js';
import { nearest } from './nearest.js';
import { unembedded } from './needs.js';
import { rankIn } from './rank.js';
import { search } from './search.js';
import { carryVectors, dropVectors, putVectors, vectorStats } from './vectors.js';
import { applyChanges, type Change, idOf } from './write.js';

/** An index file and, during a rebuild, the file that will replace it. All methods are synchronous, except that `rank` uses promises. */
export interface Engine {
  search(query: IndexQuery): IndexAnswer;
  /** Commits changes of different entries, to the new file too. */
  change(changes: readonly Change[]): void;
  beginRebuild(): void;
  /** Fills the new file; entries that have changed since the rebuild began stay as they are. */
  fill(entries: readonly IndexEntry[]): void;
  commitRebuild(): void;
  abortRebuild(): void;
  stats(): IndexStats;
  inspect(question: Inspection): unknown;
  unembedded(model: string, limit: number): UnembeddedEntry[];
  /** Commits vectors, to the new file too. */
  putVectors(model: EmbeddingModel, entries: readonly EntryVectors[]): void;
  nearest(query: VectorQuery): NearHit[];
  /** Resolves before any other event is handled. */
  rank(query: RankQuery): Promise<RankAnswer>;
  vectorStats(model: string): VectorStats;
  models(): EmbeddingModel[];
  dropVectors(model: string): void;
  /** Frees the vectors in memory; the next query reads them again. */
  rest(): void;
  close(): void;
}

/** Opens the index at a path. */
export function openEngine(path: string, limits?: Limits): Engine {
  const nextPath = `${path}.next`;
  removeIndexFile(nextPath);
  let former = openFormerFile(path, limits);
  let current = openIndexFile(path, limits);
  let next: { file: IndexFile; changed: Set<string> } | undefined;

  function dropNext(): void {
    next?.file.db.close();
    next = undefined;
    removeIndexFile(nextPath);
  }

  function dropFormer(): void {
    former?.db.close();
    if (former !== undefined) removeIndexFile(former.path);
    former = undefined;
  }

  /** Copies the vectors that entries of the new file had before, from the current file or one of another version. */
  function carry(to: IndexFile, ids: readonly string[]): void {
    carryVectors(current, to, ids);
    if (former === undefined) return;
    try {
      carryVectors(former, to, ids);
    } catch {
      // The former file's tables differ from this version's, so its vectors are computed again.
      dropFormer();
    }
  }

  return {
    search: (query) => search(current, query),
    change(changes) {
      applyChanges(current, changes);
      if (next === undefined) return;
      applyChanges(next.file, changes);
      carry(next.file, changes.map(idOf));
      for (const change of changes) next.changed.add(idOf(change));
    },
    beginRebuild() {
      dropNext();
      next = { file: openIndexFile(nextPath, limits), changed: new Set() };
    },
    fill(entries) {
      if (next === undefined) throw new Error('no rebuild is running');
      const { file, changed } = next;
      const untouched = entries.filter(({ id }) => !changed.has(id));
      applyChanges(
        file,
        untouched.map((upsert) => ({ upsert })),
      );
      carry(
        file,
        untouched.map(({ id }) => id),
      );
    },
    commitRebuild() {
      if (next === undefined) throw new Error('no rebuild is running');
      markComplete(next.file);
      settle(next.file);
      next = undefined;
      settle(current);
      replaceIndexFile(path, nextPath);
      current = openIndexFile(path, limits);
      dropFormer();
    },
    abortRebuild: dropNext,
    stats: () => statsOf(current),
    inspect: (question) => inspect(current, question),
    unembedded: (model, limit) => unembedded(current, model, limit),
    putVectors(model, entries) {
      putVectors(current, model, entries);
      if (next !== undefined) putVectors(next.file, model, entries);
    },
    nearest: (query) => nearest(current, query),
    rank: (query) => rankIn(current, query),
    vectorStats: (model) => vectorStats(current, model),
    models: () => [...current.models.values()].map(({ about }) => about),
    dropVectors(model) {
      dropVectors(current, model);
      if (next !== undefined) dropVectors(next.file, model);
    },
    rest: () => current.slabs.clear(),
    close() {
      dropNext();
      former?.db.close();
      current.db.close();
    },
  };
}

/** Writes the write-ahead log to the file, so that the file is complete on its own, and closes it. */
function settle({ db }: IndexFile): void {
  db.get('PRAGMA wal_checkpoint(TRUNCATE)');
  db.close();
}

function statsOf({ db, complete, workspaces }: IndexFile): IndexStats {
  const [[pages], [size]] = [db.get('PRAGMA page_count') ?? [0], db.get('PRAGMA page_size') ?? [0]];
  const entries = [...workspaces.values()].reduce((sum, { count }) => sum + count, 0);
  return { entries, bytes: Number(pages) * Number(size), complete };
}

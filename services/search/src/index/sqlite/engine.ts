import type { IndexEntry } from '@commonplace/proto/resources/v1/index_service.js';
import type { IndexAnswer, IndexQuery, IndexStats } from '../port.js';
import { type IndexFile, type Limits, markComplete, openIndexFile, removeIndexFile, replaceIndexFile } from './file.js';
import { search } from './search.js';
import { applyChanges, type Change, idOf } from './write.js';

/** An index file, and while a rebuild runs the one that will take its place. Everything is synchronous. */
export interface Engine {
  search(query: IndexQuery): IndexAnswer;
  /** Makes changes of different entries durable, in the new file too. */
  change(changes: readonly Change[]): void;
  beginRebuild(): void;
  /** Fills the new file; what has changed meanwhile stays as the change left it. */
  fill(entries: readonly IndexEntry[]): void;
  commitRebuild(): void;
  abortRebuild(): void;
  stats(): IndexStats;
  close(): void;
}

/** Opens the index at a path. */
export function openEngine(path: string, limits?: Limits): Engine {
  const nextPath = `${path}.next`;
  removeIndexFile(nextPath);
  let current = openIndexFile(path, limits);
  let next: { file: IndexFile; changed: Set<string> } | undefined;

  function dropNext(): void {
    next?.file.db.close();
    next = undefined;
    removeIndexFile(nextPath);
  }

  return {
    search: (query) => search(current, query),
    change(changes) {
      applyChanges(current, changes);
      if (next === undefined) return;
      applyChanges(next.file, changes);
      for (const change of changes) next.changed.add(idOf(change));
    },
    beginRebuild() {
      dropNext();
      next = { file: openIndexFile(nextPath, limits), changed: new Set() };
    },
    fill(entries) {
      if (next === undefined) throw new Error('no rebuild runs');
      const { file, changed } = next;
      const untouched = entries.filter(({ id }) => !changed.has(id));
      applyChanges(
        file,
        untouched.map((upsert) => ({ upsert })),
      );
    },
    commitRebuild() {
      if (next === undefined) throw new Error('no rebuild runs');
      markComplete(next.file);
      settle(next.file);
      next = undefined;
      settle(current);
      replaceIndexFile(path, nextPath);
      current = openIndexFile(path, limits);
    },
    abortRebuild: dropNext,
    stats: () => statsOf(current),
    close() {
      dropNext();
      current.db.close();
    },
  };
}

/** Folds the write-ahead log into the file, so that the file is whole by itself, and closes it. */
function settle({ db }: IndexFile): void {
  db.get('PRAGMA wal_checkpoint(TRUNCATE)');
  db.close();
}

function statsOf({ db, complete, workspaces }: IndexFile): IndexStats {
  const [[pages], [size]] = [db.get('PRAGMA page_count') ?? [0], db.get('PRAGMA page_size') ?? [0]];
  const entries = [...workspaces.values()].reduce((sum, { count }) => sum + count, 0);
  return { entries, bytes: Number(pages) * Number(size), complete };
}

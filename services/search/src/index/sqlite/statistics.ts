import { damping } from '../../domain/bm25.js';
import type { IndexFile } from './file.js';
import { lengthsOf } from './lengths.js';
import type { Scope } from './scope.js';

/** Statistics for BM25 about the workspaces that a search covers. */
export interface Statistics {
  /** Number of their entries. */
  readonly entries: number;
  /** Returns the length normalization of a row. */
  damping(offset: number): number;
  /** Returns the number of the given rows that belong to these workspaces. */
  matching(offsets: ArrayLike<number>): number;
}

/** Returns the statistics of a scope's workspaces. */
export function statisticsOf(file: IndexFile, scope: Scope): Statistics {
  const { terms, places, workspaces } = lengthsOf(file, scope.tenant);
  const searched = new Uint8Array(workspaces.size + 1);
  let entries = 0;
  let length = 0;
  for (const id of scope.workspaceIds) {
    const known = file.workspaces.get(id);
    if (known === undefined || known.tenant !== scope.tenant) continue;
    entries += known.count;
    length += known.length;
    searched[workspaces.get(id) ?? 0] = 1;
  }
  searched[0] = 0;
  const mean = Math.max(length, 1) / Math.max(entries, 1);
  return {
    entries,
    damping: (offset) => damping(terms[offset] as number, mean),
    matching: (offsets) => {
      let matching = 0;
      for (let i = 0; i < offsets.length; i++) {
        matching += searched[places[offsets[i] as number] as number] as number;
      }
      return matching;
    },
  };
}

import type { CallContext } from '@commonplace/kit/rpc';
import type { Warning } from '../content/kind.js';
import type { Node } from '../domain/node.js';
import { createTableCache, type TableCache } from './cache.js';
import type { Column } from './column.js';
import type { OpenTable } from './compute.js';
import { type ChunkLists, createChunkLists } from './lists.js';
import type { TablePlanner } from './planner.js';
import { keptId, requireHead, type TableHead, type TableStores } from './records.js';
import { createBreathe } from './slices.js';
import { createTableStates, type TableStates } from './state.js';

export interface TableParts extends TableStores {
  readonly settings: { readonly tableRows: number; readonly tableChoices: number; readonly tableCacheBytes: number };
  readonly planner: Pick<TablePlanner, 'plan'>;
  /**
   * Returns which of these nodes are tables that the caller may read, for links to other tables; with a workspace, only
   * those that are there.
   */
  readableAmong(nodeIds: readonly string[], context: CallContext, workspaceId?: string): Promise<ReadonlySet<string>>;
  /** Returns what a change of a table's columns to these means for what depends on them. */
  columnWarnings(node: Pick<Node, 'id' | 'form'>, columns: readonly Column[]): Promise<readonly Warning[]>;
}

/** Access to stored tables, which all parts of their content kind share. */
export interface TableEngine {
  readonly parts: TableParts;
  readonly cache: TableCache;
  readonly lists: ChunkLists;
  readonly states: TableStates;
  /** Returns how a call opens other tables: only those that its caller may read, with a workspace only if they are there. */
  opener(context: CallContext, workspaceId?: string): OpenTable;
  /** Returns the head of the state that a snapshot keeps. */
  keptHead(tableId: string, snapshotId: string): Promise<TableHead>;
}

export function createTableEngine(parts: TableParts): TableEngine {
  const cache = createTableCache(parts, parts.settings.tableCacheBytes);
  const lists = createChunkLists(parts);
  const states = createTableStates(parts, cache, lists);
  return {
    parts,
    cache,
    lists,
    states,
    opener: (context, workspaceId) => async (tableId) => {
      if (!(await parts.readableAmong([tableId], context, workspaceId)).has(tableId)) return undefined;
      return states.open(tableId, await states.head(tableId), createBreathe(context.signal));
    },
    async keptHead(tableId, snapshotId) {
      return lists.whole(tableId, await requireHead(parts, keptId(tableId, snapshotId)));
    },
  };
}

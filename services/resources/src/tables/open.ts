import type { CallContext } from '@commonplace/kit/rpc';
import type { Store } from '@commonplace/kit/store';
import type { Tree } from '../nodes/tree.js';
import type { Policy } from '../policy.js';
import type { TableParts } from './engine.js';
import { createTableKind, type TableKind } from './kind.js';
import { chunkCollection, headCollection } from './records.js';

interface Surroundings extends Pick<TableParts, 'settings' | 'planner' | 'columnWarnings'> {
  readonly tree: Tree;
  readonly policy: Policy;
}

/** Opens the content kind of tables on its collections. */
export async function openTableKind(
  store: Store,
  { settings, planner, tree, policy, columnWarnings }: Surroundings,
): Promise<TableKind> {
  return createTableKind({
    heads: await store.collection(headCollection),
    chunks: await store.collection(chunkCollection),
    settings,
    planner,
    columnWarnings,
    async readableAmong(nodeIds: readonly string[], context: CallContext, workspaceId?: string) {
      const nodes = await tree.getMany(nodeIds);
      const tables = nodes.filter(
        (node) =>
          node.type === 'table' &&
          node.state === 'active' &&
          (workspaceId === undefined || node.workspaceId === workspaceId),
      );
      if (tables.length === 0) return new Set();
      const access = await policy.accessToAll(tables, await policy.subject(context));
      return new Set(tables.flatMap(({ id }, at) => (access[at] === undefined ? [] : [id])));
    },
  });
}

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
    async mayRead(nodeId: string, context: CallContext, workspaceId?: string) {
      const [node] = await tree.getMany([nodeId]);
      if (node?.type !== 'table' || node.state !== 'active') return false;
      if (workspaceId !== undefined && node.workspaceId !== workspaceId) return false;
      const [access] = await policy.accessToAll([node], await policy.subject(context));
      return access !== undefined;
    },
  });
}

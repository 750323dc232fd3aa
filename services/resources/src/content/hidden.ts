import { reachesWorkspace } from '@commonplace/kit/auth';
import type { CallContext } from '@commonplace/kit/rpc';
import type { Policy, Standing } from '../policy.js';
import type { Tree } from '../stores/tree.js';

/** What of the resources that a text names may not be known to who reads it. */
export interface Hidden {
  /** Ids of resources that are there and closed to somebody; most texts name none, which costs nothing. */
  from(standing: Standing, text: string): Promise<string[]>;
  /** The same of who is behind a call. */
  in(context: CallContext, text: string): Promise<string[]>;
}

const UUIDS = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g;
/** Ids that are looked up at a time. */
const BATCH = 1000;

export function createHidden({ tree, policy }: { readonly tree: Tree; readonly policy: Policy }): Hidden {
  /** Every id in the text: which of them are references is told by reading it, which costs far more. */
  async function from(standing: Standing, text: string): Promise<string[]> {
    const ids = namedIn(text);
    const hidden: string[] = [];
    for (let at = 0; at < ids.length; at += BATCH) {
      const nodes = await tree.getMany(ids.slice(at, at + BATCH));
      const access = await policy.accessToAll(nodes, standing);
      const closed = nodes.filter(
        (node, i) => access[i] === undefined || !reachesWorkspace(standing.caller, node.workspaceId, node.orgId),
      );
      hidden.push(...closed.map(({ id }) => id));
    }
    return hidden;
  }

  return {
    from,
    in: async (context, text) => (namedIn(text).length === 0 ? [] : from(await policy.standing(context), text)),
  };
}

function namedIn(text: string): string[] {
  if (!text.includes('resource')) return [];
  return [...new Set(text.match(UUIDS))];
}

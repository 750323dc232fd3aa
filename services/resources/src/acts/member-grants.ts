import type { Actor } from '@commonplace/kit/auth';
import { LostRace, type Where } from '@commonplace/kit/store';
import { eventsBy } from '../events.js';
import type { Parts } from '../parts.js';
import type { Grant } from '../stores/grants.js';
import { dropGrants, putGrants, type Wish } from './grants.js';

/** Grants that one unit of work looks at. */
const CHUNK = 100;
/** How often a chunk is begun again when others write to the same nodes. */
const MAX_RACES = 20;

/** Takes back all grants that match, whoever is left as owner. Gives how many. */
export function removeGrantsOf(parts: Parts, where: Where<Grant>, actor: Actor): Promise<number> {
  return rewriteGrants(parts, where, actor, () => undefined);
}

/**
 * Takes back all grants that match, and makes another in place of each for which `instead` gives one. Gives how
 * many. It can be begun again at any time: what it has taken back does not match any more.
 */
export async function rewriteGrants(
  parts: Parts,
  where: Where<Grant>,
  actor: Actor,
  instead: (grant: Grant) => Wish | undefined,
): Promise<number> {
  let removed = 0;
  for (let races = 0; ; ) {
    const grants = await parts.grants.find({ where, limit: CHUNK });
    if (grants.length === 0) return removed;
    try {
      await rewriteChunk(parts, grants, actor, instead);
      removed += grants.length;
      races = 0;
    } catch (error) {
      if (!(error instanceof LostRace) || ++races > MAX_RACES) throw error;
    }
  }
}

async function rewriteChunk(
  parts: Parts,
  grants: readonly Grant[],
  actor: Actor,
  instead: (grant: Grant) => Wish | undefined,
): Promise<void> {
  const work = parts.store.begin();
  const found = await parts.tree.nodes.getMany([...new Set(grants.map(({ resourceId }) => resourceId))]);
  const nodes = new Map(found.map((node) => [node.id, node]));
  for (const grant of grants) {
    const node = nodes.get(grant.resourceId);
    if (node === undefined) {
      work.remove(parts.grants, grant);
      continue;
    }
    const context = eventsBy(actor, node.tenant, work);
    let after = dropGrants(parts, node, [grant], context);
    const wish = instead(grant);
    if (wish !== undefined) after = (await putGrants(parts, after, [wish], { notify: false }, context)).node;
    nodes.set(node.id, after);
  }
  await work.commit();
}

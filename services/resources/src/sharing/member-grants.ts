import type { Actor } from '@commonplace/kit/auth';
import { LostRace, type Where } from '@commonplace/kit/store';
import type { Grant } from '../domain/grant.js';
import { eventsBy } from '../events.js';
import { dropGrants, putGrants, type RequestedGrant } from './grants.js';
import type { SharingParts } from './parts.js';

/** Number of grants that one unit of work rewrites. */
const CHUNK = 100;
/** Maximum number of times that a chunk is retried after a conflict with other writers. */
const MAX_RACES = 20;

/** Revokes all matching grants, even those of a last owner. Returns the number of revoked grants. */
export function removeGrantsOf(parts: SharingParts, where: Where<Grant>, actor: Actor): Promise<number> {
  return rewriteGrants(parts, where, actor, () => undefined);
}

/**
 * Revokes all matching grants, and creates a replacement for each for which `instead` returns one. Returns the number
 * of revoked grants. It can be retried at any time: a revoked grant no longer matches.
 */
export async function rewriteGrants(
  parts: SharingParts,
  where: Where<Grant>,
  actor: Actor,
  instead: (grant: Grant) => RequestedGrant | undefined,
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
  parts: SharingParts,
  grants: readonly Grant[],
  actor: Actor,
  instead: (grant: Grant) => RequestedGrant | undefined,
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
    const requested = instead(grant);
    if (requested !== undefined) after = (await putGrants(parts, after, [requested], { notify: false }, context)).node;
    nodes.set(node.id, after);
  }
  await work.commit();
}

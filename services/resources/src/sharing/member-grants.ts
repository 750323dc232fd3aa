import type { Actor } from '@commonplace/kit/auth';
import { LostRace, type Where } from '@commonplace/kit/store';
import type { Grant } from '../domain/grant.js';
import type { Node } from '../domain/node.js';
import { isGroup } from '../domain/principals.js';
import { may } from '../domain/role.js';
import { eventsBy } from '../events.js';
import { dropGrants, grantsOn, putGrants, type RequestedGrant } from './grants.js';
import type { SharingParts } from './parts.js';

/** Number of grants that one unit of work rewrites. */
const CHUNK = 100;
/** Maximum number of times that a chunk is retried after a conflict with other writers. */
const MAX_RACES = 20;

/** Returns the grant that replaces a revoked one on a node; undefined for none. */
type Replacement = (grant: Grant, node: Node) => RequestedGrant | undefined | Promise<RequestedGrant | undefined>;

/** Revokes all matching grants, even those of a last owner. Returns the number of revoked grants. */
export function removeGrantsOf(parts: SharingParts, where: Where<Grant>, actor: Actor): Promise<number> {
  return rewriteGrants(parts, where, actor, () => undefined);
}

/** A person who leaves an Org, and who gets what they own there. */
interface Leaver {
  readonly orgId: string;
  readonly userId: string;
  /** The id of the person who gets it; empty if nobody does. */
  readonly successor: string;
}

/**
 * Revokes the grants in an Org of a person who leaves it. What they owned by a grant without expiry, and restricted
 * items that nobody else manages by a grant, go to their successor. `only` restricts the grants. Returns the number of resources that went to the successor, by workspace.
 */
export async function leaveOrg(
  parts: SharingParts,
  { orgId, userId, successor }: Leaver,
  actor: Actor,
  only: Where<Grant> = {},
): Promise<Map<string, number>> {
  const transferred = new Map<string, Set<string>>();
  const where = { principal: `user:${userId}`, tenant: orgId, ...only };
  await rewriteGrants(parts, where, actor, async (grant, node) => {
    if (successor === '' || !(await isOwn(parts, grant, node))) return undefined;
    const { workspaceId, resourceId, role } = grant;
    transferred.set(workspaceId, (transferred.get(workspaceId) ?? new Set()).add(resourceId));
    return { principal: `user:${successor}`, role };
  });
  return new Map([...transferred].map(([workspaceId, ids]) => [workspaceId, ids.size]));
}

/**
 * Returns whether an item is a person's own by a lasting grant: they own it, or they alone manage it by a grant and it
 * is restricted. Whoever restricts an item stays its manager. A group that manages it does not count, since it may have
 * no members.
 */
async function isOwn(parts: SharingParts, grant: Grant, node: Node): Promise<boolean> {
  const { role, expiresAt, principal } = grant;
  if (expiresAt !== undefined) return false;
  if (role !== 'manager' || !node.restricted) return role === 'owner';
  const others = (await grantsOn(parts, node)).filter((one) => one.principal !== principal && !isGroup(one.principal));
  return !others.some((one) => one.expiresAt === undefined && may(one.role, 'manage'));
}

/**
 * Revokes all matching grants, and creates a replacement for each for which `instead` returns one. Returns the number
 * of revoked grants. It can be retried at any time: a revoked grant no longer matches.
 */
export async function rewriteGrants(
  parts: SharingParts,
  where: Where<Grant>,
  actor: Actor,
  instead: Replacement,
): Promise<number> {
  let removed = 0;
  for (let races = 0; ; ) {
    const grants = await parts.grants.find({ where, anyOrder: true, limit: CHUNK });
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
  instead: Replacement,
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
    const requested = await instead(grant, node);
    if (requested !== undefined) after = (await putGrants(parts, after, [requested], { notify: false }, context)).node;
    nodes.set(node.id, after);
  }
  await work.commit();
}

import type { CallContext } from '@commonplace/kit/rpc';
import { isAtLeast, ROLES, type Role, reachOfGrants } from '../domain/access.js';
import { LastOwner, LimitReached } from '../errors.js';
import { publishPermission } from '../events.js';
import type { Parts } from '../parts.js';
import { type Grant, grantId, isExpired } from '../stores/grants.js';
import type { Node } from '../stores/nodes.js';

/** Grants that one node can have. */
export const GRANTS_PER_NODE = 500;

/** What somebody is to be granted. */
export interface Wish extends Pick<Grant, 'principal' | 'role' | 'expiresAt' | 'email' | 'link'> {}

/** What those concerned are told. */
export interface Telling {
  readonly notify: boolean;
  readonly message?: string | undefined;
}

export interface Granted {
  readonly node: Node;
  /** In the order of the wishes. */
  readonly grants: readonly Grant[];
  /** Whether any of them is new. */
  readonly anyNew: boolean;
}

type Writing = Pick<CallContext, 'work' | 'event' | 'actor'>;

/**
 * Grants a node's wishes, or changes what is granted; one wish for a principal. Throws `last_owner` where
 * nobody would own what somebody owns, and `limit_reached` above 500 grants.
 */
export async function putGrants(
  parts: Parts,
  node: Node,
  wishes: readonly Wish[],
  telling: Telling,
  context: Writing,
): Promise<Granted> {
  const now = new Date().toISOString();
  const changed = new Map<string, Grant>();
  const grants: Grant[] = [];
  let anyNew = false;
  let demotes = false;
  for (const wish of wishes) {
    const id = grantId(node.id, wish.principal);
    const before = await context.work.get(parts.grants, id);
    const holds = before !== undefined && !isExpired(before, now);
    anyNew ||= !holds;
    demotes ||= before !== undefined && isLastingOwner(before) && !isLastingOwner(wish);
    const grant = isSame(before, wish) ? (before as Grant) : writeGrant(parts, node, before, wish, now, context);
    if (grant !== before) publishPermission(context, holds ? 'changed' : 'granted', node, grant, telling);
    changed.set(id, grant);
    grants.push(grant);
  }
  if (demotes) await requireOwner(parts, node, changed);
  return { node: await withPrincipals(parts, node, grants, now, context), grants, anyNew };
}

function isSame(before: Grant | undefined, wish: Wish): boolean {
  return (
    before !== undefined &&
    before.role === wish.role &&
    before.expiresAt === wish.expiresAt &&
    before.link?.audience === wish.link?.audience
  );
}

function writeGrant(
  parts: Parts,
  node: Node,
  before: Grant | undefined,
  wish: Wish,
  now: string,
  { work, actor }: Writing,
): Grant {
  const { tenant, workspaceId, id: resourceId } = node;
  const fresh = before === undefined || isExpired(before, now);
  const record = {
    id: grantId(resourceId, wish.principal),
    tenant,
    workspaceId,
    resourceId,
    ...wish,
    grantedBy: actor,
    createdAt: fresh ? now : before.createdAt,
  };
  return before === undefined ? work.insert(parts.grants, record) : work.replace(parts.grants, before, record);
}

/** The node with those who are granted it; what has expired makes room where there is none. */
async function withPrincipals(
  parts: Parts,
  node: Node,
  granted: readonly Grant[],
  now: string,
  { work }: Writing,
): Promise<Node> {
  const principals = new Set([...node.principals, ...granted.map(({ principal }) => principal)]);
  if (principals.size > GRANTS_PER_NODE) {
    const kept = new Set(granted.map(({ id }) => id));
    for (const grant of await grantsOn(parts, node)) {
      if (!isExpired(grant, now) || kept.has(grant.id)) continue;
      work.remove(parts.grants, grant);
      principals.delete(grant.principal);
    }
    if (principals.size > GRANTS_PER_NODE) throw LimitReached({ limit: GRANTS_PER_NODE, what: 'grants of a resource' });
  }
  return replacePrincipals(parts, node, principals, work);
}

/** Writes the node where its principals differ; else whoever moves or purges it meanwhile meets us at a grant. */
function replacePrincipals(parts: Parts, node: Node, principals: ReadonlySet<string>, work: CallContext['work']): Node {
  const same = principals.size === node.principals.length && node.principals.every((one) => principals.has(one));
  if (!same) return work.replace(parts.tree.nodes, node, { ...node, principals: [...principals] });
  return node;
}

/** Takes a grant back. Throws `last_owner`. */
export async function removeGrant(parts: Parts, node: Node, grant: Grant, context: Writing): Promise<Node> {
  if (isLastingOwner(grant)) await requireOwner(parts, node, new Map([[grant.id, undefined]]));
  return dropGrants(parts, node, [grant], context);
}

/** Takes grants back, whoever is left. */
export function dropGrants(parts: Parts, node: Node, grants: readonly Grant[], context: Writing): Node {
  const gone = new Set(grants.map(({ principal }) => principal));
  for (const grant of grants) {
    context.work.remove(parts.grants, grant);
    publishPermission(context, 'revoked', node, grant, { notify: false });
  }
  const left = new Set(node.principals.filter((principal) => !gone.has(principal)));
  return replacePrincipals(parts, node, left, context.work);
}

/** All grants on a node itself, also those that have expired. */
export function grantsOn(parts: Parts, node: Pick<Node, 'id'>): Promise<Grant[]> {
  return parts.grants.find({ where: { resourceId: node.id }, limit: 2 * GRANTS_PER_NODE });
}

function isLastingOwner({ role, expiresAt }: Pick<Grant, 'role' | 'expiresAt'>): boolean {
  return role === 'owner' && expiresAt === undefined;
}

/**
 * What inherits from the workspace is owned by the workspace's owners; below a restriction there has to be an
 * owner by grant once there was one. `changed` are grants as this call leaves them, undefined for revoked.
 */
async function requireOwner(parts: Parts, node: Node, changed: ReadonlyMap<string, Grant | undefined>) {
  if (node.boundary === node.workspaceId) return;
  const owners = await parts.grants.find({
    where: { resourceId: { in: reachOfGrants(node) }, role: 'owner' },
    limit: GRANTS_PER_NODE,
  });
  const after = new Map<string, Grant | undefined>([...owners.map((one) => [one.id, one] as const), ...changed]);
  if (![...after.values()].some((grant) => grant !== undefined && isLastingOwner(grant))) throw LastOwner();
}

/** Who restricts a node stays its manager, whatever becomes of their workspace role. */
export async function keepManager(parts: Parts, node: Node, context: CallContext): Promise<Node> {
  const principal = `user:${context.caller.userId}`;
  const before = await context.work.get(parts.grants, grantId(node.id, principal));
  const holds = before !== undefined && before.expiresAt === undefined;
  const role = holds && isAtLeast(before.role, 'manager') ? before.role : ('manager' satisfies Role);
  return (await putGrants(parts, node, [{ principal, role }], { notify: false }, context)).node;
}

/** The greater of two roles. */
export function greaterRole(one: Role, other: Role): Role {
  return ROLES[Math.max(ROLES.indexOf(one), ROLES.indexOf(other))] as Role;
}

/** Direct grants travel with a node that moves to another workspace. */
export async function moveGrants(
  parts: Parts,
  work: CallContext['work'],
  before: Pick<Node, 'id' | 'workspaceId' | 'principals'>,
  after: Pick<Node, 'workspaceId' | 'tenant'>,
): Promise<void> {
  if (before.workspaceId === after.workspaceId || before.principals.length === 0) return;
  const { workspaceId, tenant } = after;
  for (const grant of await grantsOn(parts, before)) {
    work.replace(parts.grants, grant, { ...grant, workspaceId, tenant });
  }
}

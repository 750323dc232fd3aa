import type { CallContext } from '@commonplace/kit/rpc';
import { reachOfGrants } from '../domain/access.js';
import { type Grant, type GrantTerm, grantAt, grantId, isExpired, termsOf } from '../domain/grant.js';
import type { Node } from '../domain/node.js';
import { isGroup } from '../domain/principals.js';
import { ROLES, type Role } from '../domain/role.js';
import { LastOwner, LimitReached } from '../errors.js';
import { replaceNode } from '../nodes/replace.js';
import { type NotificationOptions, publishPermission } from './events.js';
import type { SharingParts } from './parts.js';

/** Maximum number of grants on one node. */
export const MAX_GRANTS_PER_NODE = 500;

/** A grant that is to be written. */
export interface RequestedGrant extends Pick<Grant, 'principal' | 'role' | 'expiresAt' | 'later' | 'email' | 'link'> {}

interface GrantResult {
  readonly node: Node;
  /** In the order of the requested grants or tags. */
  readonly grants: readonly Grant[];
  /** Whether any of the grants is new. */
  readonly anyNew: boolean;
}

type WriteContext = Pick<CallContext, 'work' | 'event' | 'actor'>;

/**
 * Creates or changes grants on a node, at most one per principal. Throws `last_owner` if a node that has an
 * owner would be left without one, and `limit_reached` above 500 grants.
 */
export async function putGrants(
  parts: SharingParts,
  node: Node,
  requestedGrants: readonly RequestedGrant[],
  notification: NotificationOptions,
  context: WriteContext,
): Promise<GrantResult> {
  const now = new Date().toISOString();
  const written = new Map<string, Grant>();
  const grants: Grant[] = [];
  let anyNew = false;
  let demotes = false;
  for (const requested of requestedGrants) {
    const id = grantId(node.id, requested.principal);
    const before = await context.work.get(parts.grants, id);
    const holds = before !== undefined && !isExpired(before, now);
    anyNew ||= !holds;
    demotes ||= before !== undefined && isLastingOwner(before) && !isLastingOwner(requested);
    const grant = isSame(before, requested)
      ? (before as Grant)
      : writeGrant(parts, node, before, requested, now, context);
    if (grant !== before) {
      publishPermission(context, holds ? 'changed' : 'granted', node, grant, notification);
      written.set(id, grant);
    }
    grants.push(grant);
  }
  if (demotes) await requireOwner(parts, node, written, context);
  return { node: await withPrincipals(parts, node, grants, now, context), grants, anyNew };
}

function isSame(before: Grant | undefined, requested: RequestedGrant): boolean {
  return (
    before !== undefined &&
    before.role === requested.role &&
    before.expiresAt === requested.expiresAt &&
    JSON.stringify(before.later ?? []) === JSON.stringify(requested.later ?? []) &&
    before.link?.audience === requested.link?.audience
  );
}

function writeGrant(
  parts: SharingParts,
  node: Node,
  before: Grant | undefined,
  requested: RequestedGrant,
  now: string,
  { work, actor }: WriteContext,
): Grant {
  const { tenant, workspaceId, id: resourceId } = node;
  const fresh = before === undefined || isExpired(before, now);
  const record = {
    id: grantId(resourceId, requested.principal),
    tenant,
    workspaceId,
    resourceId,
    ...requested,
    grantedBy: actor,
    createdAt: fresh ? now : before.createdAt,
  };
  return before === undefined ? work.insert(parts.grants, record) : work.replace(parts.grants, before, record);
}

/** Returns the node with the principals of the new grants. If they exceed the limit, deletes expired grants first. */
async function withPrincipals(
  parts: SharingParts,
  node: Node,
  granted: readonly Grant[],
  now: string,
  { work }: WriteContext,
): Promise<Node> {
  const principals = new Set([...node.principals, ...granted.map(({ principal }) => principal)]);
  if (principals.size > MAX_GRANTS_PER_NODE) {
    const kept = new Set(granted.map(({ id }) => id));
    for (const grant of await grantsOn(parts, node)) {
      if (!isExpired(grant, now) || kept.has(grant.id)) continue;
      work.remove(parts.grants, grant);
      principals.delete(grant.principal);
    }
    if (principals.size > MAX_GRANTS_PER_NODE)
      throw LimitReached({ limit: MAX_GRANTS_PER_NODE, what: 'grants of a resource' });
  }
  return replacePrincipals(parts, node, principals, work);
}

/** Writes the node only if its principals change; otherwise a concurrent move or purge conflicts on a grant. */
function replacePrincipals(
  parts: SharingParts,
  node: Node,
  principals: ReadonlySet<string>,
  work: CallContext['work'],
): Node {
  const same = principals.size === node.principals.length && node.principals.every((one) => principals.has(one));
  if (!same) return replaceNode(parts, work, node, { ...node, principals: [...principals] });
  return node;
}

/** Revokes a grant. Throws `last_owner`. */
export async function removeGrant(parts: SharingParts, node: Node, grant: Grant, context: WriteContext): Promise<Node> {
  if (isLastingOwner(grant)) await requireOwner(parts, node, new Map([[grant.id, undefined]]), context);
  return dropGrants(parts, node, [grant], context);
}

/** Revokes grants, even those of the last owner. */
export function dropGrants(parts: SharingParts, node: Node, grants: readonly Grant[], context: WriteContext): Node {
  const gone = new Set(grants.map(({ principal }) => principal));
  for (const grant of grants) {
    context.work.remove(parts.grants, grant);
    publishPermission(context, 'revoked', node, grant, { notify: false });
  }
  const left = new Set(node.principals.filter((principal) => !gone.has(principal)));
  return replacePrincipals(parts, node, left, context.work);
}

/** Returns all grants on a node itself, including expired ones. */
export function grantsOn(parts: SharingParts, node: Pick<Node, 'id'>): Promise<Grant[]> {
  return parts.grants.find({ where: { resourceId: node.id }, limit: 2 * MAX_GRANTS_PER_NODE });
}

/** A group is no lasting owner: it may have no members, and it may be deleted. */
function isLastingOwner({ role, expiresAt, principal }: Pick<Grant, 'role' | 'expiresAt' | 'principal'>): boolean {
  return role === 'owner' && expiresAt === undefined && !isGroup(principal);
}

/**
 * Throws `last_owner` if the change would leave a restricted subtree without an owner by grant. A node that inherits
 * from the workspace is owned by the workspace's owners. `written` holds the grants that this call writes, undefined for
 * revoked ones. The commit fails if the owner who is left is demoted or revoked at the same time.
 */
async function requireOwner(
  parts: SharingParts,
  node: Node,
  written: ReadonlyMap<string, Grant | undefined>,
  { work }: WriteContext,
): Promise<void> {
  if (node.boundary === node.workspaceId) return;
  if ([...written.values()].some((grant) => grant !== undefined && isLastingOwner(grant))) return;
  const owners = await parts.grants.find({
    where: { resourceId: { in: reachOfGrants(node) }, role: 'owner' },
    limit: MAX_GRANTS_PER_NODE,
  });
  const other = owners.find((grant) => isLastingOwner(grant) && !written.has(grant.id));
  if (other === undefined) throw LastOwner();
  work.expect(parts.grants, other);
}

/**
 * Gives the person who restricts a node a manager grant, so that they keep access whatever their workspace role
 * becomes. It ends with the right by which they restrict the node.
 */
export async function keepManager(
  parts: SharingParts,
  node: Node,
  context: CallContext,
  expiresAt?: string,
): Promise<Node> {
  const principal = `user:${context.caller.userId}`;
  const before = await context.work.get(parts.grants, grantId(node.id, principal));
  const terms = combineTerms(before, { role: 'manager', expiresAt }, new Date().toISOString());
  return (await putGrants(parts, node, [{ principal, ...terms }], { notify: false }, context)).node;
}

/**
 * Returns terms that give at every moment the greater of the role held and the role added: what a person holds neither
 * ends earlier nor lasts longer because of the addition.
 */
export function combineTerms(
  held: Grant | undefined,
  given: GrantTerm,
  now: string,
): Pick<RequestedGrant, keyof GrantTerm | 'later'> {
  const current = held === undefined ? undefined : grantAt(held, now);
  return mergeTerms([given, ...(current === undefined ? [] : termsOf(current))]);
}

/** Returns terms that give at every moment the greatest of some roles, of which there is at least one. */
export function mergeTerms(terms: readonly GrantTerm[]): Pick<RequestedGrant, keyof GrantTerm | 'later'> {
  const all = [...terms].sort((a, b) => ROLES.indexOf(b.role) - ROLES.indexOf(a.role) || endsAfter(b, a));
  const kept: GrantTerm[] = [];
  for (const term of all) {
    const before = kept.at(-1);
    if (before === undefined || endsAfter(term, before) > 0) kept.push(term);
  }
  const [first, ...later] = kept as [GrantTerm, ...GrantTerm[]];
  return { ...first, ...(later.length === 0 ? {} : { later }) };
}

/** Returns a positive number if the first term ends after the second. */
function endsAfter({ expiresAt: one }: GrantTerm, { expiresAt: other }: GrantTerm): number {
  if (one === other) return 0;
  return one === undefined || (other !== undefined && one > other) ? 1 : -1;
}

/** Returns the greater of two roles. */
export function greaterRole(one: Role, other: Role): Role {
  return ROLES[Math.max(ROLES.indexOf(one), ROLES.indexOf(other))] as Role;
}

/** Updates the direct grants of a node that moves to another workspace. */
export async function moveGrants(
  parts: SharingParts,
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

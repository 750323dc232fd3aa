import type { CallContext } from '@commonplace/kit/rpc';
import { invalidCursor, isWithinTimes, parsePageRequest, toPage } from '@commonplace/kit/store';
import type { PageRequest } from '@commonplace/proto/api/v1/page.js';
import type { Permission } from '@commonplace/proto/resources/v1/permission.js';
import type { GetPermissionsRequest, PermissionView } from '@commonplace/proto/resources/v1/permission_service.js';
import { AccessMode } from '@commonplace/proto/resources/v1/resource.js';
import { reachOfGrants } from '../domain/access.js';
import { type Grant, grantAt } from '../domain/grant.js';
import type { Node } from '../domain/node.js';
import { may } from '../domain/role.js';
import type { AccessSubject, Seen } from '../policy.js';
import { accessMessage } from '../wire.js';
import { MAX_GRANTS_PER_NODE } from './grants.js';
import { withoutDeletedGroups } from './groups.js';
import { memberLines } from './member-lines.js';
import type { SharingParts } from './parts.js';
import { linkMessage, namesOf, permissionMessage, type Source } from './permission.js';

/** Returns a page of the permissions on a resource, with the source of inherited ones. */
export async function viewPermissions(
  parts: SharingParts,
  seen: Seen,
  request: GetPermissionsRequest,
  subject: AccessSubject,
  context: CallContext,
): Promise<PermissionView> {
  const { node, access } = seen;
  const inherits = request.includeInherited !== false;
  // From the node itself up to its boundary.
  const from = inherits ? reachOfGrants(node).reverse() : [node.id];
  const all = await withoutDeletedGroups(parts, await grantsOnAll(parts, from, subject.now), context);
  const full = may(access.role, 'write');
  const seenGrants = full ? all : all.filter(({ role, principal }) => role === 'owner' || isOwn(principal, subject));
  const shown = seenGrants.filter((grant) => isWithinTimes(grant, request));
  const slice = placeOf(request.page);
  const grants = shown.slice(slice.offset, slice.offset + slice.limit);
  const rest = { limit: slice.limit - grants.length, offset: Math.max(0, slice.offset - shown.length) };
  const members =
    inherits && !isLimitedByTime(request)
      ? await memberLines(parts, seen, rest, subject, context)
      : { lines: [], total: 0 };
  const own = all.find(({ link, resourceId }) => link !== undefined && resourceId === node.id);
  return {
    resourceId: node.id,
    accessMode: node.restricted ? AccessMode.RESTRICTED : AccessMode.INHERIT,
    access: accessMessage(seen),
    items: [...(await linesOf(parts, node, grants, subject, context)), ...members.lines],
    link: full && own !== undefined ? linkMessage(parts, own) : undefined,
    pendingRequestCount: await countPending(parts, seen, subject),
    page: pageOf(slice, shown.length + members.total),
  };
}

/** Returns whether a request asks for permissions of some time only, which memberships of the workspace do not have. */
function isLimitedByTime({ createdAfter, createdBefore }: GetPermissionsRequest): boolean {
  return createdAfter !== undefined || createdBefore !== undefined;
}

function isOwn(principal: string, { principals }: AccessSubject): boolean {
  return principals.includes(principal);
}

/** Returns the valid grants on some nodes, in the order of the nodes and then of creation. */
async function grantsOnAll(parts: SharingParts, ids: readonly string[], now: string): Promise<Grant[]> {
  const limit = ids.length * 2 * MAX_GRANTS_PER_NODE;
  const found = await parts.grants.find({ where: { resourceId: { in: ids } }, limit });
  const places = new Map(ids.map((id, place) => [id, place]));
  const placeOf = ({ resourceId }: Grant) => places.get(resourceId) ?? 0;
  return found
    .flatMap((grant) => grantAt(grant, now) ?? [])
    .sort((a, b) => placeOf(a) - placeOf(b) || compare(a.createdAt, b.createdAt) || compare(a.id, b.id));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

async function linesOf(
  parts: SharingParts,
  node: Node,
  grants: readonly Grant[],
  subject: AccessSubject,
  context: CallContext,
): Promise<Permission[]> {
  const names = await namesOf(parts, grants, subject, context);
  const above = [...new Set(grants.map(({ resourceId }) => resourceId))].filter((id) => id !== node.id);
  const ancestors = await parts.tree.getMany(above);
  const access = await parts.policy.accessToAll(ancestors, subject);
  const sources = new Map(
    ancestors.map(({ id, name }, i): [string, Source] => [id, access[i] === undefined ? { id } : { id, name }]),
  );
  return grants.map((grant) => {
    const source =
      grant.resourceId === node.id ? undefined : (sources.get(grant.resourceId) ?? { id: grant.resourceId });
    return permissionMessage(node, grant, names, source);
  });
}

function countPending(parts: SharingParts, { node, access }: Seen, subject: AccessSubject): Promise<number> {
  return parts.accessRequests.count({
    resourceId: node.id,
    status: 'pending',
    expiresAt: { gt: subject.now },
    ...(may(access.role, 'manage') ? {} : { requesterId: subject.caller.userId }),
  });
}

export interface Slice {
  readonly limit: number;
  readonly offset: number;
}

/**
 * Returns the slice that a request asks for. The list is built anew for each request, so a cursor contains the next
 * offset.
 */
function placeOf(request: PageRequest | undefined): Slice & { readonly byCursor: boolean } {
  const { limit, offset, after } = parsePageRequest(request);
  if (after === undefined) return { limit, offset, byCursor: false };
  const [at] = after;
  if (typeof at !== 'number' || !Number.isSafeInteger(at) || at < 0) throw invalidCursor();
  return { limit, offset: at, byCursor: true };
}

function pageOf({ limit, offset, byCursor }: Slice & { byCursor: boolean }, total: number) {
  const next = offset + limit;
  const slice = byCursor ? { limit, offset: 0, after: [offset] } : { limit, offset };
  return toPage(slice, total, next < total ? [next] : undefined);
}

import type { CallContext } from '@commonplace/kit/rpc';
import { invalidCursor, isWithinTimes, parsePageRequest, type Scalar, toPage } from '@commonplace/kit/store';
import { compareCodeUnits } from '@commonplace/kit/words';
import type { Page, PageRequest } from '@commonplace/proto/api/v1/page.js';
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
import { type MemberPlace, memberLines, NO_MEMBERS } from './member-lines.js';
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
  const { limit, offset, behind, members: place } = slice;
  const keyOf = keysAmong(from);
  const isLeft = (grant: Grant) => behind === undefined || compareKeys(keyOf(grant), behind) > 0;
  const left = place === undefined ? shown.slice(offset).filter(isLeft) : [];
  const grants = left.slice(0, limit);
  const { createdAfter, createdBefore } = request;
  const rest = { limit: limit - grants.length, offset: Math.max(0, offset - shown.length), from: place };
  const members = inherits
    ? await memberLines(parts, seen, { ...rest, createdAfter, createdBefore }, subject, context)
    : NO_MEMBERS;
  const last = left.length > limit ? grants.at(-1) : undefined;
  const own = all.find(({ link, resourceId }) => link !== undefined && resourceId === node.id);
  return {
    resourceId: node.id,
    accessMode: node.restricted ? AccessMode.RESTRICTED : AccessMode.INHERIT,
    access: accessMessage(seen),
    items: [...(await linesOf(parts, node, grants, subject, context)), ...members.lines],
    link: full && own !== undefined ? linkMessage(parts, own) : undefined,
    pendingRequestCount: await countPending(parts, seen, subject),
    page: pageOf(slice, shown.length + members.total, last && keyOf(last), members.next),
  };
}

function isOwn(principal: string, { principals }: AccessSubject): boolean {
  return principals.includes(principal);
}

/** Returns the valid grants on some nodes, in the order of the nodes and then of creation. */
async function grantsOnAll(parts: SharingParts, ids: readonly string[], now: string): Promise<Grant[]> {
  const limit = ids.length * 2 * MAX_GRANTS_PER_NODE;
  const found = await parts.grants.find({ where: { resourceId: { in: ids } }, limit });
  const keyOf = keysAmong(ids);
  return found.flatMap((grant) => grantAt(grant, now) ?? []).sort((a, b) => compareKeys(keyOf(a), keyOf(b)));
}

/** The position of a grant in the list: the place of its node, when it was created, and its id. */
type GrantKey = readonly [place: number, createdAt: string, id: string];

function keysAmong(ids: readonly string[]): (grant: Grant) => GrantKey {
  const places = new Map(ids.map((id, place) => [id, place]));
  return ({ resourceId, createdAt, id }) => [places.get(resourceId) ?? 0, createdAt, id];
}

function compareKeys([place, createdAt, id]: GrantKey, other: GrantKey): number {
  return place - other[0] || compareCodeUnits(createdAt, other[1]) || compareCodeUnits(id, other[2]);
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

/** The part of the list that a request asks for: from an offset, behind a grant, or from a place among the members. */
interface Start {
  readonly limit: number;
  readonly offset: number;
  readonly behind?: GrantKey;
  readonly members?: MemberPlace;
  readonly after?: readonly Scalar[];
}

const [GRANT, MEMBER] = ['grant', 'member'];

/** Returns where a page begins. A cursor of an earlier version contains the number of permissions before the page. */
function placeOf(request: PageRequest | undefined): Start {
  const { limit, offset, after } = parsePageRequest(request);
  if (after === undefined) return { limit, offset };
  const [part, at, text, id] = after;
  const isPlace = typeof at === 'number' && Number.isSafeInteger(at) && at >= 0 && typeof text === 'string';
  if (part === GRANT && isPlace && typeof id === 'string') {
    return { limit, offset: 0, after, behind: [at, text, id] };
  }
  if (part === MEMBER && isPlace) return { limit, offset: 0, after, members: { rung: at, cursor: text } };
  if (typeof part !== 'number' || !Number.isSafeInteger(part) || part < 0) throw invalidCursor();
  return { limit, offset: part, after };
}

/** Builds the page information: the next page begins behind the last grant, if there are more, or at a member. */
function pageOf(
  { limit, offset, after }: Start,
  total: number,
  last: GrantKey | undefined,
  member: MemberPlace | undefined,
): Page {
  const next = last === undefined ? member && [MEMBER, member.rung, member.cursor] : [GRANT, ...last];
  return toPage({ limit, offset: after === undefined ? offset : 0, ...(after && { after }) }, total, next);
}

import type { CallContext } from '@commonplace/kit/rpc';
import type { TimeFilters } from '@commonplace/kit/store';
import type { Permission } from '@commonplace/proto/resources/v1/permission.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { PrincipalType } from '@commonplace/proto/tenancy/v1/workspace.js';
import { administers, roleAtRoot } from '../domain/access.js';
import type { Node } from '../domain/node.js';
import { may, type Role } from '../domain/role.js';
import type { AccessSubject, Seen } from '../policy.js';
import type { SharingParts } from './parts.js';
import { memberPermission, memberPermissionId } from './permission.js';

const RUNGS = [
  WorkspaceRole.OWNER,
  WorkspaceRole.ADMIN,
  WorkspaceRole.EDITOR,
  WorkspaceRole.COMMENTER,
  WorkspaceRole.VIEWER,
] as const;

/** Returns the role that a workspace role gives on a node: below a restriction, administrators remain managers. */
export function roleBelow(node: Pick<Node, 'boundary' | 'workspaceId'>, role: WorkspaceRole): Role | undefined {
  if (node.boundary === node.workspaceId) return roleAtRoot(role);
  return administers(role) ? 'manager' : undefined;
}

/** Where a page of members begins: at a rung, behind a cursor of its people. */
export interface MemberPlace {
  readonly rung: number;
  readonly cursor: string;
}

/** The members that a page has room for. */
interface MemberSlice extends TimeFilters {
  readonly limit: number;
  /** Number of members to skip; ignored if `from` is present. */
  readonly offset: number;
  readonly from?: MemberPlace | undefined;
}

interface MemberLines {
  readonly lines: readonly Permission[];
  readonly total: number;
  /** Where the next page begins; absent if there are no more members. */
  readonly next?: MemberPlace | undefined;
}

export const NO_MEMBERS: MemberLines = { lines: [], total: 0 };

/**
 * Returns a page of the workspace's members with their roles on a node, the greatest first. A caller who may not write
 * gets only the owners and themselves.
 */
export async function memberLines(
  parts: SharingParts,
  { node, access }: Seen,
  { limit, offset, from, createdAfter, createdBefore }: MemberSlice,
  subject: AccessSubject,
  context: CallContext,
): Promise<MemberLines> {
  const mine = subject.person.workspaces.get(node.workspaceId);
  const name = mine?.name ?? (await subject.terms(node.workspaceId)).workspaceName;
  const full = may(access.role, 'write');
  const rungs = RUNGS.filter((rung) => {
    const role = roleBelow(node, rung);
    return role !== undefined && (full || role === 'owner');
  });
  const lines: Permission[] = [];
  const times = { addedAfter: createdAfter, addedBefore: createdBefore };
  let skip = from === undefined ? offset : 0;
  let total = 0;
  let next: MemberPlace | undefined;
  for (const [i, rung] of rungs.entries()) {
    // Rungs before the page, and those behind a full page, are only counted.
    const room = i < (from?.rung ?? 0) ? 0 : limit - lines.length;
    const wanted = { limit: Math.max(1, room), offset: skip, cursor: (i === from?.rung && from.cursor) || '' };
    const request = { workspaceId: node.workspaceId, role: rung, page: wanted, ...times };
    const { items, page } = await parts.peers.directory.listPeople(request, context.onward);
    const count = page?.total ?? 0;
    const role = roleBelow(node, rung) as Role;
    for (const member of items.slice(0, room)) lines.push(memberPermission(node, member, role, name));
    skip = Math.max(0, skip - count);
    total += count;
    if (next !== undefined || lines.length < limit || i < (from?.rung ?? 0)) continue;
    if (room === 0 && count > 0) next = { rung: i, cursor: '' };
    else if (room > 0 && page?.hasMore) next = { rung: i, cursor: page.nextCursor ?? '' };
  }
  const own = mine === undefined || full ? undefined : roleBelow(node, mine.role);
  // The caller's own line has no time.
  const isTimed = createdAfter !== undefined || createdBefore !== undefined;
  if (own === undefined || own === 'owner' || isTimed) return { lines, total, next };
  const { userId: id, userName, userEmail: email } = subject.caller;
  const member = {
    principal: { type: PrincipalType.USER, id, name: userName, email, avatarUrl: undefined },
    version: 0,
  };
  if (skip === 0 && lines.length < limit) {
    lines.push(memberPermission(node, { ...member, addedAt: undefined }, own, name));
  } else if (skip === 0) {
    next ??= { rung: rungs.length, cursor: '' };
  }
  return { lines, total: total + 1, next };
}

/** Returns whether an id is that of a member's permission on a node. */
export async function isMemberLine(
  parts: SharingParts,
  node: Node,
  id: string,
  context: CallContext,
): Promise<boolean> {
  for (const role of RUNGS.filter((rung) => roleBelow(node, rung) !== undefined)) {
    for (let offset = 0; ; offset += PEOPLE_AT_ONCE) {
      const page = { limit: PEOPLE_AT_ONCE, offset, cursor: '' };
      const { items } = await parts.peers.directory.listPeople(
        { workspaceId: node.workspaceId, role, page },
        context.onward,
      );
      const isThis = ({ principal }: (typeof items)[number]) =>
        memberPermissionId(node.workspaceId, principal?.id ?? principal?.email ?? '') === id;
      if (items.some(isThis)) return true;
      if (items.length < PEOPLE_AT_ONCE) break;
    }
  }
  return false;
}

const PEOPLE_AT_ONCE = 500;

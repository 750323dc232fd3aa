import type { CallContext } from '@commonplace/kit/rpc';
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

/**
 * Returns a page of the workspace's members with their roles on a node, the greatest first. A caller who may not write
 * gets only the owners and themselves.
 */
export async function memberLines(
  parts: SharingParts,
  { node, access }: Seen,
  { limit, offset }: { readonly limit: number; readonly offset: number },
  subject: AccessSubject,
  context: CallContext,
): Promise<{ lines: Permission[]; total: number }> {
  const mine = subject.person.workspaces.get(node.workspaceId);
  const name = mine?.name ?? (await subject.terms(node.workspaceId)).workspaceName;
  const full = may(access.role, 'write');
  const rungs = RUNGS.filter((rung) => {
    const role = roleBelow(node, rung);
    return role !== undefined && (full || role === 'owner');
  });
  const lines: Permission[] = [];
  let skip = offset;
  let total = 0;
  for (const rung of rungs) {
    const wanted = { limit: Math.max(1, limit - lines.length), offset: skip, cursor: '' };
    const request = { workspaceId: node.workspaceId, role: rung, page: wanted };
    const { items, page } = await parts.peers.directory.listPeople(request, context.onward);
    const count = page?.total ?? 0;
    const role = roleBelow(node, rung) as Role;
    for (const member of items.slice(0, limit - lines.length)) lines.push(memberPermission(node, member, role, name));
    skip = Math.max(0, skip - count);
    total += count;
  }
  const own = mine === undefined || full ? undefined : roleBelow(node, mine.role);
  if (own === undefined || own === 'owner') return { lines, total };
  const { userId: id, userName, userEmail: email } = subject.caller;
  const member = {
    principal: { type: PrincipalType.USER, id, name: userName, email, avatarUrl: undefined },
    version: 0,
  };
  if (skip === 0 && lines.length < limit) {
    lines.push(memberPermission(node, { ...member, addedAt: undefined }, own, name));
  }
  return { lines, total: total + 1 };
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

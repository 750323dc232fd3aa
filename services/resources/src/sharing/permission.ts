import { derivedId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import { actorMessage } from '@commonplace/platform/actors';
import {
  type Grantee,
  GranteeType,
  type Permission,
  type ShareLink,
} from '@commonplace/proto/resources/v1/permission.js';
import type { WorkspaceMember } from '@commonplace/proto/tenancy/v1/workspace.js';
import type { Grant } from '../domain/grant.js';
import type { Node } from '../domain/node.js';
import { AUDIENCES, granteeType, splitPrincipal } from '../domain/principals.js';
import type { Role } from '../domain/role.js';
import type { AccessSubject } from '../policy.js';
import { roleMessage } from '../wire.js';
import { groupNames } from './groups.js';
import type { SharingParts } from './parts.js';

/** Names of principals, by principal (`user:<id>` and the like). */
type Names = ReadonlyMap<string, { readonly name: string; readonly email?: string }>;

/** Returns the names of the principals that grants name; unknown ones are missing. */
export async function namesOf(
  { peers }: SharingParts,
  grants: readonly Pick<Grant, 'principal' | 'tenant'>[],
  subject: AccessSubject,
  context: CallContext,
): Promise<Names> {
  const names = new Map<string, { name: string; email?: string }>();
  const principals = grants.map(({ principal }) => splitPrincipal(principal));
  const idsOf = (wanted: string) => [...new Set(principals.filter(({ kind }) => kind === wanted).map(({ id }) => id))];
  const ids = idsOf('user');
  for (let from = 0; from < ids.length; from += PEOPLE_AT_ONCE) {
    const some = ids.slice(from, from + PEOPLE_AT_ONCE);
    const { users } = await peers.users.findUsers({ ids: some, emails: [] }, context.onward);
    for (const { id, name, email } of users) names.set(`user:${id}`, { name, email });
  }
  const agentIds = idsOf('agent');
  if (agentIds.length > 0) {
    // A permission is shown without the name of an agent that the caller may not use.
    const found = await peers.agents.lookUpAgents({ agentIds }, context.onward).catch(() => undefined);
    for (const { id, name } of found?.items ?? []) names.set(`agent:${id}`, { name });
  }
  for (const id of idsOf('org')) {
    const org = subject.person.orgs.get(id);
    if (org !== undefined) names.set(`org:${id}`, { name: org.name });
  }
  for (const [id, name] of (await groupNames({ peers }, grants, context)) ?? []) names.set(`group:${id}`, { name });
  for (const id of idsOf('workspace')) {
    const name = subject.person.workspaces.get(id)?.name ?? (await subject.terms(id)).workspaceName;
    names.set(`workspace:${id}`, { name });
  }
  return names;
}

const PEOPLE_AT_ONCE = 500;

/** The node from which an inherited permission comes. */
export interface Source {
  readonly id: string;
  /** Absent if the caller cannot see the node. */
  readonly name?: string | undefined;
}

/** Returns the message of a grant that applies to a node; `source` is set if the grant is on another node. */
export function permissionMessage(node: Pick<Node, 'id'>, grant: Grant, names: Names, source?: Source): Permission {
  return {
    id: grant.id,
    resourceId: node.id,
    principal: granteeMessage(grant, names),
    role: roleMessage(grant.role),
    isInherited: source !== undefined,
    sourceResourceId: source?.id,
    sourceName: source?.name,
    grantedBy: actorMessage(grant.grantedBy),
    expiresAt: grant.expiresAt,
    createdAt: grant.createdAt,
    version: grant.version,
  };
}

function granteeMessage({ principal, email }: Grant, names: Names): Grantee {
  const { kind, id } = splitPrincipal(principal);
  const known = names.get(principal);
  const hidden = kind === 'link' || kind === 'invitee';
  return { type: granteeType(kind), id: hidden ? undefined : id, name: known?.name, email: known?.email ?? email };
}

/** Returns the message of the role that a workspace membership gives on a node. */
export function memberPermission(
  node: Pick<Node, 'id' | 'workspaceId'>,
  { principal, addedAt, version }: Pick<WorkspaceMember, 'principal' | 'addedAt' | 'version'>,
  role: Role,
  workspaceName: string,
): Permission {
  const { id, name, email } = principal ?? {};
  return {
    id: memberPermissionId(node.workspaceId, id ?? email ?? ''),
    resourceId: node.id,
    principal: { type: GranteeType.USER, id, name, email },
    role: roleMessage(role),
    isInherited: true,
    sourceResourceId: undefined,
    sourceName: workspaceName,
    grantedBy: undefined,
    expiresAt: undefined,
    createdAt: addedAt,
    version,
  };
}

/** Derives the id of a member's permission from their id, or from their address while the invitation is open. */
export function memberPermissionId(workspaceId: string, member: string): string {
  return derivedId(`member-permission:${workspaceId}:${member}`);
}

/** Returns the message of a share link, for callers who may write. */
export function linkMessage(
  { settings }: SharingParts,
  { resourceId, link, role, expiresAt }: Grant,
): ShareLink | undefined {
  if (link === undefined) return undefined;
  const { token, audience } = link;
  const url = new URL(`/api/v1/resources/${resourceId}?share_link=${token}`, settings.publicUrl).href;
  return { token, url, role: roleMessage(role), audience: AUDIENCES[audience], expiresAt };
}

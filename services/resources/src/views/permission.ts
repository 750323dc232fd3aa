import { derivedId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import {
  type Grantee,
  GranteeType,
  type Permission,
  type ShareLink,
} from '@commonplace/proto/resources/v1/permission.js';
import type { WorkspaceMember } from '@commonplace/proto/tenancy/v1/workspace.js';
import type { Role } from '../domain/access.js';
import { AUDIENCES, granteeType, splitPrincipal } from '../domain/principals.js';
import { actorMessage, roleMessage } from '../handlers/present.js';
import type { Parts } from '../parts.js';
import type { Standing } from '../policy.js';
import type { Grant } from '../stores/grants.js';
import type { Node } from '../stores/nodes.js';

/** Names of principals, by `user:<id>` and the like. */
export type Names = ReadonlyMap<string, { readonly name: string; readonly email?: string }>;

/** The names of whom grants name; what nobody knows any more has none. */
export async function namesOf(
  { peers }: Parts,
  grants: readonly Pick<Grant, 'principal'>[],
  standing: Standing,
  context: CallContext,
): Promise<Names> {
  const names = new Map<string, { name: string; email?: string }>();
  const parted = grants.map(({ principal }) => splitPrincipal(principal));
  const idsOf = (wanted: string) => [...new Set(parted.filter(({ kind }) => kind === wanted).map(({ id }) => id))];
  const ids = idsOf('user');
  for (let from = 0; from < ids.length; from += PEOPLE_AT_ONCE) {
    const some = ids.slice(from, from + PEOPLE_AT_ONCE);
    const { users } = await peers.users.findUsers({ ids: some, emails: [] }, context.onward);
    for (const { id, name, email } of users) names.set(`user:${id}`, { name, email });
  }
  for (const id of idsOf('org')) {
    const org = standing.person.orgs.get(id);
    if (org !== undefined) names.set(`org:${id}`, { name: org.name });
  }
  for (const id of idsOf('workspace')) {
    const name = standing.person.workspaces.get(id)?.name ?? (await standing.terms(id)).workspaceName;
    names.set(`workspace:${id}`, { name });
  }
  return names;
}

const PEOPLE_AT_ONCE = 500;

/** Where an inherited permission comes from. */
export interface Source {
  readonly id: string;
  /** Absent where the caller does not see it. */
  readonly name?: string | undefined;
}

/** A grant as it holds for a node; with a source where that is not the node it was made on. */
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

/** The role that a node takes from somebody's place in the workspace. */
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

/** Names the line of a member: by their id, or the address while it is invited. */
export function memberPermissionId(workspaceId: string, member: string): string {
  return derivedId(`member-permission:${workspaceId}:${member}`);
}

/** A link as those see it who may write. */
export function linkMessage({ settings }: Parts, { resourceId, link, role, expiresAt }: Grant): ShareLink | undefined {
  if (link === undefined) return undefined;
  const { token, audience } = link;
  const url = new URL(`/api/v1/resources/${resourceId}?share_link=${token}`, settings.publicUrl).href;
  return { token, url, role: roleMessage(role), audience: AUDIENCES[audience], expiresAt };
}

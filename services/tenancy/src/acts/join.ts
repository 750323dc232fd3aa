import { type Actor, actorOf, type Caller } from '@commonplace/kit/auth';
import { newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import type { Person } from '../domain/person.js';
import type { WorkspaceRole } from '../domain/roles.js';
import { searchText } from '../domain/text.js';
import { publishWorkspaceMember } from '../events.js';
import type { Parts } from '../parts.js';
import { type OrgMember, personKeyOf } from '../stores/org-members.js';
import type { Org } from '../stores/orgs.js';
import type { WorkspaceMember } from '../stores/workspace-members.js';
import type { Workspace } from '../stores/workspaces.js';
import { revokeWorkspaceOffers } from './invitations.js';

export function personOf({ userId, userName, userEmail }: Caller): Person {
  return { userId, name: userName, email: userEmail };
}

/** Returns the membership of an Org's first owner. */
export function ownerOf(org: Pick<Org, 'id'>, caller: Caller, now: string): Omit<OrgMember, 'version'> {
  const { userId, name, email } = personOf(caller);
  return {
    id: newId(),
    tenant: org.id,
    orgId: org.id,
    userId,
    personKey: personKeyOf(org.id, userId),
    name,
    email,
    search: searchText(name, email),
    role: 'owner',
    status: 'active',
    joinedAt: now,
    updatedBy: actorOf(caller),
    updatedAt: now,
  };
}

/** A person about to become a member of a workspace. */
interface NewMember {
  readonly workspace: Pick<Workspace, 'id' | 'tenant' | 'orgId'>;
  readonly person: Person;
  readonly role: WorkspaceRole;
  /** Whether the person is a guest of the Org. */
  readonly guest: boolean;
  readonly addedBy: string;
  readonly adder: Actor;
  /** Set if the person has not disclosed their address here. */
  readonly hidesEmail?: boolean;
  /** Id of the new membership, if it has to be a certain one. */
  readonly id?: string;
}

/** Returns the new membership record. */
export function placeOf(
  { workspace, person, role, guest, addedBy, adder, hidesEmail, id }: NewMember,
  now: string,
): Omit<WorkspaceMember, 'version'> {
  const { userId, name, email } = person;
  return {
    id: id ?? newId(),
    tenant: workspace.tenant,
    workspaceId: workspace.id,
    orgId: workspace.orgId,
    userId,
    personKey: personKeyOf(workspace.id, userId),
    name,
    email,
    search: searchText(name, hidesEmail ? '' : email),
    ...(hidesEmail && { hidesEmail }),
    role,
    status: 'active',
    guest,
    addedBy,
    adder,
    addedAt: now,
    updatedBy: adder,
    updatedAt: now,
  };
}

/** Makes a person a member at once, and deletes an open invitation to their address. */
export async function joinWorkspace(parts: Parts, context: CallContext, joining: NewMember): Promise<WorkspaceMember> {
  const { records, ofAddress } = parts.workspaceMembers;
  const invited = await ofAddress(joining.workspace.id, joining.person.email);
  if (invited !== undefined) {
    await revokeWorkspaceOffers(parts, context, invited.id);
    context.work.remove(records, invited);
  }
  const member = context.work.insert(records, placeOf(joining, parts.now()));
  publishWorkspaceMember(context, 'added', member);
  return member;
}

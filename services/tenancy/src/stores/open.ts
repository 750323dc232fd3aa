import type { Collection, Store } from '@commonplace/kit/store';
import {
  authorizationCollection,
  type Connectors,
  connectionCollection,
  connectorCollection,
  createConnectors,
} from './connectors.js';
import { createGroups, type Groups, groupCollection, groupMemberCollection } from './groups.js';
import { type Guard, guardCollection } from './guards.js';
import { createInvitations, type Invitations, invitationCollection } from './invitations.js';
import { createOrgMembers, type OrgMembers, orgMemberCollection } from './org-members.js';
import { createOrgs, type Orgs, orgCollection } from './orgs.js';
import { createPinLists, type PinLists, pinListCollection } from './pins.js';
import { createWorkspaceMembers, type WorkspaceMembers, workspaceMemberCollection } from './workspace-members.js';
import { createWorkspaces, type Workspaces, workspaceCollection } from './workspaces.js';

/** The record collections of this service. */
export interface Stores {
  readonly orgs: Orgs;
  readonly orgMembers: OrgMembers;
  readonly workspaces: Workspaces;
  readonly workspaceMembers: WorkspaceMembers;
  readonly groups: Groups;
  readonly invitations: Invitations;
  readonly guards: Collection<Guard>;
  readonly pinLists: PinLists;
  readonly connectors: Connectors;
}

export async function openStores(store: Store): Promise<Stores> {
  return {
    orgs: createOrgs(await store.collection(orgCollection)),
    orgMembers: createOrgMembers(await store.collection(orgMemberCollection)),
    workspaces: createWorkspaces(await store.collection(workspaceCollection)),
    workspaceMembers: createWorkspaceMembers(await store.collection(workspaceMemberCollection)),
    groups: createGroups(await store.collection(groupCollection), await store.collection(groupMemberCollection)),
    invitations: createInvitations(await store.collection(invitationCollection)),
    guards: await store.collection(guardCollection),
    pinLists: createPinLists(await store.collection(pinListCollection)),
    connectors: createConnectors(
      await store.collection(connectorCollection),
      await store.collection(connectionCollection),
      await store.collection(authorizationCollection),
    ),
  };
}

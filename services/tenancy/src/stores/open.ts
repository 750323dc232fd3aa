import type { Store } from '@commonplace/kit/store';
import { authorizationCollection, connectionCollection, connectorCollection, createConnectors } from './connectors.js';
import { createGroups, groupCollection, groupMemberCollection } from './groups.js';
import { guardCollection } from './guards.js';
import { createInvitations, invitationCollection } from './invitations.js';
import { createOrgMembers, orgMemberCollection } from './org-members.js';
import { createOrgs, orgCollection } from './orgs.js';
import { createPinLists, pinListCollection } from './pins.js';
import { createWorkspaceMembers, workspaceMemberCollection } from './workspace-members.js';
import { createWorkspaces, workspaceCollection } from './workspaces.js';

/** The record collections of this service. */
export type Stores = Readonly<Awaited<ReturnType<typeof openStores>>>;

export async function openStores(store: Store) {
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

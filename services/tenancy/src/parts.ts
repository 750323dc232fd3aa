import { openGuard, type Guard as UrlGuard } from '@commonplace/kit/fetch';
import type { Log } from '@commonplace/kit/log';
import type { Client } from '@commonplace/kit/rpc';
import { createEnvelope, type Envelope } from '@commonplace/kit/secrets';
import type { Collection, Store } from '@commonplace/kit/store';
import type { ArchiveService } from '@commonplace/proto/files/v1/archive_service.js';
import type { AuthService } from '@commonplace/proto/identity/v1/auth_service.js';
import type { IndexService } from '@commonplace/proto/resources/v1/index_service.js';
import type { PermissionService } from '@commonplace/proto/resources/v1/permission_service.js';
import type { TemplateUseService } from '@commonplace/proto/resources/v1/template_service.js';
import type { Settings } from './config.js';
import { createPolicy, type Policy } from './policy.js';
import {
  authorizationCollection,
  type Connectors,
  connectionCollection,
  connectorCollection,
  createConnectors,
} from './stores/connectors.js';
import { type Guard, guardCollection } from './stores/guards.js';
import { createInvitations, type Invitations, invitationCollection } from './stores/invitations.js';
import { createOrgMembers, type OrgMembers, orgMemberCollection } from './stores/org-members.js';
import { createOrgs, type Orgs, orgCollection } from './stores/orgs.js';
import { createPinLists, type PinLists, pinListCollection } from './stores/pins.js';
import {
  createWorkspaceMembers,
  type WorkspaceMembers,
  workspaceMemberCollection,
} from './stores/workspace-members.js';
import { createWorkspaces, type Workspaces, workspaceCollection } from './stores/workspaces.js';

/** The records of this service. */
export interface Stores {
  readonly orgs: Orgs;
  readonly orgMembers: OrgMembers;
  readonly workspaces: Workspaces;
  readonly workspaceMembers: WorkspaceMembers;
  readonly invitations: Invitations;
  readonly guards: Collection<Guard>;
  readonly pinLists: PinLists;
  readonly connectors: Connectors;
}

/** What this service asks of others. */
export interface Peers {
  readonly users: Client<AuthService>;
  readonly index: Client<IndexService>;
  readonly permissions: Client<PermissionService>;
  readonly templates: Client<TemplateUseService>;
  readonly archives: Client<ArchiveService>;
}

/** What the handlers of this service stand on. */
export interface Parts extends Stores, Peers {
  readonly store: Store;
  readonly settings: Settings;
  readonly policy: Policy;
  readonly log: Log;
  /** Keeps what users entrust. */
  readonly envelope: Envelope;
  /** Says which URLs of users may be called. */
  readonly guard: UrlGuard;
  /** The present time, RFC 3339; `afterMs` milliseconds later where given. */
  now(afterMs?: number): string;
}

export interface PartsInput extends Peers {
  readonly store: Store;
  readonly settings: Settings;
  readonly log: Log;
  /** Epoch milliseconds. */
  readonly clock?: () => number;
}

export async function openParts({ clock = Date.now, ...input }: PartsInput): Promise<Parts> {
  const stores = await openStores(input.store);
  return {
    ...input,
    ...stores,
    policy: createPolicy(stores),
    envelope: createEnvelope(input.settings.secretsKey),
    guard: openGuard({ allowlist: input.settings.urlAllowlist }),
    now: (afterMs = 0) => new Date(clock() + afterMs).toISOString(),
  };
}

async function openStores(store: Store): Promise<Stores> {
  return {
    orgs: createOrgs(await store.collection(orgCollection)),
    orgMembers: createOrgMembers(await store.collection(orgMemberCollection)),
    workspaces: createWorkspaces(await store.collection(workspaceCollection)),
    workspaceMembers: createWorkspaceMembers(await store.collection(workspaceMemberCollection)),
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

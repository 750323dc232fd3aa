import { ResourceRole, resourceRoleToNumber } from '@commonplace/proto/resources/v1/resource.js';
import { OrgRole, orgRoleToNumber } from '@commonplace/proto/tenancy/v1/role.js';
import { isWorkspaceRoleAtLeast, type PersonMemberships } from '../memberships/index.js';
import type { Audience } from './audience.js';
import type { EventDraft } from './drafts.js';

/** A person's present access to a resource. */
export interface ResourceAccess {
  readonly workspaceId: string;
  readonly trashed: boolean;
  readonly role: ResourceRole;
}

/** The resources that a person may see, by id. */
export type VisibleResources = ReadonlyMap<string, ResourceAccess>;

/** A person's present membership of a conversation. */
export interface ConversationMembership {
  readonly isActive: boolean;
  readonly visibleFromSeq: number;
}

/** Facts that decide which part of an event a person sees. */
interface Sight {
  /** Absent if the event's audience names neither people nor members. */
  readonly person: PersonMemberships | undefined;
  readonly resources: VisibleResources;
  /** Membership of the conversation that the audience names. */
  readonly membership: ConversationMembership | undefined;
  /** Returns whether the credential reaches the workspace of a resource. */
  reaches(workspaceId: string): boolean;
}

type PublicEvent = Pick<EventDraft, 'orgId' | 'workspaceId' | 'audience' | 'data'> & { readonly tenant: string };

/** Returns the data of an event that a person may see; undefined if they may see nothing. */
export function seenData(event: PublicEvent, sight: Sight): EventDraft['data'] | undefined {
  const { audience, data } = event;
  if (sight.person !== undefined && admitsPerson(event, sight.person)) return data;
  if (audience.resources !== undefined) return ofResources(audience.resources, data, sight);
  const { seq } = audience.conversation ?? {};
  const isSeen = sight.membership?.isActive && (seq === undefined || seq >= sight.membership.visibleFromSeq);
  return audience.conversation !== undefined && isSeen ? data : undefined;
}

/** Returns whether a person belongs to an audience as a member or by name. */
function admitsPerson({ audience, tenant, orgId, workspaceId = '' }: PublicEvent, person: PersonMemberships): boolean {
  const { people = [], workspace, org } = audience;
  const belongs = orgId === '' ? person.workspaces.has(tenant) : person.orgs.has(orgId);
  if (belongs && people.includes(person.userId)) return true;
  const held = person.workspaces.get(workspaceId)?.role;
  if (workspace !== undefined && isWorkspaceRoleAtLeast(held, workspace)) return true;
  const inOrg = person.orgs.get(orgId)?.role;
  return org !== undefined && inOrg !== undefined && orgRoleToNumber(inOrg) >= orgRoleToNumber(MIN_ORG_ROLE[org]);
}

const MIN_ORG_ROLE = { member: OrgRole.MEMBER, admin: OrgRole.ADMIN } as const;
const MIN_RESOURCE_ROLE = { viewer: ResourceRole.VIEWER, manager: ResourceRole.MANAGER } as const;

/** Returns the data of an event about resources for a person who may see some of them. */
function ofResources(
  { ids, least, trashed = false }: NonNullable<Audience['resources']>,
  data: EventDraft['data'],
  { resources, reaches }: Sight,
): EventDraft['data'] | undefined {
  const isSeen = (access: ResourceAccess | undefined): boolean => {
    if (access === undefined || !reaches(access.workspaceId)) return false;
    const needed = access.trashed && !trashed ? ResourceRole.EDITOR : MIN_RESOURCE_ROLE[least];
    return resourceRoleToNumber(access.role) >= resourceRoleToNumber(needed);
  };
  const seen = ids.filter((id) => isSeen(resources.get(id)));
  if (seen.length === 0) return undefined;
  if (data.resource_ids === undefined || seen.length === ids.length) return data;
  return withIds(data, ids, seen);
}

/** Returns the data of an event about some of its resources. The version is that of the first one. */
export function withIds(data: EventDraft['data'], ids: readonly string[], kept: readonly string[]): EventDraft['data'] {
  const { version, ...rest } = data;
  return { ...rest, version: kept[0] === ids[0] ? version : null, resource_ids: kept };
}

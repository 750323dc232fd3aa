import {
  findPages,
  invalidCursor,
  parsePageRequest,
  type Scalar,
  type Slice,
  type TimeFilters,
  timeBetween,
  toPage,
  type Where,
} from '@commonplace/kit/store';
import { foldName } from '@commonplace/kit/words';
import type { WorkspaceMember as WorkspaceMemberMessage } from '@commonplace/proto/tenancy/v1/workspace.js';
import type {
  ListWorkspaceMembersRequest,
  ListWorkspaceMembersResponse,
} from '@commonplace/proto/tenancy/v1/workspace_service.js';
import { type DefaultRole, FULL_ORG_ROLES, workspaceRoleOf } from '../domain/roles.js';
import type { Parts } from '../parts.js';
import type { OrgMember } from '../stores/org-members.js';
import type { WorkspaceMember } from '../stores/workspace-members.js';
import type { Workspace } from '../stores/workspaces.js';
import { toDefaultMember, toWorkspaceMember } from '../wire/workspace-member.js';

/** The two parts of the list, in this order. A cursor begins with the name of the part that it points into. */
const DIRECT = 'direct';
const BY_DEFAULT = 'org_default';

/** Number of members that one query reads, while those with two memberships are skipped or counted. */
const CHUNK = 500;

type ListingRequest = Pick<ListWorkspaceMembersRequest, 'role' | 'q' | 'page'> & TimeFilters;

interface Entry {
  readonly part: typeof DIRECT | typeof BY_DEFAULT;
  readonly id: string;
  readonly member: WorkspaceMemberMessage;
}

/** The queries behind a list of a workspace's members. */
interface Listing {
  readonly parts: Parts;
  readonly workspace: Workspace;
  readonly direct: Where<WorkspaceMember>;
  /** The Org members whom `default_role` may include; undefined if it includes no one. */
  readonly byDefault:
    | { readonly orgId: string; readonly role: DefaultRole; readonly where: Where<OrgMember> }
    | undefined;
}

/**
 * Returns a page of a workspace's members: first those with their own membership, then the Org members included by
 * `default_role` only, each in the order in which they joined.
 */
export async function listMembers(
  parts: Parts,
  workspace: Workspace,
  request: ListingRequest,
): Promise<ListWorkspaceMembersResponse> {
  const listing = listingOf(parts, workspace, request);
  const slice = parsePageRequest(request.page);
  const directTotal = await parts.workspaceMembers.records.count(listing.direct);
  const [total, found] = await Promise.all([
    totalOf(listing, directTotal, request),
    entriesOf(listing, slice, directTotal),
  ]);
  const items = found.slice(0, slice.limit);
  const last = items.at(-1);
  const more = found.length > slice.limit && last !== undefined;
  const page = toPage(slice, total, more ? [last.part, last.id] : undefined);
  return { items: items.map(({ member }) => member), page };
}

function listingOf(parts: Parts, workspace: Workspace, request: ListingRequest): Listing {
  const { role, q, createdAfter, createdBefore } = request;
  const wanted = workspaceRoleOf(role);
  const added = timeBetween(createdAfter, createdBefore);
  const search = q === '' ? {} : { search: { substring: foldName(q) } };
  const { orgId, defaultRole } = workspace;
  const open = orgId !== undefined && defaultRole !== undefined && (wanted ?? defaultRole) === defaultRole;
  return {
    parts,
    workspace,
    direct: {
      workspaceId: workspace.id,
      status: { in: ['active', 'invited'] },
      ...(wanted === undefined ? {} : { role: wanted }),
      ...(added && { addedAt: added }),
      ...search,
    },
    byDefault: open
      ? {
          ...{ orgId, role: defaultRole },
          where: {
            ...{ orgId, status: 'active', role: { in: FULL_ORG_ROLES } },
            ...(added && { joinedAt: added }),
            ...search,
          },
        }
      : undefined,
  };
}

/** Returns the number of entries. Org members who also have their own membership here count once. */
async function totalOf(
  { parts, workspace, byDefault }: Listing,
  directTotal: number,
  { q, createdAfter, createdBefore }: ListingRequest,
): Promise<number> {
  if (byDefault === undefined) return directTotal;
  const both: Where<WorkspaceMember> = { workspaceId: workspace.id, status: 'active', guest: false };
  const isFiltered = q !== '' || createdAfter !== undefined || createdBefore !== undefined;
  const [full, overlap] = await Promise.all([
    parts.orgMembers.records.count(byDefault.where),
    // The name and the time of a person's membership here are not those of their membership of the Org.
    isFiltered ? countIn(parts, byDefault.where, both) : parts.workspaceMembers.records.count(both),
  ]);
  return directTotal + full - overlap;
}

/** Returns how many of some members of an Org are also among some members of a workspace. */
async function countIn(
  { orgMembers, workspaceMembers }: Parts,
  ofOrg: Where<OrgMember>,
  where: Where<WorkspaceMember>,
): Promise<number> {
  let count = 0;
  for await (const chunk of findPages(workspaceMembers.records, { where }, CHUNK)) {
    count += await orgMembers.records.count({ ...ofOrg, userId: { in: chunk.map(({ userId = '' }) => userId) } });
  }
  return count;
}

/** Returns the entries of a slice plus one more if there is one, which shows that another page follows. */
async function entriesOf(listing: Listing, slice: Slice, directTotal: number): Promise<Entry[]> {
  const wanted = slice.limit + 1;
  const [part, id] = placeOf(slice.after);
  if (part === BY_DEFAULT) return defaultEntries(listing, 0, wanted, id);
  const offset = slice.after === undefined ? slice.offset : 0;
  const direct = await listing.parts.workspaceMembers.records.find({
    where: listing.direct,
    limit: wanted,
    offset,
    ...(id === undefined ? {} : { after: [id] }),
  });
  const entries = direct.map((one): Entry => ({ part: DIRECT, id: one.id, member: toWorkspaceMember(one) }));
  if (entries.length === wanted) return entries;
  const skip = Math.max(0, offset - directTotal);
  return [...entries, ...(await defaultEntries(listing, skip, wanted - entries.length))];
}

function placeOf(after: readonly Scalar[] | undefined): [string | undefined, string | undefined] {
  if (after === undefined) return [undefined, undefined];
  const [part, id] = after;
  if (after.length !== 2 || (part !== DIRECT && part !== BY_DEFAULT) || typeof id !== 'string') throw invalidCursor();
  return [part, id];
}

/** Returns members included by `default_role`, after the id `after` and without the first `skip` of them. */
async function defaultEntries(
  { parts, workspace, byDefault }: Listing,
  skip: number,
  wanted: number,
  after?: string,
): Promise<Entry[]> {
  const entries: Entry[] = [];
  let last = after;
  for (let more = byDefault !== undefined && wanted > 0; more && byDefault !== undefined; ) {
    const { where, role } = byDefault;
    const chunk = await parts.orgMembers.records.find({
      where,
      limit: CHUNK,
      ...(last === undefined ? {} : { after: [last] }),
    });
    const placed = await parts.workspaceMembers.ofPeople(
      workspace.id,
      chunk.map(({ userId = '' }) => userId),
    );
    const here = new Set(placed.map(({ userId }) => userId));
    for (const one of chunk) {
      if (here.has(one.userId)) continue;
      entries.push({ part: BY_DEFAULT, id: one.id, member: toDefaultMember(one, workspace.id, role) });
    }
    last = chunk.at(-1)?.id;
    more = chunk.length === CHUNK && entries.length < skip + wanted;
  }
  return entries.slice(skip, skip + wanted);
}

import {
  type Caller,
  credentialOutOfScope,
  isWorkspaceLimited,
  reachesPlace,
  reachesTenant,
  reachesWorkspace,
} from '@commonplace/kit/auth';
import { InsufficientRole, invalidField, NotFound, WorkspaceArchived } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import {
  callerMemberships,
  isOrgRoleAtLeast,
  isWorkspaceRoleAtLeast,
  openWorkspace,
  type PersonMemberships,
  refusalOfWorkspace,
} from '@commonplace/platform/memberships';
import type { OrgMembership, WorkspaceMembership } from '@commonplace/proto/tenancy/v1/directory_service.js';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import type { Parts } from './parts.js';
import type { RunRecord } from './stores/runs.js';
import type { SessionRecord } from './stores/sessions.js';

/** The place of a session or a run. */
export interface Place {
  readonly tenant: string;
  /** Empty for a Personal tenant. */
  readonly orgId: string;
  readonly workspaceId?: string | undefined;
}

type PolicyParts = Pick<Parts, 'memberships' | 'agents' | 'sessions' | 'runs' | 'directory'>;

/** The context of a request: a caller's call, or one made on behalf of a person. */
export type Asking = Pick<CallContext, 'caller' | 'actor' | 'onward' | 'work'>;

/** The fields of a request that name a place. */
interface PlaceNames {
  readonly workspaceId?: string | undefined;
  readonly orgId?: string | undefined;
}

/** Returns the place of a new session or run, which is a workspace or an Org that the caller belongs to. */
export async function choosePlace(
  parts: PolicyParts,
  names: PlaceNames,
  context: Pick<Asking, 'caller' | 'onward'>,
): Promise<Place> {
  const { caller } = context;
  if (names.orgId !== undefined && names.workspaceId !== undefined) {
    throw invalidField('org_id', 'ambiguous_target', 'does not go with workspace_id.');
  }
  if (names.orgId !== undefined) {
    const { orgId } = names;
    const { role } = await requireOrg(parts, orgId, context, (known) => isAtLeastMember(known.role));
    if (caller.credential.workspaceIds !== undefined) throw credentialOutOfScope(caller, orgId);
    if (!isAtLeastMember(role)) throw InsufficientRole({}, { param: 'org_id' });
    return { tenant: orgId, orgId };
  }
  const { workspaceId, orgId, archived } = await openWorkspace(caller, names.workspaceId, (id) =>
    readWorkspace(parts, id, context, (known) => !known.archived),
  );
  if (archived) throw WorkspaceArchived();
  return { tenant: orgId || workspaceId, orgId, workspaceId };
}

/** Throws unless the caller can read the workspace and is in the Org that the filter of a list names. */
export async function requireListedPlace(
  parts: Pick<PolicyParts, 'memberships' | 'directory'>,
  { workspaceId, orgId }: PlaceNames,
  context: Pick<Asking, 'caller' | 'onward'>,
): Promise<void> {
  if (workspaceId !== undefined) await readWorkspace(parts, workspaceId, context);
  if (orgId !== undefined) await requireOrg(parts, orgId, context);
}

/**
 * Returns the caller's membership of an Org that a request names; guests have one, too. Throws `NotFound` for an Org
 * that they are not in, and the error for a credential that does not reach it. Reads the memberships again if the cached
 * one does not satisfy `suffices`.
 */
export async function requireOrg(
  parts: Pick<PolicyParts, 'memberships'>,
  orgId: string,
  context: Pick<Asking, 'caller' | 'onward'>,
  suffices: (membership: OrgMembership) => boolean = () => true,
): Promise<OrgMembership> {
  const { orgs } = await callerMemberships(parts.memberships, context, (person) => {
    const known = person.orgs.get(orgId);
    return known !== undefined && suffices(known);
  });
  const membership = orgs.get(orgId);
  if (membership === undefined) throw NotFound({}, { param: 'org_id' });
  if (!reachesTenant(context.caller, orgId)) throw credentialOutOfScope(context.caller, orgId);
  return membership;
}

/**
 * Returns the caller's membership of a workspace that a request names. Throws `NotFound` for a workspace that they
 * cannot see, `InsufficientRole` for guests, and the error for a credential that does not reach it. Reads the memberships
 * again if the cached one does not satisfy `suffices`.
 */
export async function readWorkspace(
  parts: Pick<PolicyParts, 'memberships' | 'directory'>,
  workspaceId: string,
  context: Pick<Asking, 'caller' | 'onward'>,
  suffices: (membership: WorkspaceMembership) => boolean = ({ role }) => isReader(role),
): Promise<WorkspaceMembership> {
  const { caller } = context;
  const person = await callerMemberships(parts.memberships, context, ({ workspaces }) => {
    const known = workspaces.get(workspaceId);
    return known !== undefined && suffices(known);
  });
  const workspace = person.workspaces.get(workspaceId);
  if (workspace === undefined) {
    throw await refusalOfWorkspace(parts.directory, workspaceId, person, context, 'workspace_id');
  }
  const orgId = workspace.orgId || null;
  if (!reachesWorkspace(caller, workspaceId, orgId)) throw credentialOutOfScope(caller, orgId);
  if (!isReader(workspace.role)) throw InsufficientRole();
  return workspace;
}

/** Returns whether a role sees the content of a workspace. Guests see only what was shared with them. */
export const isReader = (role: WorkspaceRole | undefined): boolean =>
  isWorkspaceRoleAtLeast(role, WorkspaceRole.VIEWER);

/** Returns whether a role is at least member. Guests of an Org see only what was shared with them. */
export const isAtLeastMember = (role: OrgRole | undefined): boolean => isOrgRoleAtLeast(role, OrgRole.MEMBER);

/** Returns whether a person belongs to a place, other than as a guest. */
export function belongsTo(
  person: PersonMemberships,
  { orgId, workspaceId }: Pick<Place, 'orgId' | 'workspaceId'>,
): boolean {
  if (workspaceId === undefined) return isAtLeastMember(person.orgs.get(orgId)?.role);
  return isReader(person.workspaces.get(workspaceId)?.role);
}

/** Returns the Orgs of which a person is at least a member. */
export function orgsOfMember({ orgs }: PersonMemberships): string[] {
  return [...orgs.values()].filter(({ role }) => isAtLeastMember(role)).map(({ orgId }) => orgId);
}

/**
 * Returns the workspaces that a person reads and the Orgs of which they are at least a member, as far as the caller's
 * credential reaches them.
 */
export function placesReached(
  person: PersonMemberships,
  caller: Caller,
): { readonly workspaceIds: string[]; readonly orgIds: string[] } {
  const isLimited = isWorkspaceLimited(caller) || caller.workspaceId !== undefined;
  return {
    workspaceIds: [...person.workspaces.values()]
      .filter(({ role, workspaceId, orgId }) => isReader(role) && reachesWorkspace(caller, workspaceId, orgId || null))
      .map(({ workspaceId }) => workspaceId),
    orgIds: isLimited ? [] : orgsOfMember(person).filter((orgId) => reachesTenant(caller, orgId)),
  };
}

/** Returns a session that the caller owns, or that is shared in a place they belong to. Throws `NotFound` otherwise. */
export async function seeSession(parts: PolicyParts, id: string, context: CallContext): Promise<SessionRecord> {
  const session = await context.work.get(parts.sessions, id);
  await requireWithin(parts, session ?? { orgId: '', workspaceId: id }, context, session !== undefined);
  if (session === undefined || !isShownTo(session, context.caller)) throw NotFound();
  return session;
}

/** Returns whether a session is shown to a caller who belongs to its place. */
const isShownTo = ({ ownerId, visibility }: SessionRecord, { userId }: Caller): boolean =>
  ownerId === userId || visibility === 'workspace';

/** Returns those of the given sessions that the caller can read with their credential. */
export async function findSessions(
  parts: Pick<PolicyParts, 'memberships' | 'sessions'>,
  ids: readonly string[],
  context: Pick<Asking, 'caller' | 'onward'>,
): Promise<SessionRecord[]> {
  const { caller } = context;
  const found = (await parts.sessions.getMany([...new Set(ids)])).filter(
    (session) => isShownTo(session, caller) && reachesPlace(caller, session),
  );
  if (found.length === 0) return [];
  const person = await callerMemberships(parts.memberships, context, (known) =>
    found.every((session) => belongsTo(known, session)),
  );
  return found.filter((session) => belongsTo(person, session));
}

/** Returns a session that the caller owns. Throws `InsufficientRole` if it is only shared with them. */
export async function openSession(parts: PolicyParts, id: string, context: CallContext): Promise<SessionRecord> {
  const session = await seeSession(parts, id, context);
  if (session.ownerId !== context.caller.userId) throw InsufficientRole();
  return session;
}

/**
 * Throws unless the caller belongs to the place of a record, other than as a guest, and their credential reaches it.
 */
async function requireWithin(
  parts: PolicyParts,
  { orgId, workspaceId }: Pick<Place, 'orgId' | 'workspaceId'>,
  context: CallContext,
  exists: boolean,
): Promise<void> {
  const { caller } = context;
  const isIn = (known: PersonMemberships) => belongsTo(known, { orgId, workspaceId });
  const person = await callerMemberships(parts.memberships, context, isIn);
  if (!exists || !isIn(person)) throw NotFound();
  if (!reachesPlace(caller, { orgId, workspaceId })) throw credentialOutOfScope(caller, orgId || null);
}

/**
 * Returns a run that the caller started, whose shared session they can read, or whose workspace they administer. Throws
 * `NotFound` otherwise.
 */
export async function seeRun(parts: PolicyParts, id: string, context: CallContext): Promise<RunRecord> {
  const run = await context.work.get(parts.runs, id);
  await requireWithin(parts, run ?? { orgId: '', workspaceId: id }, context, run !== undefined);
  if (run === undefined) throw NotFound();
  if (run.userId === context.caller.userId || (await administers(parts, run.workspaceId, context))) return run;
  if (run.sessionId === undefined) throw NotFound();
  await seeSession(parts, run.sessionId, context);
  return run;
}

/** A run that the caller may cancel, and whether they may see its content. */
interface OpenRun {
  readonly run: RunRecord;
  readonly isSeen: boolean;
}

/**
 * Returns a run that the caller may cancel: one that they started, one of their agent, or one in a workspace that they
 * administer.
 */
export async function openRun(parts: PolicyParts, id: string, context: CallContext): Promise<OpenRun> {
  const theirs = await runOfOwnAgent(parts, id, context);
  if (theirs !== undefined && theirs.userId !== context.caller.userId) {
    const isSeen = await administers(parts, theirs.workspaceId, context);
    return { run: theirs, isSeen };
  }
  const run = await seeRun(parts, id, context);
  const isTheirs = run.userId === context.caller.userId || (await administers(parts, run.workspaceId, context));
  if (!isTheirs) throw InsufficientRole();
  return { run, isSeen: true };
}

/** Returns a run of an agent that the caller owns, whoever started it; undefined otherwise. */
async function runOfOwnAgent(
  parts: PolicyParts,
  id: string,
  { caller, work, onward }: CallContext,
): Promise<RunRecord | undefined> {
  const run = await work.get(parts.runs, id);
  const agent = run?.agentId === undefined ? undefined : await work.get(parts.agents, run.agentId);
  if (run === undefined || agent?.ownerId !== caller.userId) return undefined;
  const belongs = run.orgId === '' || (await parts.memberships.fresh(caller.userId, onward)).orgs.has(run.orgId);
  const reaches =
    run.workspaceId === undefined
      ? reachesTenant(caller, run.orgId || null) && !isWorkspaceLimited(caller) && caller.workspaceId === undefined
      : reachesWorkspace(caller, run.workspaceId, run.orgId || null);
  return belongs && reaches ? run : undefined;
}

/** Returns whether the caller administers a workspace. */
export async function administers(
  parts: PolicyParts,
  workspaceId: string | undefined,
  { caller, onward }: CallContext,
): Promise<boolean> {
  if (workspaceId === undefined) return false;
  const { workspaces } = await parts.memberships.of(caller.userId, onward);
  return isWorkspaceRoleAtLeast(workspaces.get(workspaceId)?.role, WorkspaceRole.ADMIN);
}

/** Throws if the workspace of a session is archived. */
export async function requireUnarchived(
  parts: PolicyParts,
  { workspaceId }: Pick<SessionRecord, 'workspaceId'>,
  context: CallContext,
): Promise<void> {
  if (workspaceId === undefined) return;
  const isOpen = ({ workspaces }: PersonMemberships) => workspaces.get(workspaceId)?.archived === false;
  if (!isOpen(await callerMemberships(parts.memberships, context, isOpen))) throw WorkspaceArchived();
}

/**
 * Returns whether the caller may see answers whose sources they can no longer read. The person who asked may, unless
 * the workspace has disabled it.
 */
export async function keepsAnswers(
  { memberships: cache }: Pick<PolicyParts, 'memberships'>,
  ownerId: string,
  workspaceId: string | undefined,
  { caller, onward }: CallContext,
): Promise<boolean> {
  // A limited credential sees an answer only if it reaches the sources.
  if (ownerId !== caller.userId || isWorkspaceLimited(caller) || caller.workspaceId !== undefined) return false;
  if (workspaceId === undefined) return true;
  const { workspaces } = await cache.of(caller.userId, onward);
  return workspaces.get(workspaceId)?.withholdOnRevoke !== true;
}

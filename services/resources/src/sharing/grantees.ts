import { type Fault, InsufficientRole, invalidFields, NotFound } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import { foldEmail } from '@commonplace/kit/words';
import { GranteeType, LinkAudience } from '@commonplace/proto/resources/v1/permission.js';
import type { GrantInput } from '@commonplace/proto/resources/v1/permission_service.js';
import { OrgRole } from '@commonplace/proto/tenancy/v1/role.js';
import { grantAt, grantId, termsOf } from '../domain/grant.js';
import type { Node } from '../domain/node.js';
import { principalNamed } from '../domain/principals.js';
import { isAtLeast, may, type Role } from '../domain/role.js';
import { ExternalSharingDisabled, RoleEscalation } from '../errors.js';
import type { AccessSubject, Seen } from '../policy.js';
import { roleNamed } from '../wire.js';
import type { RequestedGrant } from './grants.js';
import { type Invitation, inviteGuests } from './invites.js';
import { linkFor } from './links.js';
import { ownTerms, requireLasting } from './own-terms.js';
import type { SharingParts } from './parts.js';
import { findPeople, type People } from './people.js';

/** One requested grant, with the path of its fields in the request. */
export interface GrantRequest extends GrantInput {
  readonly at: string;
}

interface RequestedGrants {
  readonly requestedGrants: readonly RequestedGrant[];
  readonly invited: readonly Invitation[];
}

/**
 * Returns the grants that a request asks for. Checks the roles first, then reports all faults in the fields at once,
 * then whether the people exist. Finally invites the addresses that belong to no person of the tenant.
 */
export async function readRequestedGrants(
  parts: SharingParts,
  seen: Seen,
  requests: readonly GrantRequest[],
  message: string | undefined,
  subject: AccessSubject,
  context: CallContext,
): Promise<RequestedGrants> {
  const own = seen.access.role;
  for (const { role } of requests) {
    const wanted = roleNamed(role);
    if (wanted !== undefined && !isAtLeast(own, wanted)) throw RoleEscalation({ own });
  }
  requireSound(seen.node, requests, subject.now);
  if (requests.some(({ audience }) => audience === LinkAudience.ANYONE)) {
    const { allowExternalSharing } = await subject.terms(seen.node.workspaceId);
    if (!allowExternalSharing) throw ExternalSharingDisabled();
  }
  const people = await findPeople(parts, seen.node, requests, context);
  const agents = await findAgents(parts, seen.node, requests, context);
  const groups = await findGroups(parts, seen.node, requests, subject, context);
  const known: (RequestedGrant | undefined)[] = [];
  for (const one of requests) {
    known.push(await readRequestedGrant(parts, seen.node, one, { people, agents, groups }, subject));
  }
  requireOnce(requests, known);
  await requirePower(parts, seen, known, subject);
  await requireEnds(parts, seen, requests, known, subject);
  const outsiders = requests.filter((_, i) => known[i] === undefined);
  const invited = await inviteGuests(parts, seen.node, outsiders, message, context);
  const places = new Map(outsiders.map((one, i) => [one, invited[i] as Invitation]));
  const requestedGrants = requests.map((one, i) => known[i] ?? grantToInvitee(one, places.get(one) as Invitation));
  return { requestedGrants, invited };
}

/** Throws all faults in the fields at once. */
function requireSound(node: Node, requests: readonly GrantRequest[], now: string): void {
  const faults: Fault[] = [];
  for (const one of requests) {
    const fault = (param: string, code: string, message: string) =>
      faults.push({ param: one.at + param, code, message });
    if (roleNamed(one.role) === undefined) fault('role', 'missing_field', 'is required.');
    if (one.expiresAt !== undefined && one.expiresAt <= now) {
      fault('expires_at', 'invalid_value', 'must be in the future.');
    }
    checkTarget(node, one, fault);
    checkLink(one, fault);
  }
  if (faults.length > 0) throw invalidFields(faults);
}

type AddFault = (param: string, code: string, message: string) => void;

/** Returns the type of the grantee: a user if only an id or an address is given. */
function typeOf({ principalType, principalId, email }: GrantRequest): GranteeType {
  const person = principalType === GranteeType.UNSPECIFIED && (principalId !== undefined || email !== undefined);
  return person ? GranteeType.USER : principalType;
}

function checkTarget(node: Node, request: GrantRequest, fault: AddFault): void {
  const { principalId, email } = request;
  const type = typeOf(request);
  if (type === GranteeType.UNSPECIFIED) fault('principal_type', 'missing_field', 'is required.');
  if (email !== undefined && type !== GranteeType.USER) fault('email', 'invalid_value', 'is for a user only.');
  if (type === GranteeType.LINK) {
    if (principalId !== undefined) fault('principal_id', 'invalid_value', 'is not for a link.');
  } else if (type === GranteeType.ORG) {
    if (node.orgId === null)
      fault('principal_type', 'invalid_value', 'must not be org: the workspace belongs to no Org.');
  } else if (type === GranteeType.USER && email !== undefined) {
    if (principalId !== undefined) fault('email', 'invalid_value', 'cannot be combined with principal_id.');
  } else if (principalId === undefined && type !== GranteeType.UNSPECIFIED) {
    fault('principal_id', 'missing_field', 'is required.');
  }
}

function checkLink(request: GrantRequest, fault: AddFault): void {
  const role = roleNamed(request.role);
  if (typeOf(request) !== GranteeType.LINK) {
    if (request.audience !== LinkAudience.UNSPECIFIED) fault('audience', 'invalid_value', 'is for a link only.');
    return;
  }
  if (role !== undefined && may(role, 'manage')) fault('role', 'invalid_value', 'of a link must be at most editor.');
  if (request.audience === LinkAudience.ANYONE && role !== undefined && may(role, 'comment')) {
    fault('role', 'invalid_value', 'of a link for anyone must be viewer.');
  }
}

/** The people and agents whom a request may name. */
interface Principals {
  readonly people: People;
  /** Ids of agents of the tenant that the caller may use. */
  readonly agents: ReadonlySet<string>;
  readonly groups: ReadonlySet<string>;
}

/** Returns those agents that a request names which belong to the node's tenant and which the caller may use. */
async function findAgents(
  { peers }: SharingParts,
  { orgId }: Pick<Node, 'orgId'>,
  requests: readonly GrantRequest[],
  { onward }: CallContext,
): Promise<ReadonlySet<string>> {
  const agentIds = requests.flatMap((one) => (typeOf(one) === GranteeType.AGENT ? (one.principalId ?? []) : []));
  if (agentIds.length === 0) return new Set();
  const { items } = await peers.agents.lookUpAgents({ agentIds: [...new Set(agentIds)] }, onward);
  return new Set(items.filter((agent) => agent.orgId === (orgId ?? '')).map(({ id }) => id));
}

/**
 * Returns those groups that a request names which belong to the node's Org and which the caller sees: guests see only
 * the groups that they are in.
 */
async function findGroups(
  { peers }: SharingParts,
  { orgId }: Pick<Node, 'orgId'>,
  requests: readonly GrantRequest[],
  subject: AccessSubject,
  { onward }: CallContext,
): Promise<ReadonlySet<string>> {
  const named = requests.flatMap((one) => (typeOf(one) === GranteeType.GROUP ? (one.principalId ?? []) : []));
  if (named.length === 0 || orgId === null) return new Set();
  const { items } = await peers.directory.lookUpGroups({ orgId, groupIds: [...new Set(named)] }, onward);
  const found = new Set(items.map(({ groupId }) => groupId));
  if (subject.own.orgs.get(orgId)?.role !== OrgRole.GUEST) return found;
  if (named.some((id) => !subject.own.groups.has(id))) await subject.refresh();
  return new Set([...found].filter((id) => subject.own.groups.has(id)));
}

/** Returns the grant that is requested; undefined for an address of no person in the tenant. Throws NotFound. */
async function readRequestedGrant(
  parts: SharingParts,
  node: Node,
  request: GrantRequest,
  { people, agents, groups }: Principals,
  subject: AccessSubject,
): Promise<RequestedGrant | undefined> {
  const { expiresAt, at } = request;
  const role = roleNamed(request.role) as Role;
  const type = typeOf(request);
  const id = request.principalId ?? '';
  switch (type) {
    case GranteeType.LINK:
      return { ...(await linkFor(parts, node, request.audience)), role, expiresAt };
    case GranteeType.ORG:
      if (id !== '' && id !== node.orgId) throw NotFound({}, { param: `${at}principal_id` });
      return { principal: `org:${node.orgId}`, role, expiresAt };
    case GranteeType.WORKSPACE:
      await requireWorkspaceSeen(node, id, subject, `${at}principal_id`);
      break;
    case GranteeType.AGENT:
      if (!agents.has(id)) throw NotFound({}, { param: `${at}principal_id` });
      break;
    case GranteeType.GROUP:
      if (!groups.has(id)) throw NotFound({}, { param: `${at}principal_id` });
      break;
    case GranteeType.USER: {
      const userId = people.inTenant(request);
      if (userId === undefined && request.email === undefined) throw NotFound({}, { param: `${at}principal_id` });
      return userId === undefined ? undefined : { principal: `user:${userId}`, role, expiresAt };
    }
  }
  return { principal: principalNamed(type, id) as string, role, expiresAt };
}

/** Throws NotFound unless the workspace is the node's own, or one of the same Org that the caller is in. */
async function requireWorkspaceSeen(node: Node, id: string, subject: AccessSubject, param: string): Promise<void> {
  if (!subject.person.workspaces.has(id)) await subject.refresh();
  const membership = subject.person.workspaces.get(id);
  const here = id === node.workspaceId || (node.orgId !== null && membership?.orgId === node.orgId);
  if (!here) throw NotFound({}, { param });
}

function grantToInvitee(request: GrantRequest, { placeId, email }: Invitation): RequestedGrant {
  return {
    principal: `invitee:${placeId}`,
    role: roleNamed(request.role) as Role,
    expiresAt: request.expiresAt,
    email,
  };
}

function requireOnce(
  requests: readonly GrantRequest[],
  requestedGrants: readonly (RequestedGrant | undefined)[],
): void {
  const names = requests.map((one, i) => {
    const principal = requestedGrants[i]?.principal ?? `email:${foldEmail(one.email ?? '')}`;
    return principal.startsWith('link:') ? 'link' : principal;
  });
  const faults = names.flatMap((name, i): Fault[] =>
    names.indexOf(name) === i
      ? []
      : [{ param: `grants[${i}]`, code: 'invalid_value', message: 'names the same principal as an earlier grant.' }],
  );
  if (faults.length > 0) throw invalidFields(faults);
}

/**
 * Throws InsufficientRole for a change to a grant above the caller's own role, and for a lower role from a caller who
 * may share but not manage.
 */
async function requirePower(
  parts: SharingParts,
  { node, access }: Seen,
  requestedGrants: readonly (RequestedGrant | undefined)[],
  { now }: AccessSubject,
): Promise<void> {
  const named = requestedGrants.filter((grant) => grant !== undefined);
  const existing = await parts.grants.getMany(named.map(({ principal }) => grantId(node.id, principal)));
  const valid = existing.flatMap((one) => grantAt(one, now) ?? []);
  const before = new Map(valid.map(({ id, role }) => [id, role]));
  for (const { principal, role } of named) {
    const held = before.get(grantId(node.id, principal));
    if (held === undefined) continue;
    if (!isAtLeast(access.role, held)) throw InsufficientRole({ role: access.role, needed: held });
    const lowers = !isAtLeast(role, held) && !may(access.role, 'manage');
    if (lowers) throw InsufficientRole({ role: access.role, needed: 'manager' });
  }
}

/** Throws `role_escalation` for a grant that would outlast the caller's own role. */
async function requireEnds(
  parts: SharingParts,
  { node, access }: Seen,
  requests: readonly GrantRequest[],
  known: readonly (RequestedGrant | undefined)[],
  subject: AccessSubject,
): Promise<void> {
  if (access.expiresAt === undefined) return;
  const own = await ownTerms(parts.policy, node, subject);
  const ids = known.map((grant) => grant && grantId(node.id, grant.principal));
  const existing = await parts.grants.getMany(ids.filter((id) => id !== undefined));
  for (const [i, { role, expiresAt }] of requests.entries()) {
    const stored = existing.find(({ id }) => id === ids[i]);
    const held = stored && grantAt(stored, subject.now);
    requireLasting(own, { role: roleNamed(role) as Role, expiresAt }, held && termsOf(held));
  }
}

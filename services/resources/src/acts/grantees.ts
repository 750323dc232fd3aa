import { type Fault, InsufficientRole, invalidFields, NotFound } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import { GranteeType, LinkAudience } from '@commonplace/proto/resources/v1/permission.js';
import type { GrantInput } from '@commonplace/proto/resources/v1/permission_service.js';
import { isAtLeast, may, type Role } from '../domain/access.js';
import { principalNamed } from '../domain/principals.js';
import { ExternalSharingDisabled, RoleEscalation } from '../errors.js';
import { roleNamed } from '../handlers/present.js';
import type { Parts } from '../parts.js';
import type { Seen, Standing } from '../policy.js';
import { grantId, isExpired } from '../stores/grants.js';
import type { Node } from '../stores/nodes.js';
import type { Wish } from './grants.js';
import { type Invited, inviteGuests } from './invites.js';
import { linkFor } from './links.js';
import { findPeople, type People } from './people.js';

/** One grant that is asked for, with the path of its fields in the request. */
export interface Asked extends GrantInput {
  readonly at: string;
}

export interface Wishes {
  readonly wishes: readonly Wish[];
  readonly invited: readonly Invited[];
}

/**
 * Whom a request wants to grant what. Roles come first, then everything that is wrong with the fields at once,
 * then whether there are such people; addresses of nobody in the tenant are invited last.
 */
export async function wishesOf(
  parts: Parts,
  seen: Seen,
  asked: readonly Asked[],
  message: string | undefined,
  standing: Standing,
  context: CallContext,
): Promise<Wishes> {
  const own = seen.access.role;
  for (const { role } of asked) {
    const wanted = roleNamed(role);
    if (wanted !== undefined && !isAtLeast(own, wanted)) throw RoleEscalation({ own });
  }
  requireSound(seen.node, asked, standing.now);
  if (asked.some(({ audience }) => audience === LinkAudience.ANYONE)) {
    const { allowExternalSharing } = await standing.terms(seen.node.workspaceId);
    if (!allowExternalSharing) throw ExternalSharingDisabled();
  }
  const people = await findPeople(parts, seen.node, asked, context);
  const known: (Wish | undefined)[] = [];
  for (const one of asked) known.push(await wishOf(parts, seen.node, one, people, standing));
  requireOnce(asked, known);
  await requirePower(parts, seen, known, standing);
  const strangers = asked.filter((_, i) => known[i] === undefined);
  const invited = await inviteGuests(parts, seen.node, strangers, message, context);
  const places = new Map(strangers.map((one, i) => [one, invited[i] as Invited]));
  const wishes = asked.map((one, i) => known[i] ?? invitedWish(one, places.get(one) as Invited));
  return { wishes, invited };
}

/** Tells all that is wrong with the fields. */
function requireSound(node: Node, asked: readonly Asked[], now: string): void {
  const faults: Fault[] = [];
  for (const one of asked) {
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

/** The type of whom a grant names: a person, where only an id or an address is given. */
export function typeOf({ principalType, principalId, email }: Asked): GranteeType {
  const person = principalType === GranteeType.UNSPECIFIED && (principalId !== undefined || email !== undefined);
  return person ? GranteeType.USER : principalType;
}

function checkTarget(node: Node, asked: Asked, fault: AddFault): void {
  const { principalId, email } = asked;
  const type = typeOf(asked);
  if (type === GranteeType.UNSPECIFIED) fault('principal_type', 'missing_field', 'is required.');
  if (email !== undefined && type !== GranteeType.USER) fault('email', 'invalid_value', 'is for a user only.');
  if (type === GranteeType.LINK) {
    if (principalId !== undefined) fault('principal_id', 'invalid_value', 'is not for a link.');
  } else if (type === GranteeType.ORG) {
    if (node.orgId === null) fault('principal_type', 'invalid_value', 'must not be org: the workspace is in none.');
  } else if (type === GranteeType.USER && email !== undefined) {
    if (principalId !== undefined) fault('email', 'invalid_value', 'is one too many beside principal_id.');
  } else if (principalId === undefined && type !== GranteeType.UNSPECIFIED) {
    fault('principal_id', 'missing_field', 'is required.');
  }
}

function checkLink(asked: Asked, fault: AddFault): void {
  const role = roleNamed(asked.role);
  if (typeOf(asked) !== GranteeType.LINK) {
    if (asked.audience !== LinkAudience.UNSPECIFIED) fault('audience', 'invalid_value', 'is for a link only.');
    return;
  }
  if (role !== undefined && may(role, 'manage')) fault('role', 'invalid_value', 'of a link is editor at the most.');
  if (asked.audience === LinkAudience.ANYONE && role !== undefined && may(role, 'comment')) {
    fault('role', 'invalid_value', 'of a link for anyone must be viewer.');
  }
}

/** The wish that an asked grant stands for; undefined for an address of nobody in the tenant. Throws NotFound. */
async function wishOf(
  parts: Parts,
  node: Node,
  asked: Asked,
  people: People,
  standing: Standing,
): Promise<Wish | undefined> {
  const { expiresAt, at } = asked;
  const role = roleNamed(asked.role) as Role;
  const type = typeOf(asked);
  const id = asked.principalId ?? '';
  switch (type) {
    case GranteeType.LINK:
      return { ...(await linkFor(parts, node, asked.audience)), role, expiresAt };
    case GranteeType.ORG:
      if (id !== '' && id !== node.orgId) throw NotFound({}, { param: `${at}principal_id` });
      return { principal: `org:${node.orgId}`, role, expiresAt };
    case GranteeType.WORKSPACE:
      await requireWorkspaceSeen(node, id, standing, `${at}principal_id`);
      break;
    case GranteeType.USER: {
      const userId = people.inTenant(asked);
      if (userId === undefined && asked.email === undefined) throw NotFound({}, { param: `${at}principal_id` });
      return userId === undefined ? undefined : { principal: `user:${userId}`, role, expiresAt };
    }
  }
  return { principal: principalNamed(type, id) as string, role, expiresAt };
}

/** A workspace of the same tenant that the caller is in. */
async function requireWorkspaceSeen(node: Node, id: string, standing: Standing, param: string): Promise<void> {
  if (!standing.person.workspaces.has(id)) await standing.refresh();
  const membership = standing.person.workspaces.get(id);
  const here = id === node.workspaceId || (node.orgId !== null && membership?.orgId === node.orgId);
  if (!here) throw NotFound({}, { param });
}

function invitedWish(asked: Asked, { placeId, email }: Invited): Wish {
  return { principal: `invitee:${placeId}`, role: roleNamed(asked.role) as Role, expiresAt: asked.expiresAt, email };
}

function requireOnce(asked: readonly Asked[], wishes: readonly (Wish | undefined)[]): void {
  const names = asked.map((one, i) => {
    const principal = wishes[i]?.principal ?? `email:${one.email?.trim().toLowerCase()}`;
    return principal.startsWith('link:') ? 'link' : principal;
  });
  const faults = names.flatMap((name, i): Fault[] =>
    names.indexOf(name) === i
      ? []
      : [{ param: `grants[${i}]`, code: 'invalid_value', message: 'names the same principal as one before it.' }],
  );
  if (faults.length > 0) throw invalidFields(faults);
}

/** A role above one's own is not taken from anybody; who may share without managing lowers nobody's. */
async function requirePower(
  parts: Parts,
  { node, access }: Seen,
  wishes: readonly (Wish | undefined)[],
  { now }: Standing,
): Promise<void> {
  const named = wishes.filter((wish) => wish !== undefined);
  const existing = await parts.grants.getMany(named.map(({ principal }) => grantId(node.id, principal)));
  const before = new Map(existing.filter((one) => !isExpired(one, now)).map((one) => [one.id, one.role]));
  for (const { principal, role } of named) {
    const held = before.get(grantId(node.id, principal));
    if (held === undefined) continue;
    const lowers = !isAtLeast(role, held) && !may(access.role, 'manage');
    if (!isAtLeast(access.role, held) || lowers) throw InsufficientRole({ role: access.role, needed: held });
  }
}

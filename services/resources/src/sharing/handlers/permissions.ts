import { invalidField } from '@commonplace/kit/errors';
import type { CallContext, Handlers } from '@commonplace/kit/rpc';
import { GranteeType, LinkAudience } from '@commonplace/proto/resources/v1/permission.js';
import type { GrantPermissionRequest, PermissionService } from '@commonplace/proto/resources/v1/permission_service.js';
import { AccessMode, ResourceRole } from '@commonplace/proto/resources/v1/resource.js';
import type { Node } from '../../domain/node.js';
import { may } from '../../domain/role.js';
import { type AccessSubject, requireCapability, type Seen } from '../../policy.js';
import { type GrantRequest, readRequestedGrants } from '../grantees.js';
import { greaterRole, putGrants, type RequestedGrant } from '../grants.js';
import { leaveOrg, removeGrantsOf } from '../member-grants.js';
import { endOfOwn } from '../own-terms.js';
import type { SharingParts } from '../parts.js';
import { linkMessage, namesOf, permissionMessage } from '../permission.js';
import { viewPermissions } from '../permissions.js';
import { revoke } from '../revoke.js';

interface PermissionParts extends SharingParts {
  /** Restricts a node, or lets it inherit again. Returns the updated node. */
  readonly setAccessMode: (
    seen: Seen,
    accessMode: AccessMode,
    subject: AccessSubject,
    context: CallContext,
  ) => Promise<Node>;
}

export function createPermissionHandlers(parts: PermissionParts): Handlers<PermissionService> {
  const { policy } = parts;
  return {
    async getPermissions(request, context) {
      const subject = await policy.subject(context);
      const seen = await policy.see(request.resourceId, subject);
      return viewPermissions(parts, seen, request, subject, context);
    },

    grantPermission: (request, context) => grant(parts, request, context),

    async deletePermission(request, context) {
      const subject = await policy.subject(context);
      const seen = await policy.see(request.resourceId, subject);
      return { id: await revoke(parts, seen, request, subject, context), deleted: true };
    },

    async removeMemberGrants({ workspaceId, userId }, context) {
      const removed = await removeGrantsOf(parts, { principal: `user:${userId}`, workspaceId }, context.actor);
      return { removed };
    },

    async transferMemberGrants({ orgId, userId, toUserId }, context) {
      const transferred = await leaveOrg(parts, { orgId, userId, successor: toUserId }, context.actor);
      return { transferred: Object.fromEntries(transferred) };
    },
  };
}

async function grant(parts: PermissionParts, request: GrantPermissionRequest, context: CallContext) {
  const subject = await parts.policy.subject(context);
  const seen = await parts.policy.see(request.resourceId, subject);
  requireSharing(seen);
  const restricts = request.accessMode !== AccessMode.UNSPECIFIED;
  if (restricts) requireCapability(seen, 'manage');
  const requests = requestsIn(request);
  const { requestedGrants, invited } = await readRequestedGrants(
    parts,
    seen,
    requests,
    request.message,
    subject,
    context,
  );
  const own = `user:${context.caller.userId}`;
  let { node } = seen;
  if (restricts) node = await parts.setAccessMode(seen, request.accessMode, subject, context);
  const kept =
    node.restricted && !seen.node.restricted
      ? await Promise.all(
          requestedGrants.map((one) => (one.principal === own ? keptManager(parts, seen, one, subject) : one)),
        )
      : requestedGrants;
  const notification = { notify: request.notify !== false, message: request.message };
  const granted = await putGrants(parts, node, kept, notification, context);
  context.reply.status = granted.anyNew ? 201 : 200;
  if (invited.length > 0) context.once('invites');
  const names = await namesOf(parts, granted.grants, subject, context);
  const permissions = granted.grants.map((one) => permissionMessage(node, one, names));
  const single = request.grants.length === 0;
  const link = granted.grants.find((one) => one.link !== undefined);
  return {
    permission: single ? permissions[0] : undefined,
    items: single ? [] : permissions,
    accessMode: node.restricted ? AccessMode.RESTRICTED : AccessMode.INHERIT,
    link: link === undefined ? undefined : linkMessage(parts, link),
    invites: invited.map(({ email, inviteUrl }) => ({ email, inviteUrl })),
  };
}

/** Throws unless the caller may share: managers always, editors if the workspace allows it. */
function requireSharing(seen: Seen): void {
  if (may(seen.access.role, 'write') && seen.membership?.editorsCanShare) return;
  requireCapability(seen, 'manage');
}

/**
 * Returns a grant that keeps the person who restricts a resource as its manager as long as they are one, whatever they
 * grant themselves.
 */
async function keptManager(
  { policy }: PermissionParts,
  seen: Seen,
  requested: RequestedGrant,
  subject: AccessSubject,
): Promise<RequestedGrant> {
  const role = greaterRole(requested.role, 'manager');
  return { ...requested, role, expiresAt: await endOfOwn(policy, seen, role, subject) };
}

/** Returns the grants that a request asks for: one, several, or none if it only sets the access mode. */
function requestsIn(request: GrantPermissionRequest): GrantRequest[] {
  const { principalType, principalId, email, role, expiresAt, audience, grants } = request;
  const one = { at: '', principalType, principalId, email, role, expiresAt, audience };
  const names =
    principalType !== GranteeType.UNSPECIFIED ||
    principalId !== undefined ||
    email !== undefined ||
    role !== ResourceRole.UNSPECIFIED ||
    expiresAt !== undefined ||
    audience !== LinkAudience.UNSPECIFIED;
  if (grants.length > 0) {
    if (names) throw invalidField('grants', 'invalid_value', 'cannot be combined with the fields of a single grant.');
    return grants.map((each, i) => ({ ...each, at: `grants[${i}].` }));
  }
  return names || request.accessMode === AccessMode.UNSPECIFIED ? [one] : [];
}

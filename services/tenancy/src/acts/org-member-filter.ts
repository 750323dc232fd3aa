import { timeBetween, type Where } from '@commonplace/kit/store';
import { foldName } from '@commonplace/kit/words';
import { OrgMemberStatus } from '@commonplace/proto/tenancy/v1/org.js';
import type { ListOrgMembersRequest } from '@commonplace/proto/tenancy/v1/org_service.js';
import { orgRoleOf } from '../domain/roles.js';
import type { OrgMember } from '../stores/org-members.js';

/**
 * Returns the filter for the requested memberships that `viewer` may see. A guest sees themselves and the
 * administrators only.
 */
export function orgMemberFilter(
  { orgId, role, status, q, createdAfter, createdBefore }: ListOrgMembersRequest,
  viewer: OrgMember,
  now: string,
): Where<OrgMember> {
  const wanted = orgRoleOf(role);
  const and: Where<OrgMember>[] = [withStatus(status, now)];
  if (viewer.role === 'guest') {
    and.push({ or: [{ id: viewer.id }, { role: { in: ['admin', 'owner'] }, status: 'active' }] });
  }
  const created = timeBetween(createdAfter, createdBefore);
  if (created !== undefined) {
    and.push({ or: [{ invitedAt: created }, { invitedAt: { exists: false }, joinedAt: created }] });
  }
  return {
    orgId,
    ...(wanted === undefined ? {} : { role: wanted }),
    ...(q === '' ? {} : { search: { substring: foldName(q) } }),
    and,
  };
}

function withStatus(status: OrgMemberStatus, now: string): Where<OrgMember> {
  switch (status) {
    case OrgMemberStatus.INVITED:
      return { status: 'invited', inviteExpiresAt: { gt: now } };
    case OrgMemberStatus.EXPIRED:
      return { status: 'invited', inviteExpiresAt: { lte: now } };
    case OrgMemberStatus.ACTIVE:
      return { status: 'active' };
    case OrgMemberStatus.SUSPENDED:
      return { status: 'suspended' };
    case OrgMemberStatus.REMOVED:
      return { status: 'removed' };
    default:
      return { status: { in: ['invited', 'active', 'suspended'] } };
  }
}

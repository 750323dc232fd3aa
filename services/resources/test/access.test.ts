import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { describe, expect, test } from '@jest/globals';
import { effectiveAccess } from '../src/domain/access.js';
import type { Grant } from '../src/domain/grant.js';
import type { Role } from '../src/domain/role.js';

const NOW = '2026-01-02T00:00:00.000Z';
const W = 'workspace';

function grant(resourceId: string, role: Role, expiresAt?: string): Grant {
  return {
    id: `g-${resourceId}-${role}`,
    version: 1,
    tenant: W,
    workspaceId: W,
    resourceId,
    principal: 'user:me',
    role,
    grantedBy: { type: 'user', id: 'x', name: 'X' },
    createdAt: NOW,
    ...(expiresAt === undefined ? {} : { expiresAt }),
  };
}

const open = { id: 'leaf', workspaceId: W, ancestors: ['top', 'mid'], boundary: W };
const cut = { ...open, boundary: 'mid' };

describe('effective access', () => {
  test.each([
    [WorkspaceRole.OWNER, 'owner'],
    [WorkspaceRole.ADMIN, 'manager'],
    [WorkspaceRole.EDITOR, 'editor'],
    [WorkspaceRole.COMMENTER, 'commenter'],
    [WorkspaceRole.VIEWER, 'viewer'],
    [WorkspaceRole.GUEST, undefined],
    [undefined, undefined],
  ])('a workspace %s has the role %s on what inherits', (role, expected) => {
    expect(effectiveAccess(open, role, [], NOW)?.role).toBe(expected);
  });

  test.each([
    [WorkspaceRole.OWNER, 'manager'],
    [WorkspaceRole.ADMIN, 'manager'],
    [WorkspaceRole.EDITOR, undefined],
    [WorkspaceRole.VIEWER, undefined],
  ])('below a restriction a workspace %s has the role %s', (role, expected) => {
    expect(effectiveAccess(cut, role, [], NOW)?.role).toBe(expected);
  });

  test('the greatest of all that holds counts', () => {
    const access = effectiveAccess(
      open,
      WorkspaceRole.VIEWER,
      [grant('top', 'editor'), grant('leaf', 'commenter')],
      NOW,
    );
    expect(access).toMatchObject({ role: 'editor', source: 'ancestor', sourceResourceId: 'top' });
  });

  test('a grant above a restriction does not reach below it, one on it does', () => {
    expect(effectiveAccess(cut, undefined, [grant('top', 'owner')], NOW)).toBeUndefined();
    expect(effectiveAccess(cut, undefined, [grant('mid', 'viewer')], NOW)?.role).toBe('viewer');
  });

  test('a grant on the restricted node itself is direct', () => {
    const self = { id: 'mid', workspaceId: W, ancestors: ['top'], boundary: 'mid' };
    expect(effectiveAccess(self, undefined, [grant('mid', 'manager')], NOW)).toMatchObject({ source: 'direct' });
  });

  test('an expired grant is none', () => {
    expect(effectiveAccess(open, undefined, [grant('leaf', 'editor', NOW)], NOW)).toBeUndefined();
    expect(effectiveAccess(open, undefined, [grant('leaf', 'editor', '2026-01-02T00:00:00.001Z')], NOW)?.role).toBe(
      'editor',
    );
  });
});

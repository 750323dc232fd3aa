import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { describe, expect, test } from '@jest/globals';
import { type Access, effectiveAccess, lesserAccess } from '../src/domain/access.js';
import type { Grant } from '../src/domain/grant.js';
import type { Node } from '../src/domain/node.js';
import type { Role } from '../src/domain/role.js';
import { type AccessSubject, createPolicy, type PolicyParts } from '../src/policy.js';

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

/** The access subject of a guest, who can see what grants say and nothing else. */
function guest(): AccessSubject {
  const own = { workspaces: new Map(), orgs: new Map([[W, {}]]), principals: ['user:me'] };
  return {
    call: undefined,
    caller: { userId: 'me', credential: { type: 'session', id: 's', scopes: [] } },
    person: own,
    own,
    agent: undefined,
    now: NOW,
    link: undefined,
    principals: own.principals,
    held: new Map(),
    refresh: async () => {},
    terms: () => Promise.reject(new Error('not asked for')),
  } as unknown as AccessSubject;
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

  test('the greatest valid role applies', () => {
    const access = effectiveAccess(
      open,
      WorkspaceRole.VIEWER,
      [grant('top', 'editor'), grant('leaf', 'commenter')],
      NOW,
    );
    expect(access).toMatchObject({ role: 'editor', source: 'ancestor', sourceResourceId: 'top' });
  });

  test('a grant above a restriction does not apply below it, but a grant on it does', () => {
    expect(effectiveAccess(cut, undefined, [grant('top', 'owner')], NOW)).toBeUndefined();
    expect(effectiveAccess(cut, undefined, [grant('mid', 'viewer')], NOW)?.role).toBe('viewer');
  });

  test('a grant on the restricted node itself is direct', () => {
    const self = { id: 'mid', workspaceId: W, ancestors: ['top'], boundary: 'mid' };
    expect(effectiveAccess(self, undefined, [grant('mid', 'manager')], NOW)).toMatchObject({ source: 'direct' });
  });

  test('is break-glass only below a restriction, for administrators without a valid grant in its reach', () => {
    const breakGlass = (role: WorkspaceRole, grants: Grant[], node = cut) =>
      effectiveAccess(node, role, grants, NOW)?.breakGlass;
    const { OWNER, ADMIN } = WorkspaceRole;
    expect(breakGlass(OWNER, [])).toBe(true);
    expect(breakGlass(ADMIN, [grant('top', 'owner'), grant('leaf', 'viewer', NOW)])).toBe(true);
    for (const held of [grant('mid', 'viewer'), grant('leaf', 'manager'), grant('leaf', 'owner')]) {
      expect(breakGlass(ADMIN, [held])).toBeUndefined();
    }
    expect(breakGlass(OWNER, [], open)).toBeUndefined();
  });

  test('is break-glass if the person’s is, however less those may who limit it', () => {
    const persons: Access = { role: 'manager', source: 'workspace', breakGlass: true };
    const limit: Access = { role: 'viewer', source: 'agent', expiresAt: NOW };
    expect(lesserAccess(persons, limit)).toEqual({ ...limit, breakGlass: true });
    expect(lesserAccess({ role: 'viewer', source: 'direct' }, persons)).toEqual({ role: 'viewer', source: 'direct' });
    expect(lesserAccess({ role: 'owner', source: 'direct' }, persons)).toEqual({
      role: 'manager',
      source: 'workspace',
    });
  });

  test('an expired grant does not apply', () => {
    expect(effectiveAccess(open, undefined, [grant('leaf', 'editor', NOW)], NOW)).toBeUndefined();
    expect(effectiveAccess(open, undefined, [grant('leaf', 'editor', '2026-01-02T00:00:00.001Z')], NOW)?.role).toBe(
      'editor',
    );
  });
});

test('concurrent checks of one request share a query', async () => {
  const queries: (() => void)[] = [];
  const grants = {
    find: () =>
      new Promise<Grant[]>((answer) => {
        queries.push(() => answer([grant('top', 'editor')]));
      }),
  } as unknown as PolicyParts['grants'];
  const policy = createPolicy({ grants } as PolicyParts);
  const subject = guest();
  const node = (id: string): Node => ({ ...open, id, tenant: W, principals: ['user:me'] }) as unknown as Node;
  const checks = [
    policy.accessTo(node('leaf'), subject),
    policy.accessTo(node('leaf'), subject),
    policy.accessToAll([node('leaf'), node('other')], subject).then(([first]) => first),
  ];
  await new Promise(setImmediate);
  for (const answer of queries.splice(0)) answer();
  for (const access of await Promise.all(checks)) expect(access).toMatchObject({ role: 'editor', source: 'ancestor' });
});

import { foldName } from '@commonplace/kit/words';
import { WorkspaceRole as WorkspaceRoleName } from '@commonplace/proto/tenancy/v1/role.js';
import { describe, expect, test } from '@jest/globals';
import { hashToken, inviteUrl, newToken } from '../src/domain/invitation.js';
import { givenFields, maskOf, mergeSettings } from '../src/domain/mask.js';
import {
  effectiveRole,
  greaterOrgRole,
  ORG_ROLES,
  orgRoleName,
  orgRoleOf,
  WORKSPACE_ROLES,
  workspaceRoleAtLeast,
  workspaceRoleName,
  workspaceRoleOf,
} from '../src/domain/roles.js';
import { freeSlug, requireSlug, slugOf } from '../src/domain/slug.js';
import { isOfDomains } from '../src/domain/text.js';

describe('roles', () => {
  test('have the names of the contract, and are ordered', () => {
    for (const role of ORG_ROLES) expect(orgRoleOf(orgRoleName(role))).toBe(role);
    for (const role of WORKSPACE_ROLES) expect(workspaceRoleOf(workspaceRoleName(role))).toBe(role);
    expect(workspaceRoleOf(WorkspaceRoleName.UNSPECIFIED)).toBeUndefined();
    for (const [at, role] of WORKSPACE_ROLES.entries()) {
      for (const [least, other] of WORKSPACE_ROLES.entries())
        expect(workspaceRoleAtLeast(role, other)).toBe(at >= least);
    }
    expect(greaterOrgRole('guest', 'admin')).toBe('admin');
    expect(greaterOrgRole('owner', 'admin')).toBe('owner');
  });

  test.each([
    [undefined, undefined, 'member', undefined],
    ['viewer', undefined, 'guest', 'viewer'],
    [undefined, 'editor', 'member', 'editor'],
    [undefined, 'editor', 'owner', 'editor'],
    [undefined, 'editor', 'guest', undefined],
    [undefined, 'editor', undefined, undefined],
    ['guest', 'viewer', 'member', 'viewer'],
    ['admin', 'viewer', 'member', 'admin'],
    ['guest', 'viewer', 'guest', 'guest'],
  ] as const)('resolve direct %s, default %s, in the Org %s to %s', (direct, byDefault, orgRole, expected) => {
    expect(effectiveRole(direct, byDefault, orgRole)).toBe(expected);
  });
});

describe('slugs', () => {
  test('are derived from names by transliteration, within length limits', async () => {
    expect(slugOf('Größe & Maß')).toBe('groesse-and-mass');
    expect(slugOf('Привет, мир')).toBe('privet-mir');
    expect(slugOf('日本')).toBe('');
    const long = slugOf(`${'ab '.repeat(60)}`);
    expect(long.length).toBeLessThanOrEqual(60);
    expect(requireSlug(long)).toBe(long);
    expect(await freeSlug('Team', async () => false)).toBe('team');
    expect(await freeSlug('Team', async () => true)).toMatch(/^team-[a-z0-9]{8}$/);
    expect(await freeSlug('😀', async () => true)).toMatch(/^[a-z0-9]{8}$/);
  });

  test.each(['', 'A', 'a b', '-a', 'a-', 'a--b', 'a.b', 'ä', '../x', 'x'.repeat(81)])('refuse %p', (slug) => {
    expect(() => requireSlug(slug)).toThrow(expect.objectContaining({ reason: 'invalid_slug' }));
  });
});

describe('masks', () => {
  test('separate top-level fields from settings, and merge the latter', () => {
    const mask = maskOf(['name', 'settings.trash_retention_days', 'settings.locale']);
    expect([mask.has('name'), mask.has('slug'), mask.has('settings.locale')]).toEqual([true, false, true]);
    expect(mask.settings).toEqual(['trashRetentionDays', 'locale']);
    expect(mask.fields).toEqual(['name', 'settings']);
    const before = { locale: 'de', timezone: 'UTC' };
    expect(mergeSettings(before, { locale: 'fr' }, ['locale'])).toEqual({ locale: 'fr', timezone: 'UTC' });
    expect(mergeSettings(before, {}, ['locale'])).toEqual({ timezone: 'UTC' });
    expect(givenFields({ a: 1, b: undefined, c: [], d: false })).toEqual(['a', 'd']);
  });
});

describe('text', () => {
  test('folds width and case, and compares whole domains', () => {
    expect(foldName('ＡＢＣ ßẞ')).toBe('abc ßß');
    expect(isOfDomains('A@X.org', ['x.org'])).toBe(true);
    expect(isOfDomains('a@notx.org', ['x.org'])).toBe(false);
    expect(isOfDomains('a@sub.x.org', ['x.org'])).toBe(false);
    expect(isOfDomains('a@b', [])).toBe(true);
    // This letter becomes longer in lower case.
    expect(isOfDomains('\u0130pek@x.org', ['x.org'])).toBe(true);
  });
});

test('a token is long, its hash does not reveal it, and the link contains it', () => {
  const token = newToken();
  expect(token).toMatch(/^[\w-]{43}$/);
  expect(newToken()).not.toBe(token);
  expect(hashToken(token)).toBe(hashToken(token));
  expect(hashToken(token)).not.toContain(token);
  expect(inviteUrl('https://example.org', token)).toBe(`https://example.org/auth/sign-up?invite=${token}`);
});

import { eventually } from '@commonplace/kit/testing';
import { AgentApprovalMinimum, OrgStatus } from '@commonplace/proto/tenancy/v1/org.js';
import { ListOrgsRequest } from '@commonplace/proto/tenancy/v1/org_service.js';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openWorld, page, type World, withKey, withTenant } from './world.js';

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const list = async (caller: Parameters<World['as']>[0], fields: Partial<ListOrgsRequest> = {}) =>
  world.orgs.listOrgs({ ...ListOrgsRequest.fromPartial({ page: page() }), ...fields }, await world.as(caller));

describe('creating', () => {
  test('makes the creator the owner, and sets all defaults', async () => {
    const owner = world.person();
    const org = await world.createOrg(owner, { name: 'Acme Ünited', description: 'We make things' });
    expect(org).toMatchObject({
      name: 'Acme Ünited',
      slug: 'acme-uenited',
      description: 'We make things',
      status: OrgStatus.ACTIVE,
      role: OrgRole.OWNER,
      memberCount: 1,
      workspaceCount: 0,
      version: 1,
      avatarUrl: undefined,
    });
    expect(org.settings).toEqual({
      membersCanCreateWorkspaces: true,
      allowPublicPublishing: true,
      allowExternalSharing: true,
      allowedEmailDomains: [],
      urlAllowlist: [],
      defaultWorkspaceRole: undefined,
      agentApprovalMinimum: undefined,
      approvalsByKey: false,
      maxKeyLifetimeDays: undefined,
      dataRegion: undefined,
    });
    expect(await world.orgs.getOrg({ orgId: org.id }, await world.as(owner))).toEqual(org);
    await eventually(() => {
      const events = world.events.filter(({ tenant }) => tenant === org.id);
      expect(events.map(({ type }) => type)).toEqual([
        'commonplace.tenancy.org.created',
        'commonplace.tenancy.org_member.added',
      ]);
      expect(events[1]?.data).toMatchObject({ orgId: org.id, userId: owner.userId, role: 'owner', status: 'active' });
    });
  });

  test('accepts or refuses a requested slug, and derives a free one from the name', async () => {
    const owner = world.person();
    await world.createOrg(owner, { name: 'Twice', slug: 'twice' });
    await expect(world.createOrg(owner, { name: 'Other', slug: 'twice' })).rejects.toMatchObject({
      code: 'ABORTED',
      reason: 'slug_taken',
    });
    const second = await world.createOrg(owner, { name: 'Twice' });
    expect(second.slug).toMatch(/^twice-[a-z0-9]{8}$/);
    expect((await world.createOrg(owner, { name: '日本' })).slug).toMatch(/^[a-z0-9]{8}$/);
    for (const slug of ['', 'Big', 'a b', '-a', 'a--b', 'a_b', 'ü', 'x'.repeat(81)]) {
      await expect(world.createOrg(owner, { slug })).rejects.toMatchObject({ reason: 'invalid_slug', param: 'slug' });
    }
  });

  test('gives concurrent Orgs with one name different slugs, and one requested slug only once', async () => {
    const owner = world.person();
    const made = await Promise.all(Array.from({ length: 8 }, () => world.createOrg(owner, { name: 'Rush' })));
    expect(new Set(made.map(({ slug }) => slug)).size).toBe(8);
    const outcomes = await Promise.allSettled(
      Array.from({ length: 6 }, () => world.createOrg(owner, { name: 'Rush', slug: 'rush-hour' })),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ reason: 'slug_taken' });
    }
  });

  test('is allowed for a Personal key, and not for an Org key', async () => {
    const owner = world.person();
    const org = await world.createOrg(withKey(owner, null));
    expect(org.role).toBe(OrgRole.OWNER);
    await expect(world.createOrg(withKey(owner, org.id))).rejects.toMatchObject({ reason: 'tenant_boundary' });
    await expect(world.createOrg(withTenant(owner, org.id))).rejects.toMatchObject({ reason: 'tenant_boundary' });
  });

  test('validates settings, and reports all faults at once', async () => {
    const owner = world.person();
    const org = await world.createOrg(owner, {
      settings: {
        defaultWorkspaceRole: WorkspaceRole.COMMENTER,
        allowedEmailDomains: ['@Example.COM'],
        agentApprovalMinimum: AgentApprovalMinimum.ALWAYS,
        membersCanCreateWorkspaces: false,
      },
    });
    expect(org.settings).toMatchObject({
      defaultWorkspaceRole: WorkspaceRole.COMMENTER,
      allowedEmailDomains: ['example.com'],
      agentApprovalMinimum: AgentApprovalMinimum.ALWAYS,
      membersCanCreateWorkspaces: false,
    });
    const wrong = world.createOrg(owner, {
      settings: {
        defaultWorkspaceRole: WorkspaceRole.ADMIN,
        allowedEmailDomains: ['not a domain'],
        urlAllowlist: ['', '*.example.org'],
      },
    });
    await expect(wrong).rejects.toMatchObject({
      reason: 'validation_failed',
      faults: [
        { param: 'settings.default_workspace_role', code: 'invalid_value' },
        { param: 'settings.allowed_email_domains[0]', code: 'invalid_value' },
        { param: 'settings.url_allowlist[0]', code: 'invalid_url' },
      ],
    });
    await expect(world.createOrg(owner, { avatarFileId: owner.userId })).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});

describe('access and changes', () => {
  const outcome = async (act: Promise<unknown>) =>
    act.then(
      () => 'ok',
      (error: { reason: string }) => error.reason,
    );

  test.each([
    // role, name, status, delete
    [OrgRole.GUEST, 'insufficient_role', 'insufficient_role', 'insufficient_role'],
    [OrgRole.MEMBER, 'insufficient_role', 'insufficient_role', 'insufficient_role'],
    [OrgRole.ADMIN, 'ok', 'insufficient_role', 'insufficient_role'],
    [OrgRole.OWNER, 'ok', 'ok', 'ok'],
    [undefined, 'not_found', 'not_found', 'not_found'],
  ])('%s', async (role, name, status, remove) => {
    const owner = world.person();
    const org = await world.createOrg(owner);
    const caller = role === undefined ? world.person() : (await world.join(owner, org.id, role)).caller;
    const read = world.orgs.getOrg({ orgId: org.id }, await world.as(caller));
    expect(await outcome(read)).toBe(role === undefined ? 'not_found' : 'ok');
    if (role !== undefined) {
      const { settings, memberCount } = await read;
      expect(settings === undefined).toBe(role !== OrgRole.ADMIN && role !== OrgRole.OWNER);
      expect(memberCount).toBe(2);
    }
    expect(await outcome(world.updateOrg(caller, org.id, { updateMask: ['name'], name: 'New' }))).toBe(name);
    const activate = { updateMask: ['status'], status: OrgStatus.ACTIVE };
    expect(await outcome(world.updateOrg(caller, org.id, activate))).toBe(status);
    const deletion = world.orgs.deleteOrg({ orgId: org.id, confirm: undefined }, await world.as(caller));
    expect(await outcome(deletion)).toBe(remove);
  });

  test('changes only the fields in the mask, clears with null, and checks the version', async () => {
    const owner = world.person();
    const org = await world.createOrg(owner, {
      name: 'Before',
      description: 'old',
      settings: { defaultWorkspaceRole: WorkspaceRole.VIEWER, maxKeyLifetimeDays: 30 },
    });
    const changed = await world.updateOrg(owner, org.id, {
      updateMask: ['description', 'settings.default_workspace_role', 'settings.allow_external_sharing'],
      name: undefined,
      settings: { allowExternalSharing: false },
    });
    expect(changed).toMatchObject({ name: 'Before', slug: org.slug, description: undefined, version: 2 });
    expect(changed.settings).toMatchObject({
      defaultWorkspaceRole: undefined,
      allowExternalSharing: false,
      maxKeyLifetimeDays: 30,
    });
    const stale = world.orgs.updateOrg(
      { ...request(org.id), updateMask: ['name'], name: 'Late' },
      await world.as(owner, { baseVersion: 1 }),
    );
    await expect(stale).rejects.toMatchObject({ reason: 'version_conflict', details: { current_version: 2 } });
    await expect(
      world.updateOrg(owner, org.id, { updateMask: ['status'], status: OrgStatus.DELETION_SCHEDULED }),
    ).rejects.toMatchObject({ reason: 'invalid_value', param: 'status' });
    await world.createOrg(owner, { slug: 'somebody-elses' });
    await expect(
      world.updateOrg(owner, org.id, { updateMask: ['slug'], slug: 'somebody-elses' }),
    ).rejects.toMatchObject({ reason: 'slug_taken' });
    expect((await world.updateOrg(owner, org.id, { updateMask: ['slug'], slug: org.slug })).slug).toBe(org.slug);
  });
});

const request = (orgId: string) => ({
  orgId,
  updateMask: [] as string[],
  settings: undefined,
});

describe('deleting', () => {
  test('hides the Org from everyone at once, until an owner restores it', async () => {
    const owner = world.person();
    const org = await world.createOrg(owner, { name: 'Gone' });
    const { caller: admin } = await world.join(owner, org.id, OrgRole.ADMIN);
    const workspace = await world.createWorkspace(owner, { orgId: org.id });
    const remove = async (confirm?: string) => world.orgs.deleteOrg({ orgId: org.id, confirm }, await world.as(owner));
    await expect(remove('wrong')).rejects.toMatchObject({ reason: 'invalid_value', param: 'confirm' });
    const { purgeAt } = await remove(org.slug);
    expect(Date.parse(purgeAt ?? '') - world.clock()).toBeGreaterThan(29 * 86_400_000);

    for (const caller of [owner, admin, withKey(owner, org.id), withKey(owner, null)]) {
      const read = world.orgs.getOrg({ orgId: org.id }, await world.as(caller));
      await expect(read).rejects.toMatchObject({ reason: 'not_found' });
    }
    await expect(world.getWorkspace(owner, workspace.id)).rejects.toMatchObject({ reason: 'not_found' });
    await expect(remove()).rejects.toMatchObject({ reason: 'not_found' });
    const memberships = await world.directory.getMemberships({ userId: owner.userId }, await world.system());
    expect(memberships).toMatchObject({ orgs: [], workspaces: [] });
    const hidden = { status: OrgStatus.DELETION_SCHEDULED };
    expect((await list(owner)).items).toEqual([]);
    expect((await list(owner, hidden)).items).toMatchObject([{ id: org.id, status: OrgStatus.DELETION_SCHEDULED }]);
    expect((await list(admin, hidden)).items).toEqual([]);

    const undo = { updateMask: ['status'], status: OrgStatus.ACTIVE };
    await expect(world.updateOrg(admin, org.id, undo)).rejects.toMatchObject({ reason: 'not_found' });
    await expect(world.updateOrg(owner, org.id, { updateMask: ['name'], name: 'x' })).rejects.toMatchObject({
      reason: 'not_found',
    });
    expect(await world.updateOrg(owner, org.id, undo)).toMatchObject({ status: OrgStatus.ACTIVE, workspaceCount: 1 });
    expect((await world.getWorkspace(owner, workspace.id)).id).toBe(workspace.id);
    await eventually(() => {
      const verbs = world.events.filter(({ subject }) => subject === org.id).map(({ type }) => type.split('.').at(-1));
      expect(verbs).toEqual(expect.arrayContaining(['deleted', 'restored']));
    });
  });
});

describe('listing', () => {
  test('shows a session all Orgs, and X-Tenant and keys only their own', async () => {
    const person = world.person();
    const first = await world.createOrg(person, { name: 'B' });
    const second = await world.createOrg(person, { name: 'A' });
    const ids = async (caller: typeof person) => (await list(caller)).items.map(({ id }) => id);
    expect(await ids(person)).toEqual([first.id, second.id]);
    expect(await ids(withTenant(person, second.id))).toEqual([second.id]);
    expect(await ids(withKey(person, first.id))).toEqual([first.id]);
    expect(await ids(withKey(person, null))).toEqual([]);
    expect(await ids(world.person())).toEqual([]);
  });

  test('pages by offset and by cursor', async () => {
    const person = world.person();
    for (let made = 0; made < 5; made++) await world.createOrg(person);
    const whole = (await list(person)).items.map(({ id }) => id);
    const first = await list(person, { page: page(2) });
    expect(first.page).toMatchObject({ limit: 2, offset: 0, total: 5, hasMore: true, nextOffset: 2 });
    const second = await list(person, { page: page(2, 2) });
    const third = await list(person, { page: page(2, 0, second.page?.nextCursor) });
    expect([...first.items, ...second.items, ...third.items].map(({ id }) => id)).toEqual(whole);
    expect(third.page).toMatchObject({ hasMore: false, nextCursor: undefined });
    await expect(list(person, { page: page(2, 0, 'junk') })).rejects.toMatchObject({ reason: 'invalid_pagination' });
  });
});

import type { Caller } from '@commonplace/kit/auth';
import { eventually } from '@commonplace/kit/testing';
import { ActorType } from '@commonplace/proto/api/v1/actor.js';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { WorkspaceState } from '@commonplace/proto/tenancy/v1/workspace.js';
import { WorkspaceStateFilter } from '@commonplace/proto/tenancy/v1/workspace_service.js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { openWorld, page, type World, withKey, withTenant } from './world.js';

let world: World;
let owner: Caller;
let orgId: string;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());
beforeEach(async () => {
  owner = world.person();
  orgId = (await world.createOrg(owner)).id;
});

const outcome = (act: Promise<unknown>) =>
  act.then(
    () => 'ok',
    (error: { reason: string }) => error.reason,
  );

describe('creating', () => {
  test('in an Org makes the creator its owner, and sets all defaults', async () => {
    const made = await world.createWorkspace(owner, { orgId, name: 'Team Ｒoom', icon: '🪑' });
    expect(made).toMatchObject({
      orgId,
      name: 'Team Ｒoom',
      icon: '🪑',
      description: undefined,
      state: WorkspaceState.ACTIVE,
      role: WorkspaceRole.OWNER,
      defaultRole: undefined,
      counts: { resources: 0, members: 1 },
      createdBy: { type: ActorType.USER, id: owner.userId, name: owner.userName },
      archivedAt: undefined,
      version: 1,
    });
    expect(made.settings).toEqual({
      timezone: 'UTC',
      locale: 'en',
      trashRetentionDays: 30,
      editorsCanShare: false,
      allowAccessRequests: true,
      allowExternalAccessRequests: false,
      searchLanguages: [],
      withholdOnRevoke: false,
    });
    expect(await world.getWorkspace(owner, made.id)).toEqual(made);
    await eventually(() => {
      const events = world.events.filter(({ subject }) => subject === made.id);
      expect(events.map(({ type, tenant }) => [type, tenant])).toEqual([
        ['commonplace.tenancy.workspace.created', orgId],
        ['commonplace.tenancy.workspace_member.added', orgId],
      ]);
    });
  });

  test('makes a Personal workspace its own tenant, and follows the tenant of the credential', async () => {
    const personal = await world.createWorkspace(owner);
    expect(personal.orgId).toBeUndefined();
    expect((await world.createWorkspace(withKey(owner, null))).orgId).toBeUndefined();
    expect((await world.createWorkspace(withKey(owner, orgId))).orgId).toBe(orgId);
    expect((await world.createWorkspace(withTenant(owner, orgId))).orgId).toBe(orgId);
    await eventually(() => {
      expect(world.events.find(({ subject }) => subject === personal.id)?.tenant).toBe(personal.id);
    });
  });

  test.each([
    [OrgRole.GUEST, 'insufficient_role', 'insufficient_role'],
    [OrgRole.MEMBER, 'ok', 'insufficient_role'],
    [OrgRole.ADMIN, 'ok', 'ok'],
    [OrgRole.OWNER, 'ok', 'ok'],
    [undefined, 'not_found', 'not_found'],
  ])('%s', async (role, open, closed) => {
    const caller = role === undefined ? world.person() : (await world.join(owner, orgId, role)).caller;
    expect(await outcome(world.createWorkspace(caller, { orgId }))).toBe(open);
    await world.updateOrg(owner, orgId, {
      updateMask: ['settings.members_can_create_workspaces'],
      settings: { membersCanCreateWorkspaces: false },
    });
    expect(await outcome(world.createWorkspace(caller, { orgId }))).toBe(closed);
  });

  test("uses the given default role, or the Org's, and refuses high ones", async () => {
    await world.updateOrg(owner, orgId, {
      updateMask: ['settings.default_workspace_role'],
      settings: { defaultWorkspaceRole: WorkspaceRole.VIEWER },
    });
    expect((await world.createWorkspace(owner, { orgId })).defaultRole).toBe(WorkspaceRole.VIEWER);
    const given = await world.createWorkspace(owner, { orgId, defaultRole: WorkspaceRole.EDITOR });
    expect(given.defaultRole).toBe(WorkspaceRole.EDITOR);
    for (const defaultRole of [WorkspaceRole.GUEST, WorkspaceRole.ADMIN, WorkspaceRole.OWNER]) {
      const wrong = world.createWorkspace(owner, { orgId, defaultRole });
      await expect(wrong).rejects.toMatchObject({ reason: 'invalid_value', param: 'default_role' });
    }
    const personal = world.createWorkspace(owner, { defaultRole: WorkspaceRole.VIEWER });
    await expect(personal).rejects.toMatchObject({ reason: 'invalid_value', param: 'default_role' });
  });

  test('requires a unique slug in its Org, or among the Personal workspaces of a person', async () => {
    await world.createWorkspace(owner, { orgId, slug: 'room' });
    expect(await outcome(world.createWorkspace(owner, { orgId, slug: 'room' }))).toBe('slug_taken');
    expect((await world.createWorkspace(owner, { slug: 'room' })).slug).toBe('room');
    expect(await outcome(world.createWorkspace(owner, { slug: 'room' }))).toBe('slug_taken');
    expect((await world.createWorkspace(world.person(), { slug: 'room' })).slug).toBe('room');
    expect((await world.createWorkspace(owner, { orgId, name: 'Room' })).slug).toMatch(/^room-\w{8}$/);
    expect(await outcome(world.createWorkspace(owner, { slug: 'No' }))).toBe('invalid_slug');
    const rush = await Promise.all(
      Array.from({ length: 6 }, () => world.createWorkspace(owner, { orgId, name: 'Rush' })),
    );
    expect(new Set(rush.map(({ slug }) => slug)).size).toBe(6);
  });

  test('refuses contradictory requests', async () => {
    const settings = { timezone: 'Mars/Olympus', locale: 'not a locale', searchLanguages: ['de', '!'] };
    await expect(world.createWorkspace(owner, { settings })).rejects.toMatchObject({
      reason: 'validation_failed',
      faults: [
        { param: 'settings.timezone', code: 'invalid_timezone' },
        { param: 'settings.locale', code: 'invalid_value' },
        { param: 'settings.search_languages[1]', code: 'invalid_value' },
      ],
    });
    expect(await outcome(world.createWorkspace(owner, { settings: { timezone: '+02:00' } }))).toBe('invalid_timezone');
    expect(await outcome(world.createWorkspace(owner, { templateId: orgId }))).toBe('not_found');
    const fine = await world.createWorkspace(owner, {
      settings: { timezone: 'europe/zurich', locale: 'pt-br', searchLanguages: ['DE', 'pt-br', 'de'] },
    });
    expect(fine.settings).toMatchObject({
      ...{ timezone: 'Europe/Zurich', locale: 'pt-BR', searchLanguages: ['de', 'pt-BR'] },
    });
  });
});

describe('each role', () => {
  test.each([
    // role, read, change
    [WorkspaceRole.GUEST, 'ok', 'insufficient_role'],
    [WorkspaceRole.VIEWER, 'ok', 'insufficient_role'],
    [WorkspaceRole.COMMENTER, 'ok', 'insufficient_role'],
    [WorkspaceRole.EDITOR, 'ok', 'insufficient_role'],
    [WorkspaceRole.ADMIN, 'ok', 'ok'],
    [WorkspaceRole.OWNER, 'ok', 'ok'],
    [undefined, 'not_found', 'not_found'],
  ])('%s', async (role, reads, changes) => {
    for (const orgRole of [OrgRole.GUEST, OrgRole.MEMBER]) {
      const workspace = await world.createWorkspace(owner, { orgId });
      const { caller } = await world.join(owner, orgId, orgRole);
      if (role !== undefined) await world.put(owner, workspace.id, caller, role);
      expect(await outcome(world.getWorkspace(caller, workspace.id))).toBe(reads);
      const rename = { updateMask: ['name'], name: 'New' };
      expect(await outcome(world.updateWorkspace(caller, workspace.id, rename))).toBe(changes);
      if (role !== undefined) expect((await world.getWorkspace(caller, workspace.id)).role).toBe(role);
    }
  });

  test('an administrator of the Org sees it without a role, and cannot change it', async () => {
    const { caller: creator } = await world.join(owner, orgId, OrgRole.MEMBER);
    const workspace = await world.createWorkspace(creator, { orgId });
    for (const orgRole of [OrgRole.ADMIN, OrgRole.OWNER]) {
      const { caller } = await world.join(owner, orgId, orgRole);
      expect((await world.getWorkspace(caller, workspace.id)).role).toBeUndefined();
      const rename = { updateMask: ['name'], name: 'New' };
      expect(await outcome(world.updateWorkspace(caller, workspace.id, rename))).toBe('insufficient_role');
    }
  });

  test('the default role applies to members and not to guests, and the greater role counts', async () => {
    const workspace = await world.createWorkspace(owner, { orgId, defaultRole: WorkspaceRole.COMMENTER });
    const roleOf = async (orgRole: OrgRole, own?: WorkspaceRole) => {
      const { caller } = await world.join(owner, orgId, orgRole);
      if (own !== undefined) await world.put(owner, workspace.id, caller, own);
      return world.getWorkspace(caller, workspace.id).then(
        ({ role }) => role,
        ({ reason }) => reason,
      );
    };
    expect(await roleOf(OrgRole.MEMBER)).toBe(WorkspaceRole.COMMENTER);
    expect(await roleOf(OrgRole.ADMIN)).toBe(WorkspaceRole.COMMENTER);
    expect(await roleOf(OrgRole.GUEST)).toBe('not_found');
    expect(await roleOf(OrgRole.MEMBER, WorkspaceRole.VIEWER)).toBe(WorkspaceRole.COMMENTER);
    expect(await roleOf(OrgRole.MEMBER, WorkspaceRole.ADMIN)).toBe(WorkspaceRole.ADMIN);
    expect(await roleOf(OrgRole.GUEST, WorkspaceRole.VIEWER)).toBe(WorkspaceRole.VIEWER);
    expect((await world.getWorkspace(owner, workspace.id)).counts?.members).toBe(6);
  });
});

describe('changing', () => {
  test('changes only the fields in the mask, and loses no concurrent change', async () => {
    const made = await world.createWorkspace(owner, {
      orgId,
      description: 'old',
      settings: { timezone: 'Asia/Tokyo' },
    });
    const changed = await world.updateWorkspace(owner, made.id, {
      updateMask: ['description', 'default_role', 'settings.locale', 'settings.trash_retention_days'],
      defaultRole: WorkspaceRole.VIEWER,
      settings: { locale: 'de', trashRetentionDays: 7 },
    });
    expect(changed).toMatchObject({ name: 'Workspace', description: undefined, defaultRole: WorkspaceRole.VIEWER });
    expect(changed.settings).toMatchObject({ timezone: 'Asia/Tokyo', locale: 'de', trashRetentionDays: 7 });
    const cleared = await world.updateWorkspace(owner, made.id, { updateMask: ['default_role'] });
    expect(cleared).toMatchObject({ defaultRole: undefined, version: 3 });
    const stale = { workspaceId: made.id, updateMask: ['name'], name: 'Late', settings: undefined };
    const late = world.workspaces.updateWorkspace(stale, await world.as(owner, { baseVersion: 2 }));
    await expect(late).rejects.toMatchObject({ reason: 'version_conflict' });
    await eventually(() => {
      const events = world.events.filter(({ subject, type }) => subject === made.id && type.endsWith('updated'));
      expect(events.map(({ data }) => data)).toEqual([
        { workspaceId: made.id, orgId, changedFields: ['description', 'default_role', 'settings'], version: 2 },
        { workspaceId: made.id, orgId, changedFields: ['default_role'], version: 3 },
      ]);
    });
  });

  test('refuses changes of an archived workspace, except activating it', async () => {
    const made = await world.createWorkspace(owner, { orgId });
    await world.archive(made.id);
    expect((await world.getWorkspace(owner, made.id)).state).toBe(WorkspaceState.ARCHIVED);
    const rename = { updateMask: ['name'], name: 'New' };
    expect(await outcome(world.updateWorkspace(owner, made.id, rename))).toBe('workspace_archived');
    const archive = { updateMask: ['state'], state: WorkspaceState.ARCHIVED };
    expect(await outcome(world.updateWorkspace(owner, made.id, archive))).toBe('invalid_value');
    const person = world.person();
    expect(await outcome(world.add(owner, made.id, { email: person.userEmail }))).toBe('workspace_archived');
    const active = await world.updateWorkspace(owner, made.id, {
      updateMask: ['state', 'name'],
      state: WorkspaceState.ACTIVE,
      name: 'Back',
    });
    expect(active).toMatchObject({ state: WorkspaceState.ACTIVE, name: 'Back', archivedAt: undefined });
    await eventually(() => {
      const types = world.events.filter(({ subject }) => subject === made.id).map(({ type }) => type.split('.').at(-1));
      expect(types).toEqual(['created', 'added', 'unarchived', 'updated']);
    });
  });
});

describe('listing', () => {
  test('shows people their own workspaces, and administrators all of the Org', async () => {
    const { caller: member } = await world.join(owner, orgId, OrgRole.MEMBER);
    const { caller: admin } = await world.join(owner, orgId, OrgRole.ADMIN);
    const { caller: guest } = await world.join(owner, orgId, OrgRole.GUEST);
    await world.createWorkspace(owner, { orgId, name: 'Closed' });
    await world.createWorkspace(owner, { orgId, name: 'Open', defaultRole: WorkspaceRole.EDITOR });
    const shared = await world.createWorkspace(owner, { orgId, name: 'Shared' });
    await world.put(owner, shared.id, member, WorkspaceRole.VIEWER);
    await world.put(owner, shared.id, guest, WorkspaceRole.GUEST);
    await world.createWorkspace(owner, { name: 'Mine' });
    const names = async (caller: Caller) => (await world.listWorkspaces(caller, { orgId })).names;
    expect(await names(member)).toEqual(['Open', 'Shared']);
    expect(await names(guest)).toEqual(['Shared']);
    expect(await names(admin)).toEqual(['Closed', 'Open', 'Shared']);
    expect((await world.listWorkspaces(admin, { orgId })).items.map(({ role }) => role)).toEqual([
      undefined,
      WorkspaceRole.EDITOR,
      undefined,
    ]);
    expect(await names(owner)).toEqual(['Closed', 'Open', 'Shared']);
    expect((await world.listWorkspaces(owner)).names).toEqual(['Mine']);
    expect((await world.listWorkspaces(owner, { personal: true })).names).toEqual(['Mine']);
    expect((await world.listWorkspaces(withKey(owner, orgId))).names).toEqual(['Closed', 'Open', 'Shared']);
    expect(await outcome(world.listWorkspaces(owner, { personal: true, orgId }))).toBe('invalid_value');
    expect(await outcome(world.listWorkspaces(world.person(), { orgId }))).toBe('not_found');
  });

  test.each([true, false])('filters, sorts and pages (as administrator: %s)', async (administers) => {
    const names = ['delta', 'Alpha', 'charlie', 'Bravo', 'ＡＬＰＩＮＥ'];
    for (const name of names) {
      await world.createWorkspace(owner, { orgId, name, defaultRole: WorkspaceRole.VIEWER });
    }
    const { items } = await world.listWorkspaces(owner, { orgId });
    await world.archive(items[0]?.id ?? '');
    const caller = administers ? owner : (await world.join(owner, orgId, OrgRole.MEMBER)).caller;
    const list = (fields: Parameters<World['listWorkspaces']>[1]) => world.listWorkspaces(caller, { orgId, ...fields });
    expect((await list({})).names).toEqual(names.slice(1));
    expect((await list({ state: WorkspaceStateFilter.ARCHIVED })).names).toEqual(['delta']);
    expect(await list({ state: WorkspaceStateFilter.ALL })).toMatchObject({ names, total: 5 });
    expect((await list({ sort: 'name' })).names).toEqual(['Alpha', 'ＡＬＰＩＮＥ', 'Bravo', 'charlie']);
    expect((await list({ sort: '-name' })).names).toEqual(['charlie', 'Bravo', 'ＡＬＰＩＮＥ', 'Alpha']);
    expect((await list({ sort: '-created_at' })).names).toEqual(names.slice(1).reverse());
    expect(await list({ q: 'ALP' })).toMatchObject({ names: ['Alpha', 'ＡＬＰＩＮＥ'], total: 2 });
    expect(await list({ page: page(2, 1) })).toMatchObject({ names: ['charlie', 'Bravo'], total: 4 });
    for (const sort of ['name', '-name', 'updated_at', '-created_at']) {
      const whole = (await list({ sort })).names;
      const first = await list({ sort, page: page(3) });
      const rest = await list({ sort, page: page(3, 0, first.nextCursor) });
      expect([...first.names, ...rest.names]).toEqual(whole);
      expect(rest.nextCursor).toBeUndefined();
    }
    await expect(list({ page: page(2, 0, 'junk') })).rejects.toMatchObject({ reason: 'invalid_pagination' });
  });

  test('counts for members only what they can read, and everything for administrators', async () => {
    const { id } = await world.createWorkspace(owner, { orgId });
    const readable = async (by: Caller) => {
      await world.getWorkspace(by, id);
      return world.requests.countedReadable.at(-1);
    };
    const person = async (orgRole: OrgRole, role?: WorkspaceRole) => {
      const { caller } = await world.join(owner, orgId, orgRole);
      if (role !== undefined) await world.put(owner, id, caller, role);
      return caller;
    };
    expect(await readable(owner)).toEqual([]);
    expect(await readable(await person(OrgRole.ADMIN))).toEqual([]);
    expect(await readable(await person(OrgRole.MEMBER, WorkspaceRole.ADMIN))).toEqual([]);
    for (const role of [WorkspaceRole.EDITOR, WorkspaceRole.VIEWER, WorkspaceRole.GUEST]) {
      expect(await readable(await person(OrgRole.MEMBER, role))).toEqual([id]);
    }
  });

  test('counts resources in one call, and omits the counts if that fails', async () => {
    const first = await world.createWorkspace(owner, { orgId });
    const second = await world.createWorkspace(owner, { orgId });
    world.play.resources = { [first.id]: 7 };
    world.requests.counted.length = 0;
    const { items } = await world.listWorkspaces(owner, { orgId });
    expect(items.map(({ counts }) => counts)).toEqual([
      { resources: 7, members: 1 },
      { resources: 0, members: 1 },
    ]);
    expect(world.requests.counted).toEqual([[first.id, second.id]]);
    world.play.resourcesDown = true;
    expect((await world.listWorkspaces(owner, { orgId })).items.map(({ counts }) => counts)).toEqual([
      undefined,
      undefined,
    ]);
    expect((await world.getWorkspace(owner, first.id)).counts).toBeUndefined();
    world.play.resourcesDown = false;
  });
});

import {
  AccessMode,
  BlockedBy,
  ResourceRole,
  ResourceState,
  ResourceType,
} from '@commonplace/proto/resources/v1/resource.js';
import { OnConflict } from '@commonplace/proto/resources/v1/resource_service.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openWorld, type World } from './stage.js';

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.stage.close());

const text = (value: unknown) => Buffer.from(JSON.stringify(value));

describe('creating and reading', () => {
  test('a document is returned with its place, rights and versions', async () => {
    const owner = world.member(WorkspaceRole.OWNER);
    const folder = await world.create(owner, { name: 'Folder' });
    const made = await world.create(owner, {
      type: ResourceType.DOCUMENT,
      name: 'Page',
      parentId: folder.id,
      content: text('# Hello'),
      metadata: text({ a: 1 }),
    });
    const read = await world.get(owner, made.id);
    expect(read).toEqual({ ...made, access: read.access });
    expect(read).toMatchObject({ name: 'Page', parentId: folder.id, orgId: world.orgId, version: 1, sizeBytes: 7 });
    expect(read.path).toEqual({ items: [{ id: folder.id, name: 'Folder' }] });
    expect(read.access).toMatchObject({ role: ResourceRole.OWNER, canOwn: true, blockedBy: undefined });
    expect((await world.get(owner, folder.id)).childCount).toBe(1);
  });

  test.each([WorkspaceRole.GUEST, WorkspaceRole.VIEWER, WorkspaceRole.COMMENTER])(
    'a %s creates nothing',
    async (role) => {
      const member = world.member(role);
      await expect(world.create(member, {})).rejects.toMatchObject({ reason: 'insufficient_role' });
    },
  );

  test('a stranger gets the same error whether a resource exists or not', async () => {
    const owner = world.member(WorkspaceRole.OWNER);
    const stranger = world.member(WorkspaceRole.VIEWER);
    const made = await world.create(owner, {});
    world.setRole(stranger, undefined);
    for (const id of [made.id, '0197f0a0-0000-7000-8000-000000000000']) {
      await expect(world.get(stranger, id)).rejects.toMatchObject({ reason: 'not_found', code: 'NOT_FOUND' });
    }
  });

  test('another credential of the same person gets the boundary error', async () => {
    const owner = world.member(WorkspaceRole.OWNER);
    const made = await world.create(owner, {});
    const personal = { ...owner, tenant: { orgId: null } };
    await expect(world.get(personal, made.id)).rejects.toMatchObject({ reason: 'tenant_boundary' });
    const elsewhere = { ...owner, credential: { ...owner.credential, workspaceIds: [world.otherWorkspaceId] } };
    await expect(world.get(elsewhere, made.id)).rejects.toMatchObject({ reason: 'tenant_boundary' });
  });

  test('refuses files, children of leaves and wrong contents', async () => {
    const editor = world.member(WorkspaceRole.EDITOR);
    await expect(world.create(editor, { type: ResourceType.FILE })).rejects.toMatchObject({
      reason: 'use_files_endpoint',
    });
    await expect(world.create(editor, { content: text('x') })).rejects.toMatchObject({
      reason: 'content_not_supported',
    });
    const leaf = await world.create(editor, { type: ResourceType.ARTIFACT });
    await expect(world.create(editor, { parentId: leaf.id })).rejects.toMatchObject({ reason: 'parent_not_container' });
  });

  test('an external_id is unique, and can return or update the resource that has it', async () => {
    const editor = world.member(WorkspaceRole.EDITOR);
    const first = await world.create(editor, { name: 'A', externalId: 'x-1' });
    await expect(world.create(editor, { externalId: 'x-1' })).rejects.toMatchObject({ reason: 'external_id_taken' });
    const reply = {};
    const again = await world.create(editor, { externalId: 'x-1', onConflict: OnConflict.RETURN_EXISTING }, {}, reply);
    expect([again.id, again.name, reply]).toEqual([first.id, 'A', { status: 200 }]);
    const updated = await world.create(editor, { name: 'B', externalId: 'x-1', onConflict: OnConflict.UPDATE });
    expect([updated.id, updated.name, updated.version]).toEqual([first.id, 'B', 2]);
  });

  test('an external_id of a resource of another type is taken, whatever is to be done about it', async () => {
    const editor = world.member(WorkspaceRole.EDITOR);
    const { id } = await world.create(editor, { name: 'A', externalId: 'x-2', type: ResourceType.DOCUMENT });
    const refused = { reason: 'external_id_taken', details: { resource_id: id, type: 'document' } };
    for (const onConflict of [OnConflict.RETURN_EXISTING, OnConflict.UPDATE]) {
      const other = { name: 'B', externalId: 'x-2', type: ResourceType.TABLE, onConflict };
      await expect(world.create(editor, other)).rejects.toMatchObject(refused);
    }
    expect(await world.get(editor, id)).toMatchObject({ name: 'A', version: 1 });
  });

  test('an update by external_id restricts a resource, or lets it inherit, only if that is asked for', async () => {
    const admin = world.member(WorkspaceRole.ADMIN);
    const upsert = (accessMode: AccessMode) =>
      world.create(admin, { externalId: 'x-3', onConflict: OnConflict.UPDATE, accessMode });
    const { id } = await upsert(AccessMode.UNSPECIFIED);
    expect((await upsert(AccessMode.RESTRICTED)).accessMode).toBe(AccessMode.RESTRICTED);
    expect((await upsert(AccessMode.UNSPECIFIED)).accessMode).toBe(AccessMode.RESTRICTED);
    expect(await upsert(AccessMode.INHERIT)).toMatchObject({ id, accessMode: AccessMode.INHERIT });
    const editor = world.member(WorkspaceRole.EDITOR);
    const again = { externalId: 'x-3', onConflict: OnConflict.UPDATE };
    await world.create(editor, { ...again, accessMode: AccessMode.INHERIT });
    await expect(world.create(editor, { ...again, accessMode: AccessMode.RESTRICTED })).rejects.toMatchObject({
      reason: 'insufficient_role',
    });
  });
});

describe('order among siblings', () => {
  test('first, last, after and before', async () => {
    const editor = world.member(WorkspaceRole.EDITOR);
    const parentId = (await world.create(editor, {})).id;
    const a = await world.create(editor, { name: 'a', parentId });
    await world.create(editor, { name: 'b', parentId });
    await world.create(editor, { name: 'first', parentId, position: text('first') });
    await world.create(editor, { name: 'after a', parentId, position: text({ after_id: a.id }) });
    await world.create(editor, { name: 'before a', parentId, position: text({ before_id: a.id }) });
    expect((await world.list(editor, { parentId })).names).toEqual(['first', 'before a', 'a', 'after a', 'b']);
    await world.update(editor, a.id, { updateMask: ['position'], position: text('last') });
    expect((await world.list(editor, { parentId })).names).toEqual(['first', 'before a', 'after a', 'b', 'a']);
  });
});

describe('changing', () => {
  test('refuses a stale version and returns the current one', async () => {
    const editor = world.member(WorkspaceRole.EDITOR);
    const made = await world.create(editor, { name: 'v1' });
    await world.update(editor, made.id, { updateMask: ['name'], name: 'v2' }, { baseVersion: 1 });
    const stale = world.update(editor, made.id, { updateMask: ['name'], name: 'v3' }, { baseVersion: 1 });
    await expect(stale).rejects.toMatchObject({ reason: 'version_conflict', details: { current_version: 2 } });
    expect((await world.get(editor, made.id)).name).toBe('v2');
  });

  test('loses none of 32 concurrent writes', async () => {
    const editor = world.member(WorkspaceRole.EDITOR);
    const made = await world.create(editor, {});
    const names = Array.from({ length: 32 }, (_, i) => `n${i}`);
    await Promise.all(names.map((name) => world.update(editor, made.id, { updateMask: ['name'], name })));
    expect((await world.get(editor, made.id)).version).toBe(33);
  });

  test('refuses writes to locked and archived resources', async () => {
    const owner = world.member(WorkspaceRole.OWNER);
    const made = await world.create(owner, {});
    const locked = await world.update(owner, made.id, { updateMask: ['is_locked'], isLocked: true });
    expect(locked.access).toMatchObject({ canWrite: false, canManage: true, blockedBy: BlockedBy.LOCKED });
    const rename = { updateMask: ['name'], name: 'x' };
    await expect(world.update(owner, made.id, rename)).rejects.toMatchObject({ reason: 'resource_locked' });
    await world.update(owner, made.id, { updateMask: ['is_locked'], isLocked: false });
    world.archive(true);
    await expect(world.update(owner, made.id, rename)).rejects.toMatchObject({ reason: 'workspace_archived' });
    await expect(world.create(owner, {})).rejects.toMatchObject({ reason: 'workspace_archived' });
    world.archive(false);
    expect((await world.update(owner, made.id, rename)).name).toBe('x');
  });

  test('only managers lock and restrict, and restricting needs its scope', async () => {
    const editor = world.member(WorkspaceRole.EDITOR);
    const made = await world.create(editor, {});
    const lock = { updateMask: ['is_locked'], isLocked: true };
    await expect(world.update(editor, made.id, lock)).rejects.toMatchObject({ reason: 'insufficient_role' });
    const admin = world.member(WorkspaceRole.ADMIN);
    const unscoped = { ...admin, credential: { ...admin.credential, scopes: ['resource:write'] } };
    const restrict = { updateMask: ['access_mode'], accessMode: AccessMode.RESTRICTED };
    await expect(world.update(unscoped, made.id, restrict)).rejects.toMatchObject({ reason: 'insufficient_scope' });
  });
});

test('the trash is listed only to those who could restore from it', async () => {
  const editor = world.member(WorkspaceRole.EDITOR);
  const viewer = world.member(WorkspaceRole.VIEWER);
  const { id } = await world.create(editor, { name: 'Thrown away' });
  expect((await world.list(viewer)).ids).toContain(id);
  await world.remove(editor, id);
  expect(await world.list(viewer, { state: ResourceState.TRASHED })).toEqual({ ids: [], names: [], total: 0 });
  await expect(world.remove(viewer, id)).rejects.toMatchObject({ reason: 'not_found' });
  expect((await world.list(editor, { state: ResourceState.TRASHED })).ids).toContain(id);
});

test('a parent in the trash exists only for those who could restore it', async () => {
  const editor = world.member(WorkspaceRole.EDITOR);
  const viewer = world.member(WorkspaceRole.VIEWER);
  const { id } = await world.create(editor, { name: 'Thrown away' });
  await world.remove(editor, id);
  await expect(world.list(viewer, { parentId: id })).rejects.toMatchObject({ reason: 'not_found' });
  expect((await world.list(editor, { parentId: id })).ids).toEqual([]);
});

describe('restricting', () => {
  test('cuts editors off below, in reads, lists, totals and search', async () => {
    const admin = world.member(WorkspaceRole.ADMIN);
    const editor = world.member(WorkspaceRole.EDITOR);
    const folder = await world.create(admin, { name: 'secret' });
    const inside = await world.create(admin, { name: 'inside', parentId: folder.id });
    const before = await world.list(editor);
    await world.update(admin, folder.id, { updateMask: ['access_mode'], accessMode: AccessMode.RESTRICTED });
    await expect(world.get(editor, inside.id)).rejects.toMatchObject({ reason: 'not_found' });
    const after = await world.list(editor);
    expect(after.total).toBe(before.total - 2);
    expect(after.ids).not.toContain(folder.id);
    const filter = await world.index.getSearchFilter(
      { workspaceIds: [world.workspaceId], includeArchived: false, parentId: '', tagIds: [], tagTerms: [] },
      await world.stage.as(editor),
    );
    expect(filter).toMatchObject({ boundaryIds: [world.workspaceId], openWorkspaceIds: [] });
    const checked = await world.index.checkAccess({ ids: [inside.id] }, await world.stage.as(editor));
    expect(checked.resources).toEqual([]);
    expect((await world.get(admin, inside.id)).access?.role).toBe(ResourceRole.MANAGER);
    await world.update(admin, folder.id, { updateMask: ['access_mode'], accessMode: AccessMode.INHERIT });
    expect((await world.list(editor)).total).toBe(before.total);
  });

  test('the person who restricts stays a manager after losing their workspace role', async () => {
    const admin = world.member(WorkspaceRole.ADMIN);
    const folder = await world.create(admin, { accessMode: AccessMode.RESTRICTED });
    const inside = await world.create(admin, { parentId: folder.id });
    world.setRole(admin, WorkspaceRole.GUEST);
    expect((await world.get(admin, inside.id)).access).toMatchObject({ role: ResourceRole.MANAGER });
    const listed = await world.list(admin);
    expect(listed.ids.sort()).toEqual([folder.id, inside.id].sort());
    expect(listed.total).toBe(2);
  });
});

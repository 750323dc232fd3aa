import type { Caller } from '@commonplace/kit/auth';
import { CopyResourceRequest } from '@commonplace/proto/resources/v1/copy_service.js';
import { GranteeType, LinkAudience } from '@commonplace/proto/resources/v1/permission.js';
import { AccessMode, ResourceRole } from '@commonplace/proto/resources/v1/resource.js';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openSharingStage, type SharingStage } from './sharing-stage.js';

let stage: SharingStage;
let workspaceId: string;
let owner: Caller;
let admin: Caller;
let editor: Caller;
let guest: Caller;
let viewer: Caller;

beforeAll(async () => {
  stage = await openSharingStage();
  const org = stage.tenancy.org();
  const workspace = stage.tenancy.workspace(org);
  workspaceId = workspace.id;
  const join = (name: string, role: WorkspaceRole) => {
    const caller = stage.tenancy.person(name);
    org.roles.set(caller.userId, OrgRole.MEMBER);
    workspace.roles.set(caller.userId, role);
    return caller;
  };
  owner = join('owner', WorkspaceRole.OWNER);
  admin = join('admin', WorkspaceRole.ADMIN);
  editor = join('editor', WorkspaceRole.EDITOR);
  guest = join('guest', WorkspaceRole.GUEST);
  viewer = join('viewer', WorkspaceRole.VIEWER);
});
afterAll(() => stage.stage.close());

const copy = async (resourceId: string, fields: Partial<CopyResourceRequest>, by = admin) => {
  const request = CopyResourceRequest.fromPartial({ resourceId, ...fields });
  return (await stage.copies.copyResource(request, await stage.stage.as(by))).resource?.id as string;
};
const user = ({ userId }: Caller, role: ResourceRole) => ({
  principalType: GranteeType.USER,
  principalId: userId,
  role,
});
const reads = (by: Caller, id: string) =>
  stage.get(by, id).then(
    () => true,
    () => false,
  );

test('copies grants and restrictions on request, but no links', async () => {
  const { id } = await stage.create(admin, { workspaceId, accessMode: AccessMode.RESTRICTED });
  await stage.grant(admin, id, user(guest, ResourceRole.VIEWER));
  const link = { principalType: GranteeType.LINK, audience: LinkAudience.ORG, role: ResourceRole.VIEWER };
  await stage.grant(admin, id, link);
  const open = await copy(id, {});
  expect([await reads(editor, open), await reads(guest, open)]).toEqual([true, false]);
  const kept = await copy(id, { includePermissions: true });
  expect([await reads(editor, kept), await reads(guest, kept)]).toEqual([false, true]);
  expect((await stage.get(admin, kept)).accessMode).toBe(AccessMode.RESTRICTED);
  const { items } = await stage.view(admin, kept);
  const direct = items.filter(({ isInherited }) => !isInherited);
  expect(direct.map(({ principal }) => principal?.id).sort()).toEqual([admin.userId, guest.userId].sort());
});

test('copies no grants that the caller does not manage', async () => {
  const { id } = await stage.create(admin, { workspaceId });
  const hidden = await stage.create(admin, { parentId: id, accessMode: AccessMode.RESTRICTED });
  await stage.grant(admin, hidden.id, user(editor, ResourceRole.VIEWER));
  await stage.grant(admin, hidden.id, user(guest, ResourceRole.VIEWER));
  const own = await stage.create(editor, { workspaceId, accessMode: AccessMode.RESTRICTED });
  const made = await copy(id, { parentId: own.id, includePermissions: true }, editor);
  expect(await reads(editor, made)).toBe(true);
  const { ids } = await stage.list(editor, workspaceId, { parentId: made });
  expect(ids).toHaveLength(1);
  expect(await reads(guest, ids[0] as string)).toBe(false);
});

test('no copied grant exceeds the role of the caller in the new place', async () => {
  const { id } = await stage.create(admin, { workspaceId });
  const child = await stage.create(admin, { parentId: id });
  await stage.grant(admin, child.id, user(guest, ResourceRole.MANAGER));
  await stage.grant(owner, child.id, user(editor, ResourceRole.OWNER));
  const made = await copy(id, { includePermissions: true });
  const [copied] = (await stage.list(admin, workspaceId, { parentId: made })).ids;
  expect((await stage.get(guest, copied as string)).access?.role).toBe(ResourceRole.MANAGER);
  expect((await stage.get(editor, copied as string)).access?.role).toBe(ResourceRole.EDITOR);
  // An editor may not share in the new place.
  const refused = copy(id, { includePermissions: true }, editor);
  await expect(refused).rejects.toMatchObject({ reason: 'insufficient_role' });
  const scopes = admin.credential.scopes.filter((scope) => scope !== 'share:write');
  const narrow = { ...admin, credential: { ...admin.credential, scopes } };
  await expect(copy(id, { includePermissions: true }, narrow)).rejects.toMatchObject({ reason: 'insufficient_scope' });
});

test('keeps descendants restricted, with the person who copies them as their manager', async () => {
  const { id } = await stage.create(admin, { workspaceId });
  const hidden = await stage.create(admin, { parentId: id, accessMode: AccessMode.RESTRICTED, name: 'hidden' });
  const shared = await stage.create(admin, { parentId: hidden.id, name: 'shared' });
  await stage.grant(admin, shared.id, user(editor, ResourceRole.VIEWER));
  const [byAdmin, byEditor] = [await copy(id, {}), await copy(id, {}, editor)];
  const below = async (by: Caller, parentId: string) => {
    const { ids } = await stage.list(by, workspaceId, { parentId, recursive: true });
    return Promise.all(ids.map((one) => stage.get(by, one)));
  };
  expect((await below(admin, byAdmin)).map(({ name, accessMode }) => [name, accessMode]).sort()).toEqual([
    ['hidden', AccessMode.RESTRICTED],
    ['shared', AccessMode.INHERIT],
  ]);
  expect(await below(editor, byAdmin)).toEqual([]);
  // What lay below a resource that is left out is shown to no more people than before.
  const [own] = await below(editor, byEditor);
  expect(own).toMatchObject({ name: 'shared', accessMode: AccessMode.RESTRICTED });
  expect(own?.access?.role).toBe(ResourceRole.MANAGER);
  expect(await reads(viewer, own?.id as string)).toBe(false);
});

test('grants in copies end with the role of the person who copies', async () => {
  const target = await stage.create(admin, { workspaceId, accessMode: AccessMode.RESTRICTED });
  const source = await stage.create(admin, { workspaceId, accessMode: AccessMode.RESTRICTED });
  const child = await stage.create(admin, { parentId: source.id, accessMode: AccessMode.RESTRICTED });
  const end = new Date(Date.now() + 3_600_000).toISOString();
  for (const one of [target, source, child]) {
    await stage.grant(admin, one.id, { ...user(editor, ResourceRole.MANAGER), expiresAt: end });
  }
  await stage.grant(admin, child.id, user(guest, ResourceRole.VIEWER));
  for (const includePermissions of [false, true]) {
    const made = await copy(source.id, { parentId: target.id, includePermissions }, editor);
    const [inner] = (await stage.list(editor, workspaceId, { parentId: made })).ids;
    expect((await stage.get(editor, inner as string)).access).toMatchObject({
      role: ResourceRole.MANAGER,
      expiresAt: end,
    });
    const found = await stage.get(guest, inner as string).catch(() => undefined);
    expect(found?.access?.expiresAt).toBe(includePermissions ? end : undefined);
  }
});

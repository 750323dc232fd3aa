import type { Caller } from '@commonplace/kit/auth';
import { newId } from '@commonplace/kit/id';
import { eventually } from '@commonplace/kit/testing';
import { CopyResourceRequest } from '@commonplace/proto/resources/v1/copy_service.js';
import { GranteeType } from '@commonplace/proto/resources/v1/permission.js';
import { AccessMode, AccessSource, ResourceRole, ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { openSharingStage, type SharingStage } from './sharing-stage.js';
import type { PlayedGroup, PlayedOrg, PlayedTenancy, PlayedWorkspace } from './tenancy.js';

const { VIEWER, EDITOR, MANAGER, OWNER } = ResourceRole;

let s: SharingStage;
let tenancy: PlayedTenancy;
let org: PlayedOrg;
let workspace: PlayedWorkspace;
let owner: Caller;
/** A member of the Org and of the group, but not of the workspace. */
let engineer: Caller;
let group: PlayedGroup;

beforeAll(async () => {
  s = await openSharingStage();
  tenancy = s.tenancy;
});
afterAll(() => s.stage.close());

beforeEach(() => {
  org = tenancy.org();
  workspace = tenancy.workspace(org);
  owner = member(WorkspaceRole.OWNER);
  engineer = member();
  group = tenancy.group(org, engineer);
});

function member(role?: WorkspaceRole, orgRole = OrgRole.MEMBER): Caller {
  const person = tenancy.person(`P${newId().slice(-6)}`);
  org.roles.set(person.userId, orgRole);
  if (role !== undefined) workspace.roles.set(person.userId, role);
  return person;
}

const folder = (fields = {}) => s.create(owner, { workspaceId: workspace.id, ...fields });
const toGroup = (role: ResourceRole, { id } = group) => ({
  principalType: GranteeType.GROUP,
  principalId: id,
  role,
});
const toPerson = ({ userId }: Caller, role: ResourceRole) => ({ principalId: userId, role });
const outcome = (act: Promise<unknown>) =>
  act.then(
    () => 'ok',
    (error: { reason?: string; message: string }) => error.reason ?? error.message,
  );
const roleOf = async (by: Caller, id: string) => (await s.get(by, id)).access?.role;

test('a grant to a group is one to each of its members, as long as they are in it', async () => {
  const top = await folder();
  const child = await s.create(owner, { parentId: top.id, type: ResourceType.DOCUMENT });
  await folder();
  const { permission } = await s.grant(owner, top.id, toGroup(EDITOR));
  expect(permission).toMatchObject({
    principal: { type: GranteeType.GROUP, id: group.id, name: 'Group', email: undefined },
    role: EDITOR,
  });
  expect((await s.get(engineer, top.id)).access).toMatchObject({ role: EDITOR, source: AccessSource.DIRECT });
  expect((await s.get(engineer, child.id)).access).toMatchObject({ role: EDITOR, source: AccessSource.ANCESTOR });
  expect((await s.update(engineer, child.id, { updateMask: ['name'], name: 'By a group' })).name).toBe('By a group');
  expect(await s.list(engineer, workspace.id)).toEqual({ ids: [top.id, child.id].sort(), total: 2 });
  expect((await s.filter(engineer, [workspace.id])).granted).toEqual([
    { resourceId: top.id, boundaryId: workspace.id },
  ]);
  group.members.delete(engineer.userId);
  await s.tell('group_member.removed', { groupId: group.id, userId: engineer.userId });
  expect(await outcome(s.get(engineer, child.id))).toBe('not_found');
  const late = { updateMask: ['name'], name: 'Too late' };
  expect(await outcome(s.update(engineer, child.id, late))).toBe('not_found');
  expect(await outcome(s.list(engineer, workspace.id))).toBe('not_found');
  expect(await outcome(s.filter(engineer, [workspace.id]))).toBe('not_found');
});

test('a person has the highest of their own role and those of their groups, also below a restriction', async () => {
  const second = tenancy.group(org, engineer);
  const top = await folder({ accessMode: AccessMode.RESTRICTED });
  await s.grant(owner, top.id, { grants: [toGroup(VIEWER), toGroup(MANAGER, second)] as never });
  await s.grant(owner, top.id, toPerson(engineer, EDITOR));
  expect(await roleOf(engineer, top.id)).toBe(MANAGER);
  await s.revoke(owner, top.id, { principalType: GranteeType.GROUP, principalId: second.id });
  expect(await roleOf(engineer, top.id)).toBe(EDITOR);
  await s.revoke(owner, top.id, { principalId: engineer.userId });
  expect(await roleOf(engineer, top.id)).toBe(VIEWER);
  const inner = await s.create(owner, { parentId: top.id, accessMode: AccessMode.RESTRICTED });
  expect(await outcome(s.get(engineer, inner.id))).toBe('not_found');
});

test('a request can name groups of the own Org only, guests those that they are in', async () => {
  const top = await folder();
  const otherOrg = tenancy.org();
  otherOrg.roles.set(owner.userId, OrgRole.OWNER);
  const foreign = tenancy.group(otherOrg, engineer);
  for (const id of [foreign.id, newId(), engineer.userId, org.id]) {
    expect(await outcome(s.grant(owner, top.id, toGroup(VIEWER, { ...group, id })))).toBe('not_found');
  }
  expect(await outcome(s.grant(owner, top.id, toPerson({ userId: group.id } as Caller, VIEWER)))).toBe('not_found');
  const personal = tenancy.workspace();
  personal.roles.set(owner.userId, WorkspaceRole.OWNER);
  await s.tell('workspace_member.added');
  const own = await s.create(owner, { workspaceId: personal.id });
  expect(await outcome(s.grant(owner, own.id, toGroup(VIEWER)))).toBe('not_found');
  const nobody = { principalType: GranteeType.GROUP, role: VIEWER };
  expect(await outcome(s.grant(owner, top.id, nobody))).toBe('missing_field');
  const guest = member(undefined, OrgRole.GUEST);
  await s.grant(owner, top.id, toPerson(guest, MANAGER));
  expect(await outcome(s.grant(guest, top.id, toGroup(VIEWER)))).toBe('not_found');
  group.members.add(guest.userId);
  expect(await outcome(s.grant(guest, top.id, toGroup(VIEWER)))).toBe('ok');
  expect(await outcome(s.grant(guest, top.id, toGroup(OWNER)))).toBe('role_escalation');
});

test('a member sees the grants of their groups, and may not revoke them as their own', async () => {
  const top = await folder();
  const strangers = tenancy.group(org);
  await s.grant(owner, top.id, { grants: [toGroup(VIEWER), toGroup(VIEWER, strangers)] as never });
  const { items } = await s.view(engineer, top.id);
  expect(items.map(({ principal }) => principal?.id)).toEqual([group.id, owner.userId]);
  const named = { principalType: GranteeType.GROUP, principalId: group.id };
  expect(await outcome(s.revoke(engineer, top.id, named))).toBe('insufficient_role');
});

test('a group is never the last owner of a restricted resource', async () => {
  const top = await folder();
  await s.grant(owner, top.id, toPerson(owner, OWNER));
  await s.grant(owner, top.id, { accessMode: AccessMode.RESTRICTED, ...toGroup(OWNER) });
  expect(await roleOf(engineer, top.id)).toBe(OWNER);
  expect(await outcome(s.revoke(owner, top.id, { principalId: owner.userId }))).toBe('last_owner');
  expect(await outcome(s.grant(owner, top.id, toPerson(owner, EDITOR)))).toBe('last_owner');
  const named = { principalType: GranteeType.GROUP, principalId: group.id };
  expect(await outcome(s.revoke(owner, top.id, named))).toBe('ok');
});

test('what a leaving person alone manages goes to their successor, whatever group manages it, too', async () => {
  const top = await folder();
  const leaver = member(WorkspaceRole.EDITOR);
  const successor = member();
  await s.grant(owner, top.id, toPerson(leaver, MANAGER));
  await s.grant(leaver, top.id, { accessMode: AccessMode.RESTRICTED, ...toGroup(MANAGER) });
  const { transferred } = await s.permissions.transferMemberGrants(
    { orgId: org.id, userId: leaver.userId, toUserId: successor.userId },
    await s.stage.as(undefined),
  );
  expect(transferred).toEqual({ [workspace.id]: 1 });
  expect(await roleOf(successor, top.id)).toBe(MANAGER);
});

test('the grants of a deleted group are hidden at once and removed in the background', async () => {
  const top = await folder();
  await s.grant(owner, top.id, toGroup(EDITOR));
  tenancy.removeGroup(group.id);
  const shown = await s.view(owner, top.id, { includeInherited: false });
  expect([shown.items, shown.page?.total]).toEqual([[], 0]);
  expect(await outcome(s.grant(owner, top.id, toGroup(VIEWER)))).toBe('not_found');
  const { bus } = s.stage.host;
  await bus.publish([
    {
      ...{ id: newId(), type: 'commonplace.tenancy.group.deleted', subject: group.id, tenant: org.id },
      ...{ time: new Date().toISOString(), actor: { type: 'user', id: owner.userId, name: owner.userName } },
      data: { orgId: org.id, groupId: group.id, name: 'Group' },
    } as never,
  ]);
  expect(await outcome(s.get(engineer, top.id))).toBe('not_found');
  await eventually(() => {
    const revoked = s.events.filter(
      ({ type, data }) => type.endsWith('permission.revoked') && data.resourceId === top.id,
    );
    expect(revoked.map(({ data }) => data.principal)).toEqual([`group:${group.id}`]);
  });
});

test('an automation and an agent have what a group gives only if their author and their own roles do', async () => {
  const top = await folder();
  await s.grant(owner, top.id, toGroup(EDITOR));
  const author = member();
  expect(await outcome(s.get({ ...engineer, authorId: author.userId }, top.id))).toBe('not_found');
  group.members.add(author.userId);
  await s.tell('group_member.added', { groupId: group.id, userId: author.userId });
  expect(await roleOf({ ...engineer, authorId: author.userId }, top.id)).toBe(EDITOR);
  const agent = (roles: object) => ({ ...engineer, agent: { id: newId(), name: 'Agent', roles } }) as unknown as Caller;
  expect(await roleOf(agent({ [workspace.id]: 'viewer' }), top.id)).toBe(VIEWER);
  expect(await outcome(s.get(agent({}), top.id))).toBe('not_found');
});

test('while tenancy has the version before, permissions are listed, and a grant to a group has to wait', async () => {
  const top = await folder();
  await s.grant(owner, top.id, toGroup(EDITOR));
  tenancy.isOlder = true;
  try {
    const { items } = await s.view(owner, top.id, { includeInherited: false });
    expect(items.map(({ principal }) => [principal?.type, principal?.id, principal?.name])).toEqual([
      [GranteeType.GROUP, group.id, undefined],
    ]);
    expect(await outcome(s.grant(owner, top.id, toGroup(VIEWER)))).toBe('service_unavailable');
    expect(await outcome(s.grant(owner, top.id, toPerson(engineer, VIEWER)))).toBe('ok');
  } finally {
    tenancy.isOlder = false;
  }
});

test('copies with permissions keep the grants of groups', async () => {
  const top = await folder();
  await s.grant(owner, top.id, toGroup(EDITOR));
  const { resource } = await s.copies.copyResource(
    CopyResourceRequest.fromPartial({
      ...{ resourceId: top.id, workspaceId: workspace.id, name: 'Copy', includePermissions: true },
    }),
    await s.stage.as(owner),
  );
  expect(await roleOf(engineer, resource?.id ?? '')).toBe(EDITOR);
});

import type { Caller } from '@commonplace/kit/auth';
import { eventually } from '@commonplace/kit/testing';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { WorkspaceMemberSource, WorkspaceMemberStatus } from '@commonplace/proto/tenancy/v1/workspace.js';
import { ListWorkspaceMembersRequest } from '@commonplace/proto/tenancy/v1/workspace_service.js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { openWorld, page, type World } from './world.js';

let world: World;
let owner: Caller;
let orgId: string;
let workspaceId: string;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());
beforeEach(async () => {
  owner = world.person('Olga');
  orgId = (await world.createOrg(owner)).id;
  workspaceId = (await world.createWorkspace(owner, { orgId })).id;
});

const UNKNOWN = '0197f0a0-0000-7000-8000-000000000000';
const outcome = (act: Promise<unknown>) =>
  act.then(
    () => 'ok',
    (error: { reason: string }) => error.reason,
  );
const list = async (caller: Caller, fields: Partial<ListWorkspaceMembersRequest> = {}) =>
  world.workspaces.listWorkspaceMembers(
    { ...ListWorkspaceMembersRequest.fromPartial({ workspaceId, page: page() }), ...fields },
    await world.as(caller),
  );
const setRole = async (caller: Caller, memberId: string | undefined, role: WorkspaceRole) =>
  world.workspaces.updateWorkspaceMember(
    { workspaceId, memberId: memberId ?? '', updateMask: ['role'], role },
    await world.as(caller),
  );
const remove = async (caller: Caller, memberId: string | undefined, keepGrants = false) =>
  world.workspaces.removeWorkspaceMember({ workspaceId, memberId: memberId ?? '', keepGrants }, await world.as(caller));
/** Adds a member of the Org to the workspace. */
async function member(role: WorkspaceRole): Promise<{ caller: Caller; id: string | undefined }> {
  const { caller } = await world.join(owner, orgId, OrgRole.MEMBER);
  const { id } = await world.put(owner, workspaceId, caller, role);
  return { caller, id };
}

test('members of either source show their avatars', async () => {
  await world.updateWorkspace(owner, workspaceId, { updateMask: ['default_role'], defaultRole: WorkspaceRole.VIEWER });
  const direct = await member(WorkspaceRole.EDITOR);
  const { caller } = await world.join(owner, orgId, OrgRole.MEMBER);
  await world.add(owner, workspaceId, { email: 'invited@x.org', role: WorkspaceRole.VIEWER });
  const avatar = (name: string) => `https://pictures.example.com/${name}.png`;
  world.play.avatars.set(direct.caller.userId, avatar('direct'));
  world.play.avatars.set(caller.userId, avatar('default'));
  const avatars = (await list(owner)).items.map(({ principal }) => principal?.avatarUrl);
  expect(avatars).toEqual([undefined, avatar('direct'), undefined, avatar('default')]);
  const changed = await setRole(owner, direct.id, WorkspaceRole.VIEWER);
  expect(changed.principal?.avatarUrl).toBe(avatar('direct'));
});

describe('each role', () => {
  test.each([
    // role, list, add a viewer, add an owner, change a member, change an owner
    [
      WorkspaceRole.GUEST,
      'insufficient_role',
      'insufficient_role',
      'insufficient_role',
      'insufficient_role',
      'insufficient_role',
    ],
    [WorkspaceRole.VIEWER, 'ok', 'insufficient_role', 'insufficient_role', 'insufficient_role', 'insufficient_role'],
    [WorkspaceRole.COMMENTER, 'ok', 'insufficient_role', 'insufficient_role', 'insufficient_role', 'insufficient_role'],
    [WorkspaceRole.EDITOR, 'ok', 'insufficient_role', 'insufficient_role', 'insufficient_role', 'insufficient_role'],
    [WorkspaceRole.ADMIN, 'ok', 'ok', 'role_escalation', 'ok', 'insufficient_role'],
    [WorkspaceRole.OWNER, 'ok', 'ok', 'ok', 'ok', 'ok'],
    [undefined, 'not_found', 'not_found', 'not_found', 'not_found', 'not_found'],
  ])('%s', async (role, lists, adds, crowns, manages, dethrones) => {
    const { caller } = role === undefined ? await world.join(owner, orgId, OrgRole.MEMBER) : await member(role);
    const { caller: first } = await world.join(owner, orgId, OrgRole.MEMBER);
    const { caller: second } = await world.join(owner, orgId, OrgRole.MEMBER);
    const viewer = await member(WorkspaceRole.VIEWER);
    const other = await member(WorkspaceRole.OWNER);
    expect(await outcome(list(caller))).toBe(lists);
    expect(await outcome(world.put(caller, workspaceId, first, WorkspaceRole.VIEWER))).toBe(adds);
    expect(await outcome(world.put(caller, workspaceId, second, WorkspaceRole.OWNER))).toBe(crowns);
    expect(await outcome(world.add(caller, workspaceId, { email: 'out@side.org' }))).toBe(adds);
    expect(await outcome(setRole(caller, viewer.id, WorkspaceRole.EDITOR))).toBe(manages);
    expect(await outcome(remove(caller, viewer.id))).toBe(manages);
    expect(await outcome(setRole(caller, other.id, WorkspaceRole.VIEWER))).toBe(dethrones);
    if (role === undefined) return;
    expect(await outcome(setRole(caller, UNKNOWN, WorkspaceRole.VIEWER))).toBe('not_found');
  });

  test('only an owner can remove an owner', async () => {
    const admin = await member(WorkspaceRole.ADMIN);
    const other = await member(WorkspaceRole.OWNER);
    expect(await outcome(remove(admin.caller, other.id))).toBe('insufficient_role');
    expect(await outcome(setRole(admin.caller, admin.id, WorkspaceRole.OWNER))).toBe('role_escalation');
    expect(await outcome(remove(owner, other.id))).toBe('ok');
  });

  test('any member may leave, which deletes their grants unless they are to be kept', async () => {
    for (const role of [WorkspaceRole.GUEST, WorkspaceRole.VIEWER, WorkspaceRole.ADMIN]) {
      const { caller, id } = await member(role);
      expect(await remove(caller, id, role === WorkspaceRole.ADMIN)).toEqual({ id, deleted: true });
      expect(await outcome(world.getWorkspace(caller, workspaceId))).toBe('not_found');
      const ungranted = world.requests.ungranted.filter(({ userId }) => userId === caller.userId);
      expect(ungranted).toEqual(role === WorkspaceRole.ADMIN ? [] : [{ workspaceId, userId: caller.userId }]);
    }
    await eventually(() => {
      const gone = world.events.filter(
        ({ type, subject }) => subject === workspaceId && type.endsWith('member.removed'),
      );
      expect(gone.map(({ data }) => data.keepGrants)).toEqual([false, false, true]);
    });
  });
});

describe('owners', () => {
  test('the last one can neither leave nor be demoted', async () => {
    const [own] = (await list(owner)).items;
    expect(await outcome(remove(owner, own?.id))).toBe('last_owner');
    expect(await outcome(setRole(owner, own?.id, WorkspaceRole.ADMIN))).toBe('last_owner');
    expect(await outcome(setRole(owner, own?.id, WorkspaceRole.OWNER))).toBe('ok');
    const second = await member(WorkspaceRole.OWNER);
    const outcomes = await Promise.all([outcome(remove(owner, own?.id)), outcome(remove(second.caller, second.id))]);
    expect(outcomes.sort()).toEqual(['last_owner', 'ok']);
  });
});

describe('adding', () => {
  test('lets a person of the Org join at once, by id or by address', async () => {
    const { caller: byId } = await world.join(owner, orgId, OrgRole.MEMBER);
    const { caller: byEmail } = await world.join(owner, orgId, OrgRole.GUEST);
    expect(await world.add(owner, workspaceId, { userId: byId.userId })).toMatchObject({
      role: WorkspaceRole.VIEWER,
      status: WorkspaceMemberStatus.ACTIVE,
      source: WorkspaceMemberSource.DIRECT,
      principal: { id: byId.userId, name: byId.userName, email: byId.userEmail },
      addedById: owner.userId,
      addedBy: { type: 'ACTOR_TYPE_USER', id: owner.userId, name: owner.userName },
      inviteUrl: undefined,
    });
    const joined = await world.add(owner, workspaceId, { email: byEmail.userEmail, role: WorkspaceRole.EDITOR });
    expect(joined).toMatchObject({ status: WorkspaceMemberStatus.ACTIVE, role: WorkspaceRole.EDITOR });
    for (const fields of [{ userId: byId.userId }, { email: byEmail.userEmail }]) {
      expect(await outcome(world.add(owner, workspaceId, fields))).toBe('already_member');
    }
    expect((await world.getWorkspace(owner, workspaceId)).counts?.members).toBe(3);
  });

  test('answers not found for people outside the Org, and for unknown ids', async () => {
    const stranger = world.person();
    expect(await outcome(world.add(owner, workspaceId, { userId: stranger.userId }))).toBe('not_found');
    expect(await outcome(world.add(owner, workspaceId, { userId: UNKNOWN }))).toBe('not_found');
    expect(await outcome(world.add(owner, workspaceId, { agentId: UNKNOWN }))).toBe('not_found');
    expect(await outcome(world.add(owner, workspaceId, {}))).toBe('missing_field');
    expect(await outcome(world.add(owner, workspaceId, { agentId: UNKNOWN, userId: UNKNOWN }))).toBe('invalid_value');
  });

  test('lets an administrator of the Org join by their own id, up to administrator', async () => {
    const { caller: admin } = await world.join(owner, orgId, OrgRole.ADMIN);
    const { caller: other } = await world.join(owner, orgId, OrgRole.MEMBER);
    expect(await outcome(world.put(admin, workspaceId, other, WorkspaceRole.VIEWER))).toBe('insufficient_role');
    expect(await outcome(world.put(admin, workspaceId, admin, WorkspaceRole.OWNER))).toBe('role_escalation');
    expect(await outcome(list(admin))).toBe('insufficient_role');
    expect((await world.put(admin, workspaceId, admin, WorkspaceRole.ADMIN)).role).toBe(WorkspaceRole.ADMIN);
    expect(await outcome(world.put(admin, workspaceId, other, WorkspaceRole.VIEWER))).toBe('ok');
    await eventually(() => {
      const added = world.events.filter(
        ({ type, subject }) => subject === workspaceId && type.endsWith('member.added'),
      );
      expect(added.map(({ actor, data }) => [actor?.id, data.userId])).toContainEqual([admin.userId, admin.userId]);
    });
  });

  test('does not let an administrator who joined as a viewer raise their own role', async () => {
    const { caller: admin } = await world.join(owner, orgId, OrgRole.ADMIN);
    await world.put(owner, workspaceId, admin, WorkspaceRole.VIEWER);
    expect(await outcome(world.put(admin, workspaceId, admin, WorkspaceRole.ADMIN))).toBe('insufficient_role');
  });

  test('accepts any registered person in a Personal workspace', async () => {
    const personal = await world.createWorkspace(owner);
    const friend = world.person();
    await world.put(owner, personal.id, friend, WorkspaceRole.EDITOR);
    expect((await world.listWorkspaces(friend)).items).toMatchObject([{ id: personal.id, role: WorkspaceRole.EDITOR }]);
    expect(await outcome(world.add(owner, personal.id, { userId: UNKNOWN }))).toBe('not_found');
  });
});

describe('listing', () => {
  test("lists members by default role after the workspace's own, without guests", async () => {
    await world.updateWorkspace(owner, workspaceId, {
      updateMask: ['default_role'],
      defaultRole: WorkspaceRole.EDITOR,
    });
    const viewer = await member(WorkspaceRole.VIEWER);
    const { caller: guest } = await world.join(owner, orgId, OrgRole.GUEST, 'Gustav');
    await world.put(owner, workspaceId, guest, WorkspaceRole.COMMENTER);
    const byDefault: string[] = [];
    for (const name of ['Dora', 'Emil', 'Frida']) {
      byDefault.push((await world.join(owner, orgId, OrgRole.MEMBER, name)).caller.userId);
    }
    await world.join(owner, orgId, OrgRole.GUEST);
    await world.add(owner, workspaceId, { email: 'out@side.org' });
    const ids = (found: Awaited<ReturnType<typeof list>>) => found.items.map(({ principal }) => principal?.id);
    const whole = await list(owner);
    expect(ids(whole)).toEqual([owner.userId, viewer.caller.userId, guest.userId, undefined, ...byDefault]);
    expect(whole.page).toMatchObject({ total: 7, hasMore: false });
    expect(whole.items.at(-1)).toMatchObject({
      id: undefined,
      source: WorkspaceMemberSource.ORG_DEFAULT,
      role: WorkspaceRole.EDITOR,
      status: WorkspaceMemberStatus.ACTIVE,
    });
    // All members except the one who is only invited.
    expect((await world.getWorkspace(owner, workspaceId)).counts?.members).toBe(6);

    for (const limit of [1, 2, 3, 4, 5, 6]) {
      const byOffset: (string | undefined)[] = [];
      const byCursor: (string | undefined)[] = [];
      let cursor: string | undefined = '';
      for (let offset = 0; offset < 7; offset += limit) {
        const part = await list(owner, { page: page(limit, offset) });
        expect(part.page).toMatchObject({ total: 7, hasMore: offset + limit < 7 });
        byOffset.push(...ids(part));
        const next: Awaited<ReturnType<typeof list>> = await list(owner, { page: page(limit, 0, cursor) });
        byCursor.push(...ids(next));
        cursor = next.page?.nextCursor;
      }
      expect(byOffset).toEqual(ids(whole));
      expect(byCursor).toEqual(ids(whole));
      expect(cursor).toBeUndefined();
    }
    const filtered = async (fields: Partial<ListWorkspaceMembersRequest>) => {
      const found = await list(owner, fields);
      expect(found.page?.total).toBe(found.items.length);
      return ids(found);
    };
    expect(await filtered({ role: WorkspaceRole.EDITOR })).toEqual(byDefault);
    expect(await filtered({ role: WorkspaceRole.VIEWER })).toEqual([viewer.caller.userId, undefined]);
    expect(await filtered({ q: 'FRID' })).toEqual([byDefault[2]]);
    expect(await filtered({ q: 'gustav' })).toEqual([guest.userId]);
    expect(await filtered({ q: 'out@side' })).toEqual([undefined]);
    await expect(list(owner, { page: page(2, 0, 'WyJ4IiwieSJd') })).rejects.toMatchObject({
      reason: 'invalid_pagination',
    });
  });

  test('omits members who become guests or are suspended from the default role', async () => {
    await world.updateWorkspace(owner, workspaceId, {
      updateMask: ['default_role'],
      defaultRole: WorkspaceRole.EDITOR,
    });
    const { caller, memberId } = await world.join(owner, orgId, OrgRole.MEMBER);
    expect((await list(owner)).page?.total).toBe(2);
    await world.updateOrgMember(owner, { orgId, memberId, updateMask: ['role'], role: OrgRole.GUEST });
    expect((await list(owner)).page?.total).toBe(1);
    expect(await outcome(world.getWorkspace(caller, workspaceId))).toBe('not_found');
    await world.put(owner, workspaceId, caller, WorkspaceRole.VIEWER);
    expect((await world.getWorkspace(owner, workspaceId)).counts?.members).toBe(2);
    await world.updateOrgMember(owner, { orgId, memberId, updateMask: ['role'], role: OrgRole.MEMBER });
    expect((await world.getWorkspace(owner, workspaceId)).counts?.members).toBe(2);
    expect((await list(owner)).page?.total).toBe(2);
  });
});

test('prefers a membership over the default role, and checks its version', async () => {
  await world.updateWorkspace(owner, workspaceId, { updateMask: ['default_role'], defaultRole: WorkspaceRole.VIEWER });
  const { caller } = await world.join(owner, orgId, OrgRole.MEMBER);
  const { id, version } = await world.put(owner, workspaceId, caller, WorkspaceRole.ADMIN);
  expect((await world.getWorkspace(caller, workspaceId)).role).toBe(WorkspaceRole.ADMIN);
  await setRole(owner, id, WorkspaceRole.EDITOR);
  const stale = world.workspaces.removeWorkspaceMember(
    { workspaceId, memberId: id ?? '', keepGrants: false },
    await world.as(owner, { baseVersion: version }),
  );
  await expect(stale).rejects.toMatchObject({
    reason: 'version_conflict',
    details: { current_version: 2, updated_by: { id: owner.userId } },
  });
  await remove(caller, id);
  expect((await world.getWorkspace(caller, workspaceId)).role).toBe(WorkspaceRole.VIEWER);
});

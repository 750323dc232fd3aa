import type { Caller } from '@commonplace/kit/auth';
import { eventually } from '@commonplace/kit/testing';
import { OrgMemberStatus } from '@commonplace/proto/tenancy/v1/org.js';
import { ListOrgMembersRequest, UpdateOrgMemberRequest } from '@commonplace/proto/tenancy/v1/org_service.js';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { openWorld, page, type World } from './world.js';

let world: World;
let owner: Caller;
let orgId: string;
let ownerId: string;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());
beforeEach(async () => {
  owner = world.person('Olga');
  orgId = (await world.createOrg(owner)).id;
  ownerId = (await list(owner)).items[0]?.id ?? '';
});

const list = async (caller: Caller, fields: Partial<ListOrgMembersRequest> = {}) =>
  world.orgs.listOrgMembers(
    { ...ListOrgMembersRequest.fromPartial({ orgId, page: page() }), ...fields },
    await world.as(caller),
  );
const remove = async (caller: Caller, memberId: string, transferToMemberId?: string) =>
  world.orgs.removeOrgMember({ orgId, memberId, transferToMemberId }, await world.as(caller));
const setRole = (caller: Caller, memberId: string, role: OrgRole) =>
  world.updateOrgMember(caller, { orgId, memberId, updateMask: ['role'], role });
const setStatus = (caller: Caller, memberId: string, status: OrgMemberStatus) =>
  world.updateOrgMember(caller, { orgId, memberId, updateMask: ['status'], status });
const outcome = (act: Promise<unknown>) =>
  act.then(
    () => 'ok',
    (error: { reason: string }) => error.reason,
  );

test('members show when they were last active, unless identity is unavailable', async () => {
  const { caller, memberId } = await world.join(owner, orgId, OrgRole.MEMBER);
  await world.invite(owner, orgId, { email: 'invited@x.org' });
  const at = '2026-03-04T05:06:07.000Z';
  world.play.lastActive = new Map([[caller.userId, at]]);
  const times = async () => (await list(owner)).items.map(({ lastActiveAt }) => lastActiveAt);
  expect(await times()).toEqual([undefined, at, undefined]);
  expect((await setRole(owner, memberId, OrgRole.GUEST)).lastActiveAt).toBe(at);
  world.play.lastActive = undefined;
  expect(await times()).toEqual([undefined, undefined, undefined]);
  world.play.lastActive = new Map();
});

test('members show the avatars that identity knows now, unless it is unavailable', async () => {
  const { caller, memberId } = await world.join(owner, orgId, OrgRole.MEMBER);
  await world.invite(owner, orgId, { email: 'invited@x.org' });
  const avatars = async () => (await list(owner)).items.map(({ user }) => user?.avatarUrl);
  expect(await avatars()).toEqual([undefined, undefined, undefined]);
  const avatar = 'https://pictures.example.com/a.png';
  world.play.avatars.set(caller.userId, avatar);
  expect(await avatars()).toEqual([undefined, avatar, undefined]);
  expect((await setRole(owner, memberId, OrgRole.GUEST)).user?.avatarUrl).toBe(avatar);
  world.play.lastActive = undefined;
  expect(await avatars()).toEqual([undefined, undefined, undefined]);
  world.play.lastActive = new Map();
});

describe('each role', () => {
  test.each([
    // role, list, invite guest, invite admin, invite owner, change a member, change an owner, remove a member
    [OrgRole.GUEST, 'ok', 'insufficient_role', 'insufficient_role', 'insufficient_role', 'insufficient_role'],
    [OrgRole.MEMBER, 'ok', 'insufficient_role', 'insufficient_role', 'insufficient_role', 'insufficient_role'],
    [OrgRole.ADMIN, 'ok', 'ok', 'role_escalation', 'ok', 'insufficient_role'],
    [OrgRole.OWNER, 'ok', 'ok', 'ok', 'ok', 'ok'],
    [undefined, 'not_found', 'not_found', 'not_found', 'not_found', 'not_found'],
  ])('%s', async (role, lists, admits, crowns, manages, dethrones) => {
    const caller = role === undefined ? world.person() : (await world.join(owner, orgId, role)).caller;
    const { memberId } = await world.join(owner, orgId, OrgRole.MEMBER);
    const { memberId: second } = await world.join(owner, orgId, OrgRole.OWNER);
    expect(await outcome(list(caller))).toBe(lists);
    expect(await outcome(world.invite(caller, orgId, { email: 'a@x.org', role: OrgRole.ADMIN }))).toBe(admits);
    expect(await outcome(world.invite(caller, orgId, { email: 'o@x.org', role: OrgRole.OWNER }))).toBe(crowns);
    expect(await outcome(setRole(caller, memberId, OrgRole.GUEST))).toBe(manages);
    expect(await outcome(setStatus(caller, memberId, OrgMemberStatus.SUSPENDED))).toBe(manages);
    expect(await outcome(remove(caller, memberId))).toBe(manages);
    expect(await outcome(setStatus(caller, second, OrgMemberStatus.SUSPENDED))).toBe(dethrones);
    expect(await outcome(remove(caller, second))).toBe(dethrones);
    expect(await outcome(setRole(caller, '0197f0a0-0000-7000-8000-000000000000', OrgRole.GUEST))).toBe('not_found');
  });

  test('any member may leave', async () => {
    for (const role of [OrgRole.GUEST, OrgRole.MEMBER, OrgRole.ADMIN]) {
      const { caller, memberId } = await world.join(owner, orgId, role);
      expect(await remove(caller, memberId)).toMatchObject({ id: memberId, deleted: true });
      expect(await outcome(list(caller))).toBe('not_found');
    }
  });
});

describe('listing', () => {
  test('shows a guest only themselves and the administrators', async () => {
    const { caller: guest, memberId } = await world.join(owner, orgId, OrgRole.GUEST);
    await world.join(owner, orgId, OrgRole.GUEST);
    await world.join(owner, orgId, OrgRole.MEMBER);
    const { memberId: adminId } = await world.join(owner, orgId, OrgRole.ADMIN);
    await world.invite(owner, orgId, { email: 'new@x.org', role: OrgRole.ADMIN });
    const { items, page: shown } = await list(guest);
    expect(items.map(({ id }) => id)).toEqual([ownerId, memberId, adminId]);
    expect(shown?.total).toBe(3);
    expect((await list(owner)).items).toHaveLength(6);
  });

  test('filters by role, status and a part of name or address, with pages', async () => {
    const { memberId } = await world.join(owner, orgId, OrgRole.MEMBER, 'ＺＯË');
    const { memberId: suspended } = await world.join(owner, orgId, OrgRole.MEMBER);
    await setStatus(owner, suspended, OrgMemberStatus.SUSPENDED);
    const { id: invited } = await world.invite(owner, orgId, { email: 'Someone@Else.org' });
    const { memberId: gone } = await world.join(owner, orgId, OrgRole.MEMBER);
    await remove(owner, gone);
    const ids = async (fields: Partial<ListOrgMembersRequest>) => (await list(owner, fields)).items.map(({ id }) => id);
    expect(await ids({})).toEqual([ownerId, memberId, suspended, invited]);
    expect(await ids({ role: OrgRole.OWNER })).toEqual([ownerId]);
    expect(await ids({ status: OrgMemberStatus.ACTIVE })).toEqual([ownerId, memberId]);
    expect(await ids({ status: OrgMemberStatus.SUSPENDED })).toEqual([suspended]);
    expect(await ids({ status: OrgMemberStatus.INVITED })).toEqual([invited]);
    expect(await ids({ status: OrgMemberStatus.EXPIRED })).toEqual([]);
    expect(await ids({ status: OrgMemberStatus.REMOVED })).toEqual([gone]);
    expect(await ids({ q: 'zoë' })).toEqual([memberId]);
    expect(await ids({ q: 'ELSE.org' })).toEqual([invited]);
    expect(await ids({ q: '%' })).toEqual([]);
    const first = await list(owner, { page: page(3) });
    expect(first.page).toMatchObject({ total: 4, hasMore: true, nextOffset: 3 });
    const rest = await list(owner, { page: page(3, 0, first.page?.nextCursor) });
    expect([...first.items, ...rest.items].map(({ id }) => id)).toEqual([ownerId, memberId, suspended, invited]);
  });
});

describe('owners', () => {
  test('the last one can neither leave, nor be demoted or suspended', async () => {
    expect(await outcome(remove(owner, ownerId))).toBe('last_owner');
    expect(await outcome(setRole(owner, ownerId, OrgRole.ADMIN))).toBe('last_owner');
    expect(await outcome(setStatus(owner, ownerId, OrgMemberStatus.SUSPENDED))).toBe('last_owner');
    const { caller: second, memberId } = await world.join(owner, orgId, OrgRole.OWNER);
    await setStatus(owner, memberId, OrgMemberStatus.SUSPENDED);
    expect(await outcome(list(second))).toBe('not_found');
    expect(await outcome(remove(owner, ownerId))).toBe('last_owner');
    await setStatus(owner, memberId, OrgMemberStatus.ACTIVE);
    expect(await outcome(setRole(owner, ownerId, OrgRole.MEMBER))).toBe('ok');
    expect(await outcome(remove(second, memberId))).toBe('last_owner');
  });

  test('two owners who leave at once cannot both leave', async () => {
    const { caller: second, memberId } = await world.join(owner, orgId, OrgRole.OWNER);
    const outcomes = await Promise.all([outcome(remove(owner, ownerId)), outcome(remove(second, memberId))]);
    expect(outcomes.sort()).toEqual(['last_owner', 'ok']);
  });
});

describe('changing', () => {
  test('only active and suspended can be set, and not on an invitation', async () => {
    const { id } = await world.invite(owner, orgId, { email: 'new@x.org' });
    expect(await outcome(setStatus(owner, id, OrgMemberStatus.ACTIVE))).toBe('invalid_value');
    const { memberId } = await world.join(owner, orgId, OrgRole.MEMBER);
    expect(await outcome(setStatus(owner, memberId, OrgMemberStatus.REMOVED))).toBe('invalid_value');
    expect((await setRole(owner, id, OrgRole.GUEST)).role).toBe(OrgRole.GUEST);
  });

  test('suspending ends all access at once, and reactivating restores it', async () => {
    const { caller, memberId } = await world.join(owner, orgId, OrgRole.MEMBER);
    const workspace = await world.createWorkspace(owner, { orgId });
    await world.put(owner, workspace.id, caller, WorkspaceRole.EDITOR);
    const memberships = async () => {
      const { orgs, workspaces } = await world.directory.getMemberships(
        { userId: caller.userId },
        await world.system(),
      );
      return { orgs: orgs.length, workspaces: workspaces.map(({ role }) => role) };
    };
    expect(await memberships()).toEqual({ orgs: 1, workspaces: [WorkspaceRole.EDITOR] });
    await setStatus(owner, memberId, OrgMemberStatus.SUSPENDED);
    expect(await memberships()).toEqual({ orgs: 0, workspaces: [] });
    expect(await outcome(world.getWorkspace(caller, workspace.id))).toBe('not_found');
    expect((await world.getWorkspace(owner, workspace.id)).counts?.members).toBe(1);
    await setStatus(owner, memberId, OrgMemberStatus.ACTIVE);
    expect(await memberships()).toEqual({ orgs: 1, workspaces: [WorkspaceRole.EDITOR] });
  });
});

describe('removing', () => {
  test('transfers workspaces without another owner, and the keys, to the receiver', async () => {
    const { caller: leaving, memberId } = await world.join(owner, orgId, OrgRole.ADMIN);
    const { caller: successor, memberId: successorId } = await world.join(owner, orgId, OrgRole.MEMBER);
    const alone = await world.createWorkspace(leaving, { orgId, name: 'Alone' });
    const shared = await world.createWorkspace(leaving, { orgId, name: 'Shared' });
    await world.put(leaving, shared.id, owner, WorkspaceRole.OWNER);
    const joined = await world.createWorkspace(leaving, { orgId, name: 'Joined' });
    await world.put(leaving, joined.id, successor, WorkspaceRole.VIEWER);
    world.play.keys = 3;
    world.requests.reassigned.length = 0;
    world.play.resources = { [alone.id]: 3, [joined.id]: 2 };
    world.play.owned = { [alone.id]: 1, [shared.id]: 5 };
    const edited = await world.createWorkspace(owner, { orgId, name: 'Edited' });
    await world.put(owner, edited.id, successor, WorkspaceRole.EDITOR);
    const viewed = await world.createWorkspace(owner, { orgId, name: 'Viewed' });
    await world.put(owner, viewed.id, successor, WorkspaceRole.VIEWER);
    world.play.agents = 4;
    world.play.automations = { [alone.id]: 1, [shared.id]: 10, [edited.id]: 100, [viewed.id]: 1_000 };
    for (const wrong of [memberId, '0197f0a0-0000-7000-8000-000000000000']) {
      expect(await outcome(remove(owner, memberId, wrong))).toBe('invalid_value');
    }
    const { transferred } = await remove(owner, memberId, successorId);
    expect(transferred).toEqual({ resources: 10, agents: 4, apiKeys: 3, automations: 101 });
    expect(world.requests.counted.at(-1)?.sort()).toEqual([alone.id, joined.id].sort());
    expect(world.requests.grantsTransferred.at(-1)).toEqual({
      ...{ orgId, userId: leaving.userId, toUserId: successor.userId },
    });
    expect(world.requests.reassigned).toEqual([{ orgId, userId: leaving.userId, toUserId: successor.userId }]);
    expect((await world.getWorkspace(successor, alone.id)).role).toBe(WorkspaceRole.OWNER);
    expect((await world.getWorkspace(successor, joined.id)).role).toBe(WorkspaceRole.OWNER);
    expect(await outcome(world.getWorkspace(successor, shared.id))).toBe('not_found');
    expect(await outcome(world.getWorkspace(leaving, alone.id))).toBe('not_found');
    await eventually(() => {
      const event = world.events.findLast(
        ({ type, subject }) => type.endsWith('org_member.removed') && subject === orgId,
      );
      expect(event?.data).toMatchObject({ memberId, userId: leaving.userId, transferToUserId: successor.userId });
    });
  });

  test('without a receiver, transfers workspaces to the oldest owner and suspends the keys', async () => {
    const { caller: leaving, memberId } = await world.join(owner, orgId, OrgRole.MEMBER);
    await world.join(owner, orgId, OrgRole.OWNER);
    const alone = await world.createWorkspace(leaving, { orgId });
    world.play.keys = 2;
    world.requests.reassigned.length = 0;
    const { transferred } = await remove(leaving, memberId);
    expect(transferred?.apiKeys).toBe(0);
    expect(world.requests.reassigned).toEqual([{ orgId, userId: leaving.userId, toUserId: '' }]);
    expect((await world.getWorkspace(owner, alone.id)).role).toBe(WorkspaceRole.OWNER);
  });

  test('gives no keys to somebody else, except by an owner: a key acts as whoever gets it', async () => {
    const keysTo = async (by: 'themselves' | 'an administrator' | 'the receiver' | 'an owner') => {
      const leaving = await world.join(owner, orgId, OrgRole.ADMIN);
      const admin = await world.join(owner, orgId, OrgRole.ADMIN);
      const receiver = by === 'the receiver' ? admin : await world.join(owner, orgId, OrgRole.OWNER);
      const callers = { themselves: leaving, 'an administrator': admin, 'the receiver': admin };
      const caller = by === 'an owner' ? owner : callers[by].caller;
      world.play.keys = 1;
      world.requests.reassigned.length = 0;
      const { transferred } = await remove(caller, leaving.memberId, receiver.memberId);
      const [{ toUserId } = { toUserId: '' }] = world.requests.reassigned;
      expect([transferred?.apiKeys, toUserId]).toEqual(toUserId === '' ? [0, ''] : [1, receiver.caller.userId]);
      return toUserId !== '';
    };
    expect(await keysTo('themselves')).toBe(false);
    expect(await keysTo('an administrator')).toBe(false);
    expect(await keysTo('the receiver')).toBe(true);
    expect(await keysTo('an owner')).toBe(true);
  });

  test('does not wait for the numbers of what other services hand over', async () => {
    const { memberId } = await world.join(owner, orgId, OrgRole.MEMBER);
    Object.assign(world.play, { agents: undefined, automations: undefined });
    const { transferred } = await remove(owner, memberId);
    Object.assign(world.play, { agents: 0, automations: {} });
    expect(transferred).toMatchObject({ agents: undefined, automations: undefined });
  });

  test('allows a new invitation of the removed person, which restores nothing', async () => {
    const { caller, memberId } = await world.join(owner, orgId, OrgRole.MEMBER);
    const workspace = await world.createWorkspace(owner, { orgId });
    await world.put(owner, workspace.id, caller, WorkspaceRole.EDITOR);
    await remove(owner, memberId);
    expect(await outcome(remove(owner, memberId))).toBe('not_found');
    const again = await world.invite(owner, orgId, { userId: caller.userId });
    expect(again.id).not.toBe(memberId);
    await world.accept(caller, again.inviteUrl);
    expect(await outcome(world.getWorkspace(caller, workspace.id))).toBe('not_found');
  });

  test('leaves no place that the person gets at the same time', async () => {
    const workspace = await world.createWorkspace(owner, { orgId });
    for (let round = 0; round < 8; round++) {
      const { caller, memberId } = await world.join(owner, orgId, OrgRole.MEMBER);
      const [created] = await Promise.allSettled([
        world.createWorkspace(caller, { orgId }),
        world.put(owner, workspace.id, caller, WorkspaceRole.EDITOR),
        remove(owner, memberId),
      ]);
      // A workspace that was created before has gone to the owner.
      if (created.status === 'fulfilled') {
        expect((await world.getWorkspace(owner, created.value.id)).role).toBe(WorkspaceRole.OWNER);
      }
      const again = await world.invite(owner, orgId, { userId: caller.userId });
      await world.accept(caller, again.inviteUrl);
      expect((await world.listWorkspaces(caller, { orgId })).items).toEqual([]);
    }
  });
});

test('a conflict of versions names who has changed the membership last', async () => {
  const { caller, memberId } = await world.join(owner, orgId, OrgRole.MEMBER);
  const conflict = async () => {
    const request = UpdateOrgMemberRequest.fromPartial({ orgId, memberId, updateMask: ['role'], role: OrgRole.GUEST });
    const stale = world.orgs.updateOrgMember(request, await world.as(owner, { baseVersion: 99 }));
    return stale.catch(({ details }: { details: { updated_by: { id: string } } }) => details.updated_by.id);
  };
  expect(await conflict()).toBe(caller.userId);
  await setRole(owner, memberId, OrgRole.ADMIN);
  expect(await conflict()).toBe(owner.userId);
});

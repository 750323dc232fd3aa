import type { Caller } from '@commonplace/kit/auth';
import { newId } from '@commonplace/kit/id';
import type { Client, Reply } from '@commonplace/kit/rpc';
import { eventually } from '@commonplace/kit/testing';
import { contracts } from '@commonplace/platform/contracts';
import {
  CreateGroupRequest,
  type GroupService,
  ListGroupMembersRequest,
  ListGroupsRequest,
  UpdateGroupRequest,
} from '@commonplace/proto/tenancy/v1/group_service.js';
import { OrgMemberStatus } from '@commonplace/proto/tenancy/v1/org.js';
import { OrgRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { runPurge } from '../src/jobs/purge.js';
import { openWorld, openWorldParts, page, type World, withKey } from './world.js';

let world: World;
let groups: Client<GroupService>;
let owner: Caller;
let orgId: string;
beforeAll(async () => {
  process.env.COMMONPLACE_ORG_GROUPS = '8';
  process.env.COMMONPLACE_ORG_GROUP_MEMBERS = '3';
  process.env.COMMONPLACE_GROUPS_OF_PERSON = '4';
  world = await openWorld();
  groups = world.stage.host.client(contracts.groups);
});
afterAll(async () => {
  delete process.env.COMMONPLACE_ORG_GROUPS;
  delete process.env.COMMONPLACE_ORG_GROUP_MEMBERS;
  delete process.env.COMMONPLACE_GROUPS_OF_PERSON;
  await world.close();
});
beforeEach(async () => {
  owner = world.person('Olga');
  orgId = (await world.createOrg(owner)).id;
});

const create = async (caller: Caller, name: string, org = orgId, description?: string) =>
  groups.createGroup(CreateGroupRequest.fromPartial({ orgId: org, name, description }), await world.as(caller));
const get = async (caller: Caller, groupId: string, org = orgId) =>
  groups.getGroup({ orgId: org, groupId }, await world.as(caller));
const rename = async (caller: Caller, groupId: string, name: string) =>
  groups.updateGroup(
    UpdateGroupRequest.fromPartial({ orgId, groupId, updateMask: ['name'], name }),
    await world.as(caller),
  );
const remove = async (caller: Caller, groupId: string) =>
  groups.deleteGroup({ orgId, groupId }, await world.as(caller));
const list = async (caller: Caller, fields: Partial<ListGroupsRequest> = {}) => {
  const request = { ...ListGroupsRequest.fromPartial({ orgId, page: page() }), ...fields };
  const { items, page: shown } = await groups.listGroups(request, await world.as(caller));
  return { names: items.map(({ name }) => name), total: shown?.total, next: shown?.nextCursor };
};
const put = async (caller: Caller, groupId: string, { userId }: Pick<Caller, 'userId'>, reply?: Reply) =>
  groups.putGroupMember({ orgId, groupId, userId }, await world.as(caller, {}, reply));
const take = async (caller: Caller, groupId: string, { userId }: Pick<Caller, 'userId'>) =>
  groups.removeGroupMember({ orgId, groupId, userId }, await world.as(caller));
const members = async (caller: Caller, groupId: string, fields: Partial<ListGroupMembersRequest> = {}) => {
  const request = { ...ListGroupMembersRequest.fromPartial({ orgId, groupId, page: page() }), ...fields };
  return (await groups.listGroupMembers(request, await world.as(caller))).items;
};
const groupsOf = async ({ userId }: Caller) =>
  (await world.directory.getMemberships({ userId }, await world.system())).groups;
const outcome = (act: Promise<unknown>) =>
  act.then(
    () => 'ok',
    (error: { reason: string }) => error.reason,
  );
const join = async (role: OrgRole, name?: string) => world.join(owner, orgId, role, name);

test('members show their avatars', async () => {
  const { caller } = await join(OrgRole.MEMBER);
  const { id } = await create(owner, 'Photographers');
  const avatar = 'https://pictures.example.com/a.png';
  world.play.avatars.set(caller.userId, avatar);
  expect((await put(owner, id, caller)).user?.avatarUrl).toBe(avatar);
  await put(owner, id, owner);
  expect((await members(owner, id)).map(({ user }) => user?.avatarUrl)).toEqual([avatar, undefined]);
});

describe('each role', () => {
  const refused = ['insufficient_role', 'insufficient_role', 'insufficient_role', 'insufficient_role'] as const;
  const hidden = ['not_found', 'not_found', 'not_found', 'not_found'] as const;
  const taken = ['ok', 'ok', 'ok', 'ok'] as const;
  test.each([
    // role, list, read one that they are not in, create, [rename, add themselves, remove another person, delete]
    [OrgRole.GUEST, 'ok', 'not_found', 'insufficient_role', hidden],
    [OrgRole.MEMBER, 'ok', 'ok', 'insufficient_role', refused],
    [OrgRole.ADMIN, 'ok', 'ok', 'ok', taken],
    [OrgRole.OWNER, 'ok', 'ok', 'ok', taken],
    [undefined, 'not_found', 'not_found', 'not_found', hidden],
  ] as const)('%s', async (role, lists, reads, creates, changes) => {
    const caller = role === undefined ? world.person() : (await join(role)).caller;
    const { caller: other } = await join(OrgRole.MEMBER);
    const { id } = await create(owner, 'Engineers');
    await put(owner, id, other);
    expect(await outcome(list(caller))).toBe(lists);
    expect(await outcome(get(caller, id))).toBe(reads);
    expect(await outcome(members(caller, id))).toBe(reads);
    expect(await outcome(create(caller, 'Their own'))).toBe(creates);
    expect([
      await outcome(rename(caller, id, 'Builders')),
      await outcome(put(caller, id, caller)),
      await outcome(take(caller, id, other)),
      await outcome(remove(caller, id)),
    ]).toEqual(changes);
  });

  test('an agent administers no groups, and a key of another Org reaches none', async () => {
    const { id } = await create(owner, 'Engineers');
    const agent = { id: newId(), name: 'Agent', roles: {} } as never;
    const credential = { ...owner.credential, scopes: ['org_member:write'] } as const;
    const byAgent: Caller = { ...owner, agent, credential };
    expect(await outcome(create(byAgent, 'Agents'))).toBe('insufficient_role');
    expect(await outcome(put(byAgent, id, owner))).toBe('insufficient_role');
    expect(await outcome(get(withKey(owner, newId()), id))).toBe('tenant_boundary');
  });

  test('a group is addressed by its own Org only', async () => {
    const other = world.person();
    const { id: foreignId } = await world.createOrg(other);
    const foreign = await create(other, 'Engineers', foreignId);
    expect(await outcome(get(owner, foreign.id))).toBe('not_found');
    expect(await outcome(put(owner, foreign.id, owner))).toBe('not_found');
    expect(await outcome(remove(owner, foreign.id))).toBe('not_found');
    expect(await outcome(get(owner, foreign.id, foreignId))).toBe('not_found');
    expect((await get(other, foreign.id, foreignId)).name).toBe('Engineers');
  });
});

describe('a group', () => {
  test('has a name that no other group of the Org has, in whatever case', async () => {
    const { id } = await create(owner, 'Straße');
    const second = await create(owner, 'ＱＡ', orgId, 'Who tests.');
    expect(second).toMatchObject({ name: 'ＱＡ', description: 'Who tests.', memberCount: 0, version: 1 });
    expect(await outcome(create(owner, 'qa'))).toBe('already_exists');
    expect(await outcome(rename(owner, id, 'Qa'))).toBe('already_exists');
    expect(await rename(owner, second.id, 'Qa')).toMatchObject({ name: 'Qa', description: 'Who tests.', version: 2 });
    const { id: elsewhere } = await world.createOrg(owner);
    expect((await create(owner, 'qa', elsewhere)).name).toBe('qa');
    await remove(owner, second.id);
    expect((await create(owner, 'QA')).name).toBe('QA');
    const twice = await Promise.all([1, 2, 3].map(() => outcome(create(owner, 'Race'))));
    expect(twice.sort()).toEqual(['already_exists', 'already_exists', 'ok']);
  });

  test('is found by name, person and time, in an order, with pages', async () => {
    const { caller: person } = await join(OrgRole.MEMBER);
    const { caller: admin } = await join(OrgRole.ADMIN);
    const beta = await create(owner, 'beta');
    await create(owner, 'Gamma');
    const alpha = await create(admin, 'Alpha');
    await put(owner, beta.id, person);
    await put(owner, alpha.id, person);
    expect(await list(person)).toMatchObject({ names: ['Alpha', 'beta', 'Gamma'], total: 3 });
    expect((await list(person, { sort: '-name' })).names).toEqual(['Gamma', 'beta', 'Alpha']);
    expect((await list(person, { sort: 'created_at' })).names).toEqual(['beta', 'Gamma', 'Alpha']);
    expect((await list(person, { q: 'ＡM' })).names).toEqual(['Gamma']);
    expect((await list(person, { userId: person.userId })).names).toEqual(['Alpha', 'beta']);
    expect((await list(person, { userId: newId() })).names).toEqual([]);
    expect((await list(person, { createdBy: admin.userId })).names).toEqual(['Alpha']);
    expect((await list(person, { createdAfter: beta.createdAt })).names).toEqual(['Alpha', 'Gamma']);
    const first = await list(person, { page: page(2) });
    expect(first).toMatchObject({ names: ['Alpha', 'beta'], total: 3 });
    expect((await list(person, { page: page(2, 0, first.next ?? '') })).names).toEqual(['Gamma']);
  });

  test('has limits', async () => {
    const first = await create(owner, 'First');
    const others: string[] = [];
    for (let i = 0; i < 7; i++) others.push((await create(owner, `Group ${i}`)).id);
    expect(await outcome(create(owner, 'One more'))).toBe('limit_reached');
    for (let i = 0; i < 3; i++) await put(owner, first.id, (await join(OrgRole.MEMBER)).caller);
    const { caller: person } = await join(OrgRole.MEMBER);
    expect(await outcome(put(owner, first.id, person))).toBe('limit_reached');
    for (const id of others.slice(0, 4)) await put(owner, id, person);
    expect(await outcome(put(owner, others[5] ?? '', person))).toBe('limit_reached');
    await take(owner, others[0] ?? '', person);
    expect(await outcome(put(owner, others[5] ?? '', person))).toBe('ok');
    await remove(owner, first.id);
    expect(await outcome(create(owner, 'One more'))).toBe('ok');
  });

  test('tells of its changes', async () => {
    const { caller: person } = await join(OrgRole.MEMBER);
    const { id } = await create(owner, 'Engineers');
    await rename(owner, id, 'Builders');
    await put(owner, id, person);
    await take(owner, id, person);
    await remove(owner, id);
    const mine = await eventually(() => {
      const found = world.events.filter(({ type, data }) => /\.group/.test(type) && data.groupId === id);
      expect(found).toHaveLength(5);
      return found;
    });
    expect(mine.map(({ type }) => type.replace('commonplace.tenancy.', ''))).toEqual([
      'group.created',
      'group.updated',
      'group_member.added',
      'group_member.removed',
      'group.deleted',
    ]);
    expect(mine[1]).toMatchObject({ tenant: orgId, data: { orgId, name: 'Builders', changedFields: ['name'] } });
    expect(mine[2]).toMatchObject({ actor: { id: owner.userId }, data: { orgId, userId: person.userId } });
  });
});

describe('its members', () => {
  test('are active members of the Org and guests, each once', async () => {
    const { id } = await create(owner, 'Engineers');
    const { caller: guest } = await join(OrgRole.GUEST, 'Gil');
    const { caller: suspended, memberId } = await join(OrgRole.MEMBER);
    await world.updateOrgMember(owner, {
      orgId,
      memberId,
      updateMask: ['status'],
      status: OrgMemberStatus.SUSPENDED,
    });
    const invited = world.person();
    await world.invite(owner, orgId, { userId: invited.userId });
    for (const one of [world.person(), invited, suspended, { userId: newId() }]) {
      expect(await outcome(put(owner, id, one))).toBe('not_found');
    }
    const reply: Reply = {};
    expect(await put(owner, id, guest, reply)).toMatchObject({
      id: guest.userId,
      groupId: id,
      user: { id: guest.userId, name: 'Gil', email: guest.userEmail },
      role: OrgRole.GUEST,
      status: OrgMemberStatus.ACTIVE,
      addedBy: { id: owner.userId },
    });
    expect(reply.status).not.toBe(200);
    const again: Reply = {};
    await Promise.all([put(owner, id, guest, again), put(owner, id, guest)]);
    expect(again.status).toBe(200);
    expect((await get(owner, id)).memberCount).toBe(1);
    expect(await groupsOf(guest)).toEqual([{ groupId: id, orgId, name: 'Engineers' }]);
  });

  test('a guest sees the groups that they are in, and there themselves and administrators', async () => {
    const { caller: guest } = await join(OrgRole.GUEST);
    const { caller: person } = await join(OrgRole.MEMBER);
    const { id } = await create(owner, 'Engineers');
    await create(owner, 'Secret');
    for (const one of [owner, guest, person]) await put(owner, id, one);
    expect((await list(guest)).names).toEqual(['Engineers']);
    expect((await list(guest, { userId: guest.userId })).names).toEqual(['Engineers']);
    expect((await list(guest, { userId: person.userId })).names).toEqual([]);
    expect((await members(guest, id)).map((one) => one.id)).toEqual([owner.userId, guest.userId]);
    expect((await members(person, id)).map((one) => one.id)).toEqual([owner, guest, person].map((one) => one.userId));
    expect((await members(person, id, { q: person.userEmail })).map((one) => one.id)).toEqual([person.userId]);
  });

  test('may leave, and are nobody else to remove', async () => {
    const { id } = await create(owner, 'Engineers');
    const { caller: guest } = await join(OrgRole.GUEST);
    const { caller: person } = await join(OrgRole.MEMBER);
    for (const one of [guest, person]) await put(owner, id, one);
    expect(await outcome(take(guest, id, person))).toBe('insufficient_role');
    expect(await take(guest, id, guest)).toEqual({ id: guest.userId, deleted: true });
    expect(await outcome(take(guest, id, guest))).toBe('not_found');
    expect(await outcome(take(owner, id, guest))).toBe('not_found');
    expect(await groupsOf(guest)).toEqual([]);
    expect(await groupsOf(person)).toHaveLength(1);
  });

  test('are none while the Org suspends them or is to be deleted', async () => {
    const { id } = await create(owner, 'Engineers');
    const { caller: person, memberId } = await join(OrgRole.MEMBER);
    await put(owner, id, person);
    const setStatus = (status: OrgMemberStatus) =>
      world.updateOrgMember(owner, { orgId, memberId, updateMask: ['status'], status });
    await setStatus(OrgMemberStatus.SUSPENDED);
    expect(await groupsOf(person)).toEqual([]);
    expect(await members(owner, id)).toMatchObject([{ id: person.userId, status: OrgMemberStatus.SUSPENDED }]);
    await setStatus(OrgMemberStatus.ACTIVE);
    expect(await groupsOf(person)).toHaveLength(1);
    await world.orgs.deleteOrg({ orgId, confirm: undefined }, await world.as(owner));
    expect(await groupsOf(person)).toEqual([]);
  });

  test('are none any more after the group or their membership of the Org has ended, also if they come back', async () => {
    const [one, other] = [await create(owner, 'One'), await create(owner, 'Other')];
    const { caller: person, memberId } = await join(OrgRole.MEMBER);
    await put(owner, one.id, person);
    await put(owner, other.id, person);
    await remove(owner, one.id);
    expect((await groupsOf(person)).map(({ groupId }) => groupId)).toEqual([other.id]);
    await world.orgs.removeOrgMember({ orgId, memberId, transferToMemberId: undefined }, await world.as(owner));
    expect(await members(owner, other.id)).toEqual([]);
    const { id, inviteUrl } = await world.invite(owner, orgId, { userId: person.userId, role: OrgRole.MEMBER });
    expect(id).not.toBe(memberId);
    await world.accept(person, inviteUrl);
    expect(await groupsOf(person)).toEqual([]);
    const parts = await openWorldParts(world);
    await eventually(async () => expect(await parts.groups.members.count({ groupId: one.id })).toBe(0));
  });

  test('a place that is made while the person leaves the Org gives nothing and is removed', async () => {
    const outcomes = [];
    for (let i = 0; i < 3; i++) {
      const { id } = await create(owner, `Race ${i}`);
      const { caller: person, memberId } = await join(OrgRole.MEMBER);
      const leaving = world.orgs.removeOrgMember(
        { orgId, memberId, transferToMemberId: undefined },
        await world.as(owner),
      );
      outcomes.push(await outcome(put(owner, id, person)));
      await leaving;
      expect(await groupsOf(person)).toEqual([]);
      const { inviteUrl } = await world.invite(owner, orgId, { userId: person.userId });
      await world.accept(person, inviteUrl);
      expect(await groupsOf(person)).toEqual([]);
      await eventually(async () => expect(await members(owner, id)).toEqual([]));
      await remove(owner, id);
    }
    expect(outcomes).toHaveLength(3);
  });

  test('the end of a group and a new place in it exclude each other', async () => {
    const { caller: person } = await join(OrgRole.MEMBER);
    const { id } = await create(owner, 'Engineers');
    const [added] = await Promise.all([outcome(put(owner, id, person)), remove(owner, id)]);
    expect(['ok', 'not_found']).toContain(added);
    expect(await groupsOf(person)).toEqual([]);
    expect(await outcome(members(owner, id))).toBe('not_found');
    const parts = await openWorldParts(world);
    await eventually(async () => expect(await parts.groups.members.count({ groupId: id })).toBe(0));
  });
});

test('an Org is purged with its groups', async () => {
  const { id } = await create(owner, 'Engineers');
  await put(owner, id, owner);
  await world.orgs.deleteOrg({ orgId, confirm: undefined }, await world.as(owner));
  world.wait(31 * 24 * 3600 * 1000);
  const parts = await openWorldParts(world);
  await runPurge(parts);
  expect(await parts.groups.records.count({ orgId })).toBe(0);
  expect(await parts.groups.members.count({ groupId: id })).toBe(0);
});

test('other services look up the groups of an Org', async () => {
  const { id } = await create(owner, 'Engineers');
  const { id: elsewhere } = await world.createOrg(owner);
  const lookUp = async (org: string) =>
    world.directory.lookUpGroups({ orgId: org, groupIds: [newId(), id] }, await world.system());
  expect((await lookUp(orgId)).items).toEqual([{ groupId: id, orgId, name: 'Engineers' }]);
  expect((await lookUp(elsewhere)).items).toEqual([]);
});

import type { Caller } from '@commonplace/kit/auth';
import { newId } from '@commonplace/kit/id';
import type { Reply } from '@commonplace/kit/rpc';
import { inWork } from '@commonplace/kit/store';
import { eventually } from '@commonplace/kit/testing';
import { ConversationRole, ConversationType, WhoMay } from '@commonplace/proto/messaging/v1/conversation.js';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { endMembership } from '../src/conversations/leavers.js';
import { type ConversationRecord, type MemberRecord, memberId } from '../src/conversations/records.js';
import { eventOf } from './stage.js';
import { keyOf, newPlace, openTalkStage, type Place, type TalkStage } from './talk-stage.js';

let stage: TalkStage;
let place: Place;
let ann: Caller;
let ben: Caller;
let cem: Caller;

const { DIRECT, GROUP, CHANNEL } = ConversationType;
const refused = (reason: string) => expect.objectContaining({ reason });

beforeAll(async () => {
  stage = await openTalkStage();
  place = newPlace();
  [ann, ben, cem] = ['Ann', 'Ben', 'Cem'].map((name) => stage.person(name)) as [Caller, Caller, Caller];
  for (const one of [ann, ben, cem]) stage.join(one, place);
});
afterAll(() => stage.close());

const group = (by: Caller, others: Caller[], fields: object = {}) =>
  stage.create(by, {
    ...{ type: GROUP, workspaceId: place.workspaceId, memberIds: others.map(({ userId }) => userId) },
    ...fields,
  });

describe('a direct conversation', () => {
  const direct = (by: Caller, other: Caller, reply?: Reply) =>
    stage.create(by, { type: DIRECT, orgId: place.orgId, memberIds: [other.userId] }, reply);

  test('is the same one for both people, even if both create it concurrently', async () => {
    const replies: Reply[] = [{}, {}, {}, {}];
    const made = await Promise.all([
      direct(ann, ben, replies[0]),
      direct(ben, ann, replies[1]),
      direct(ann, ben, replies[2]),
      direct(ben, ann, replies[3]),
    ]);
    expect(new Set(made.map(({ id }) => id)).size).toBe(1);
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(3);
    expect(made[0]).toMatchObject({ type: DIRECT, orgId: place.orgId, memberCount: 2 });
    expect(made[0]?.workspaceId).toBeUndefined();
  });

  test('within an Org belongs to the Org, so that limited keys do not reach it', async () => {
    const { id } = await stage.create(ann, {
      ...{ type: DIRECT, workspaceId: place.workspaceId, memberIds: [cem.userId] },
    });
    expect((await direct(cem, ann)).id).toBe(id);
    const limited = keyOf(ann, { workspaceIds: [place.workspaceId] });
    await expect(stage.get(limited, id)).rejects.toEqual(refused('tenant_boundary'));
    expect((await stage.list(limited)).items.map((one) => one.id)).not.toContain(id);
    await expect(
      stage.create(limited, { type: DIRECT, workspaceId: place.workspaceId, memberIds: [ben.userId] }),
    ).rejects.toEqual(refused('tenant_boundary'));
  });

  test('can be created by a guest of the Org with people of a workspace that they share', async () => {
    const [guest, outside] = [stage.person('Guest'), stage.person('Outside')];
    stage.join(guest, place, WorkspaceRole.VIEWER, OrgRole.GUEST);
    stage.join(outside, { ...newPlace(), orgId: place.orgId });
    const begin = (by: Caller, other: Caller, fields: object = { workspaceId: place.workspaceId }) =>
      stage.create(by, { type: DIRECT, memberIds: [other.userId], ...fields });
    const { id, orgId, workspaceId } = await begin(guest, ann);
    expect([orgId, workspaceId]).toEqual([place.orgId, undefined]);
    expect((await stage.send(guest, id, 'Hello')).seq).toBe(1);
    expect((await direct(ann, guest)).id).toBe(id);
    await expect(begin(guest, outside)).rejects.toEqual(refused('not_found'));
    await expect(begin(guest, ann, { orgId: place.orgId })).rejects.toEqual(refused('insufficient_role'));
    const limited = keyOf(guest, { workspaceIds: [place.workspaceId] });
    await expect(begin(limited, ben)).rejects.toEqual(refused('tenant_boundary'));
    expect((await begin(ann, outside)).memberCount).toBe(2);
  });

  test('reaches no one outside of the tenant', async () => {
    const stranger = stage.person('Stranger');
    stage.join(stranger, newPlace());
    await expect(direct(ann, stranger)).rejects.toEqual(refused('not_found'));
    await expect(direct(ann, ann)).rejects.toEqual(refused('invalid_value'));
  });

  test('accepts no message after the other person has left, until they are back', async () => {
    const gone = stage.person('Gone');
    stage.join(gone, place);
    const { id } = await direct(ann, gone);
    await stage.send(ann, id, 'Are you there?');
    await stage.quit(gone, place);
    await expect(stage.send(ann, id, 'Hello?')).rejects.toEqual(refused('member_unavailable'));
    await expect(stage.get(gone, id)).rejects.toEqual(refused('not_found'));
    stage.join(gone, place);
    expect((await stage.get(gone, id)).unreadCount).toBe(1);
    expect((await stage.send(ann, id, 'Welcome')).seq).toBe(2);
  });

  test('is hidden until the next message, and counts nothing meanwhile', async () => {
    const dan = stage.person('Dan');
    stage.join(dan, place);
    const { id } = await direct(ann, dan);
    await stage.send(ann, id, 'One');
    await stage.leave(dan, id);
    expect(await stage.list(dan)).toMatchObject({ items: [], totalUnread: 0 });
    await stage.send(ann, id, 'Two');
    expect(await stage.list(dan)).toMatchObject({ items: [{ id, unreadCount: 1 }], totalUnread: 1 });
    await stage.leave(dan, id);
    const reply: Reply = {};
    expect((await direct(dan, ann, reply)).id).toBe(id);
    expect(reply.status).toBe(200);
    expect((await stage.list(dan)).items).toHaveLength(1);
  });

  test('has no name, no further members and no owner', async () => {
    const { id } = await direct(ann, ben);
    await expect(
      stage.create(ann, { type: DIRECT, orgId: place.orgId, memberIds: [ben.userId], name: 'Us' }),
    ).rejects.toEqual(refused('invalid_value'));
    await expect(stage.add(ann, id, { userId: cem.userId })).rejects.toEqual(refused('direct_conversation'));
    await expect(stage.update(ann, id, ['topic'], { topic: 'Us' })).rejects.toEqual(refused('insufficient_role'));
    const erased = stage.talks.deleteConversation(
      { conversationId: id, for: 'DELETED_FOR_EVERYONE' as never },
      await stage.as(ann),
    );
    await expect(erased).rejects.toEqual(refused('insufficient_role'));
  });

  test('has no owner or manager by its creation either', async () => {
    for (const role of [ConversationRole.OWNER, ConversationRole.MANAGER]) {
      const created = stage.create(ann, { type: DIRECT, orgId: place.orgId, members: [{ userId: ben.userId, role }] });
      await expect(created).rejects.toMatchObject({ reason: 'invalid_value', param: 'members[0].role' });
    }
  });

  test('keeps its two members, although an earlier version made one of them its owner', async () => {
    const { id } = await direct(ann, ben);
    const { members } = stage.records;
    const member = await members.get(memberId(id, ann.userId));
    await inWork(stage.stage.own.store, async (work) => {
      work.replace(members, member as MemberRecord, { ...(member as MemberRecord), role: 'owner', rank: 0 });
    });
    const changed = stage.update(ann, id, ['add_member_ids'], { addMemberIds: [cem.userId] });
    await expect(changed).rejects.toEqual(refused('direct_conversation'));
  });
});

describe('a group', () => {
  test('is listed by its creator and by times', async () => {
    const { id } = await group(ben, [ann], { name: 'Old' });
    const before = (await stage.get(ann, id)).createdAt ?? '';
    await new Promise((resolve) => setTimeout(resolve, 2));
    const { id: later } = await group(ann, [ben], { name: 'New' });
    const listed = async (fields: object) => {
      const ids = (await stage.list(ann, fields)).items.map((one) => one.id);
      return [id, later].filter((one) => ids.includes(one));
    };
    expect(await listed({})).toEqual([id, later]);
    expect(await listed({ createdBy: ben.userId })).toEqual([id]);
    expect(await listed({ createdAfter: before })).toEqual([later]);
    expect(await listed({ updatedBefore: before })).toEqual([]);
    const { id: channel } = await stage.create(ben, { type: CHANNEL, workspaceId: place.workspaceId, name: 'Open' });
    const joinable = async (fields: object) =>
      (await stage.list(ann, { joinable: true, ...fields })).items.map((one) => one.id);
    expect(await joinable({ createdBy: ben.userId, createdAfter: before })).toContain(channel);
    expect(await joinable({ createdBy: ann.userId })).not.toContain(channel);
  });

  test('is visible to its members only', async () => {
    const { id } = await group(ann, [ben], { name: 'Secret' });
    await expect(stage.get(cem, id)).rejects.toEqual(refused('not_found'));
    await expect(stage.history(cem, id)).rejects.toEqual(refused('not_found'));
    await expect(stage.send(cem, id, 'Hello')).rejects.toEqual(refused('not_found'));
    await expect(stage.add(cem, id, { userId: cem.userId })).rejects.toEqual(refused('not_found'));
    expect((await stage.list(cem)).items.map((one) => one.id)).not.toContain(id);
  });

  test('is changed by managers, and its owners are changed by owners', async () => {
    const { id } = await group(ann, [ben, cem]);
    await expect(stage.update(ben, id, ['name'], { name: 'Ours' })).rejects.toEqual(refused('insufficient_role'));
    const roles = (userId: string, role: ConversationRole) => ({ memberRoles: [{ userId, role }] });
    await stage.update(ann, id, ['member_roles'], roles(ben.userId, ConversationRole.MANAGER));
    expect((await stage.update(ben, id, ['name'], { name: 'Ours' })).name).toBe('Ours');
    for (const change of [roles(ann.userId, ConversationRole.MEMBER), roles(ben.userId, ConversationRole.OWNER)]) {
      await expect(stage.update(ben, id, ['member_roles'], change)).rejects.toEqual(refused('insufficient_role'));
    }
    await expect(stage.update(ben, id, ['remove_member_ids'], { removeMemberIds: [ann.userId] })).rejects.toEqual(
      refused('insufficient_role'),
    );
    const smaller = await stage.update(ben, id, ['remove_member_ids'], { removeMemberIds: [cem.userId] });
    expect(smaller.memberCount).toBe(2);
    await expect(stage.get(cem, id)).rejects.toEqual(refused('not_found'));
  });

  test('keeps an owner', async () => {
    const { id } = await group(ann, [ben]);
    await expect(stage.leave(ann, id)).rejects.toEqual(refused('last_owner'));
    const demotion = { memberRoles: [{ userId: ann.userId, role: ConversationRole.MEMBER }] };
    await expect(stage.update(ann, id, ['member_roles'], demotion)).rejects.toEqual(refused('last_owner'));
    await stage.update(ann, id, ['member_roles'], {
      memberRoles: [{ userId: ben.userId, role: ConversationRole.OWNER }],
    });
    await stage.leave(ann, id);
    expect(await stage.get(ben, id)).toMatchObject({ memberCount: 1, role: ConversationRole.OWNER });
    await stage.leave(ben, id);
    await expect(stage.get(ben, id)).rejects.toEqual(refused('not_found'));
  });

  test('keeps one of two owners who leave concurrently', async () => {
    const { id } = await group(ann, [ben, cem]);
    await stage.update(ann, id, ['member_roles'], {
      memberRoles: [{ userId: ben.userId, role: ConversationRole.OWNER }],
    });
    const left = await Promise.allSettled([stage.leave(ann, id), stage.leave(ben, id)]);
    expect(left.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect((await stage.get(cem, id)).memberCount).toBe(2);
  });

  test.each(['demote each other', 'leave and are demoted'])(
    'keeps one of two owners who %s concurrently',
    async (how) => {
      const { id } = await group(ann, [ben, cem]);
      const withRole = (one: Caller, role: ConversationRole) => ({ memberRoles: [{ userId: one.userId, role }] });
      await stage.update(ann, id, ['member_roles'], withRole(ben, ConversationRole.OWNER));
      const demote = (by: Caller, one: Caller) =>
        stage.update(by, id, ['member_roles'], withRole(one, ConversationRole.MEMBER));
      const done = await Promise.allSettled([
        how === 'demote each other' ? demote(ben, ann) : stage.leave(ann, id),
        demote(how === 'demote each other' ? ann : ben, ben),
      ]);
      expect(done.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
      const owners = { conversationId: id, isActive: true, role: 'owner' } as const;
      expect(await stage.records.members.count(owners as never)).toBe(1);
    },
  );

  test('a change of roles counts as a change of the conversation, and naming the same role does not', async () => {
    const { id, version } = await group(ann, [ben]);
    const change = { memberRoles: [{ userId: ben.userId, role: ConversationRole.MANAGER }] };
    expect((await stage.update(ann, id, ['member_roles'], change)).version).toBe(version + 1);
    expect((await stage.update(ann, id, ['member_roles'], change)).version).toBe(version + 1);
  });

  test('has at most as many members as the limit, even for concurrent additions', async () => {
    const { id } = await group(ann, []);
    const crowd = Array.from({ length: 120 }, (_, at) => stage.person(`Guest ${at}`));
    for (const one of crowd) stage.join(one, place);
    const added = await Promise.allSettled(
      [0, 30, 60, 90].map((at) =>
        stage.add(ann, id, { userIds: crowd.slice(at, at + 30).map(({ userId }) => userId) }),
      ),
    );
    expect(added.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
    expect((await stage.get(ann, id)).memberCount).toBe(91);
    const at = 30 * added.findIndex(({ status }) => status === 'rejected');
    const others = crowd.slice(at, at + 30).map(({ userId }) => userId);
    await expect(stage.add(ann, id, { userIds: others })).rejects.toEqual(refused('limit_reached'));
  });

  test('is deleted with everything in it', async () => {
    const { id } = await group(ann, [ben]);
    await stage.send(ann, id, { text: 'Hello', clientMessageId: 'a', mentions: [{ id: ben.userId }] });
    await stage.talks.deleteConversation(
      { conversationId: id, for: 'DELETED_FOR_EVERYONE' as never },
      await stage.as(ann),
    );
    await expect(stage.get(ben, id)).rejects.toEqual(refused('not_found'));
    const { members, messages, mentions, receipts } = stage.records;
    await eventually(async () => {
      const where = { conversationId: id };
      const left = await Promise.all([members, messages, mentions, receipts].map((all) => all.count(where as never)));
      expect(left).toEqual([0, 0, 0, 0]);
    });
  });

  test('notifies each of its members of its deletion, however many there are', async () => {
    const { id } = await stage.channel(ann, place);
    const { members } = stage.records;
    const [owner] = await members.find({ where: { conversationId: id }, limit: 1 });
    const others = Array.from({ length: 1_100 }, newId);
    await inWork(stage.stage.own.store, async (work) => {
      for (const principalId of others) {
        work.insert(members, {
          ...owner,
          id: memberId(id, principalId),
          principalId,
          role: 'member',
          rank: 2,
        } as never);
      }
    });
    const notified: string[] = [];
    let longest = 0;
    const watched = await stage.stage.host.bus.watch(['commonplace.messaging.conversation.updated'], (event) => {
      if (event.subject !== id) return;
      notified.push(...(event.data.userIds as string[]));
      longest = Math.max(longest, JSON.stringify(event.data).length);
    });
    await stage.talks.deleteConversation(
      { conversationId: id, for: 'DELETED_FOR_EVERYONE' as never },
      await stage.as(ann),
    );
    await eventually(() => expect(notified).toHaveLength(others.length + 1));
    await watched.close();
    expect(new Set(notified)).toEqual(new Set([ann.userId, ...others]));
    expect(longest).toBeLessThan(20_000);
  });

  test('is reached by a key of its workspace, and by no other', async () => {
    const other = newPlace();
    stage.join(ann, other);
    const { id } = await group(ann, [ben]);
    expect((await stage.get(keyOf(ann, { workspaceIds: [place.workspaceId] }), id)).id).toBe(id);
    const elsewhere = keyOf(ann, { workspaceIds: [other.workspaceId] });
    await expect(stage.get(elsewhere, id)).rejects.toEqual(refused('tenant_boundary'));
    expect(await stage.list(elsewhere)).toMatchObject({ items: [], totalUnread: 0 });
    const ofOrg = { ...keyOf(ann), tenant: { orgId: other.orgId } };
    await expect(stage.get(ofOrg, id)).rejects.toEqual(refused('tenant_boundary'));
  });
});

describe('a channel', () => {
  test('is found among hundreds that can be joined, which are read page by page', async () => {
    const spot = await stage.channel(ann, place, { name: 'Needle' });
    const { store } = stage.stage.own;
    const { conversations } = stage.records;
    const record = (await conversations.get(spot.id)) as ConversationRecord;
    const straw = await inWork(store, async (work) =>
      Array.from({ length: 1000 }, (_, i) =>
        work.insert(conversations, { ...record, id: newId(), name: `Straw ${i}` }),
      ),
    );
    const joinable = await stage.list(ben, { joinable: true, q: 'needle' });
    expect(joinable.items.map(({ id }) => id)).toEqual([spot.id]);
    await inWork(store, async (work) => {
      for (const one of straw) work.remove(conversations, one);
    });
  });

  test('can be joined by readers of its workspace, and is listed for them', async () => {
    const guest = stage.person('Guest');
    stage.join(guest, place, WorkspaceRole.GUEST, OrgRole.GUEST);
    const { id } = await stage.channel(ann, place, { name: 'Open house' });
    expect(await stage.get(ben, id)).toMatchObject({ isMember: false, memberCount: 1 });
    await expect(stage.history(ben, id)).rejects.toEqual(refused('insufficient_role'));
    const joinable = await stage.list(ben, { joinable: true, q: 'house' });
    expect(joinable.items.map((one) => one.id)).toEqual([id]);
    await expect(stage.get(guest, id)).rejects.toEqual(refused('not_found'));
    await expect(stage.add(guest, id, { userId: guest.userId })).rejects.toEqual(refused('not_found'));
    await expect(stage.add(ben, id, { userId: cem.userId })).rejects.toEqual(refused('insufficient_role'));
    await expect(stage.add(ben, id, { userId: ben.userId, role: ConversationRole.MANAGER })).rejects.toEqual(
      refused('insufficient_role'),
    );
    const replies: Reply[] = [{}, {}];
    await stage.add(ben, id, { userId: ben.userId }, replies[0]);
    await stage.add(ben, id, { userId: ben.userId }, replies[1]);
    expect(replies.map(({ status }) => status)).toEqual([undefined, 200]);
    expect((await stage.list(ben, { joinable: true })).items.map((one) => one.id)).not.toContain(id);
    await stage.add(ann, id, { userId: guest.userId });
    expect((await stage.send(guest, id, 'Thank you')).seq).toBe(1);
  });

  test('can be restricted to posts of managers', async () => {
    const { id } = await stage.channel(ann, place, { memberIds: [ben.userId] });
    await expect(stage.set(ben, id, ['who_can_post'], { whoCanPost: WhoMay.MANAGERS })).rejects.toEqual(
      refused('insufficient_role'),
    );
    const { shared } = await stage.set(ann, id, ['who_can_post'], { whoCanPost: WhoMay.MANAGERS });
    expect(shared?.whoCanPost).toBe(WhoMay.MANAGERS);
    await expect(stage.send(ben, id, 'Hello')).rejects.toEqual(refused('insufficient_role'));
    expect((await stage.send(ann, id, 'Hello')).seq).toBe(1);
  });
});

describe('a person who leaves', () => {
  test('a workspace loses access with the response, and the membership soon after', async () => {
    const elsewhere = newPlace();
    for (const one of [ann, ben, cem]) stage.join(one, elsewhere);
    const inIt = { workspaceId: elsewhere.workspaceId };
    const { id } = await group(ann, [ben, cem], inIt);
    const alone = await group(ann, [], inIt);
    await stage.quit(ann, elsewhere);
    await expect(stage.get(ann, id)).rejects.toEqual(refused('not_found'));
    const event = eventOf(
      'tenancy.workspace_member.removed',
      { workspaceId: elsewhere.workspaceId, userId: ann.userId },
      { tenant: elsewhere.orgId },
    );
    await stage.stage.host.bus.publish([event, { ...event, id: `evt_${newId()}` }]);
    await eventually(async () => {
      const found = await stage.get(ben, id);
      expect(found).toMatchObject({ memberCount: 2, role: ConversationRole.OWNER });
    });
    await eventually(async () => {
      expect(await stage.records.conversations.get(alone.id)).toBeUndefined();
    });
  });

  test('a workspace keeps the memberships in others, though they are suspended in the Org meanwhile', async () => {
    const [left, kept] = [newPlace(), newPlace()];
    const other = { ...kept, orgId: left.orgId };
    for (const place of [left, other]) for (const one of [ann, ben]) stage.join(one, place);
    const [gone, stays] = [
      await group(ann, [ben], { workspaceId: left.workspaceId }),
      await group(ann, [ben], { workspaceId: other.workspaceId }),
    ];
    for (const place of [left, other]) await stage.quit(ben, place);
    const data = { workspaceId: left.workspaceId, userId: ben.userId };
    await stage.stage.host.bus.publish([eventOf('tenancy.workspace_member.removed', data, { tenant: left.orgId })]);
    await eventually(async () => expect((await stage.get(ann, gone.id)).memberCount).toBe(1));
    await new Promise((resolve) => setTimeout(resolve, 100));
    stage.join(ben, other);
    expect((await stage.get(ben, stays.id)).memberCount).toBe(2);
  });

  test('is no member of a group to which they were added at the same moment', async () => {
    const left = newPlace();
    for (const one of [ann, ben, cem]) stage.join(one, left);
    const inIt = { workspaceId: left.workspaceId };
    const before = await group(ann, [ben, cem], inIt);
    const { bus } = stage.stage.host;
    const tenant = left.orgId;
    await stage.quit(cem, left);
    await bus.publish([eventOf('tenancy.workspace_member.removed', { ...inIt, userId: cem.userId }, { tenant })]);
    await eventually(async () => expect((await stage.get(ann, before.id)).memberCount).toBe(2));
    // The addition has read the membership before it ended, and commits after the group's members were looked up.
    stage.join(cem, left);
    const { id } = await group(ann, [ben, cem], inIt);
    await stage.quit(cem, left);
    const userIds = [ann.userId, ben.userId, cem.userId];
    await bus.publish([
      eventOf('messaging.conversation.updated', { ...inIt, orgId: tenant, conversationId: id, userIds }, { tenant }),
    ]);
    await eventually(async () => expect((await stage.get(ann, id)).memberCount).toBe(2));
    stage.join(cem, left);
    await expect(stage.get(cem, id)).rejects.toEqual(refused('not_found'));
  });

  test('passes the group to a manager first, and otherwise to the member of longest standing', async () => {
    const { id } = await group(ann, [ben, cem]);
    await stage.update(ann, id, ['member_roles'], {
      memberRoles: [{ userId: cem.userId, role: ConversationRole.MANAGER }],
    });
    const { store, log, bus } = stage.stage.own;
    const parts = { ...stage.records, store, log, bus, now: Date.now, settings: {} } as never;
    await endMembership(parts, memberId(id, ann.userId), (type, subject, data, tenant) =>
      eventOf(type, { ...data, subject }, tenant === undefined ? {} : { tenant }),
    );
    expect((await stage.get(cem, id)).role).toBe(ConversationRole.OWNER);
    expect((await stage.get(ben, id)).role).toBe(ConversationRole.MEMBER);
  });

  test('a purged Org leaves no conversations', async () => {
    const doomed = newPlace();
    for (const one of [ann, ben]) stage.join(one, doomed);
    const { id } = await group(ann, [ben], { workspaceId: doomed.workspaceId });
    await stage.send(ann, id, { text: 'Bye', clientMessageId: 'b', mentions: [{ id: ben.userId }] });
    await stage.stage.host.bus.publish([
      eventOf('tenancy.org.purged', { orgId: doomed.orgId }, { tenant: doomed.orgId }),
    ]);
    const { conversations, heads, members, messages, mentions, receipts } = stage.records;
    await eventually(async () => {
      const all = [conversations, heads, members, messages, mentions, receipts];
      const left = await Promise.all(all.map((one) => one.count({ tenant: doomed.orgId } as never)));
      expect(left).toEqual([0, 0, 0, 0, 0, 0]);
    });
  });
});

test('archived conversations and those of archived workspaces are read-only, and count as read', async () => {
  const still = newPlace();
  for (const one of [ann, ben]) stage.join(one, still);
  const before = (await stage.list(ben)).totalUnread;
  const { id } = await group(ann, [ben], { workspaceId: still.workspaceId });
  const sent = await stage.send(ann, id, 'Hello');
  await stage.update(ann, id, ['is_archived'], { isArchived: true });
  expect((await stage.get(ben, id)).unreadCount).toBe(1);
  expect((await stage.list(ben)).totalUnread).toBe(before);
  await expect(stage.send(ann, id, 'More')).rejects.toEqual(refused('conversation_archived'));
  await expect(stage.edit(ann, id, sent.id, ['text'], { text: 'Other' })).rejects.toEqual(
    refused('conversation_archived'),
  );
  const addBen = { addMemberIds: [ben.userId] };
  await expect(stage.update(ann, id, ['add_member_ids'], addBen)).rejects.toEqual(refused('conversation_archived'));
  await stage.update(ann, id, ['is_archived', 'add_member_ids'], { isArchived: false, ...addBen });
  expect((await stage.list(ben)).totalUnread).toBe(before + 1);
  await stage.archive(still.workspaceId);
  await expect(stage.send(ann, id, 'More')).rejects.toEqual(refused('workspace_archived'));
  await expect(stage.erase(ann, id, sent.id)).rejects.toEqual(refused('workspace_archived'));
  const erased = stage.talks.deleteConversation(
    { conversationId: id, for: 'DELETED_FOR_EVERYONE' as never },
    await stage.as(ann),
  );
  await expect(erased).rejects.toEqual(refused('workspace_archived'));
  expect((await stage.list(ben)).totalUnread).toBe(before);
  expect((await stage.history(ben, id)).items).toHaveLength(1);
  expect((await stage.read(ben, id)).unreadCount).toBe(0);
});

test('the total of unread messages is the sum of a page, also while messages are sent', async () => {
  const reader = stage.person('Reader');
  stage.join(reader, place);
  const ids = await Promise.all(Array.from({ length: 5 }, async () => (await group(ann, [reader])).id));
  let isOver = false;
  const writing = ids.map(async (id) => {
    for (let at = 0; !isOver; at++) {
      const { id: messageId } = await stage.send(ann, id, `Message ${at}`);
      if (at % 3 === 0) await stage.erase(ann, id, messageId);
      if (at % 5 === 0) await stage.read(reader, id);
    }
  });
  for (let look = 0; look < 100; look++) {
    const { items, totalUnread } = await stage.list(reader);
    expect(items.reduce((sum, { unreadCount }) => sum + unreadCount, 0)).toBe(totalUnread);
    for (const { lastReadSeq, lastSeq } of items) expect(lastReadSeq).toBeLessThanOrEqual(lastSeq);
  }
  isOver = true;
  await Promise.all(writing);
});

test('the list is sorted by latest activity, and filtered', async () => {
  const here = newPlace();
  const eve = stage.person('Eve');
  for (const one of [ann, eve]) stage.join(one, here);
  const make = (name: string, type = GROUP) =>
    stage.create(ann, { type, workspaceId: here.workspaceId, name, memberIds: [eve.userId] });
  const first = await make('Garden plans');
  const second = await make('Kitchen', CHANNEL);
  const third = await make('Cellar');
  stage.wait(1);
  await stage.send(ann, second.id, 'Soup is ready');
  stage.wait(1);
  await stage.send(ann, first.id, '明天去东京都开会');
  const ids = async (fields: object = {}) => (await stage.list(eve, fields)).items.map(({ id }) => id);
  expect(await ids()).toEqual([first.id, second.id, third.id]);
  expect(await ids({ type: CHANNEL })).toEqual([second.id]);
  expect(await ids({ unreadOnly: true })).toEqual([first.id, second.id]);
  expect(await ids({ q: 'gardens' })).toEqual([first.id]);
  expect(await ids({ q: 'soup' })).toEqual([second.id]);
  expect(await ids({ q: '東京' })).toEqual([first.id]);
  expect(await ids({ q: '京东' })).toEqual([]);
  expect(await ids({ workspaceId: here.workspaceId })).toHaveLength(3);
  await expect(stage.list(eve, { workspaceId: newId() })).rejects.toEqual(refused('not_found'));
  const one = await stage.list(eve, { page: { limit: 1, offset: 0, cursor: '' } });
  expect(one.page).toMatchObject({ total: 3, hasMore: true });
  const next = await stage.list(eve, { page: { limit: 2, offset: 0, cursor: one.page?.nextCursor ?? '' } });
  expect(next.items.map(({ id }) => id)).toEqual([second.id, third.id]);
  expect(next.totalUnread).toBe(2);
});

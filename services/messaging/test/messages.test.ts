import { openTestDatabase } from '@commonplace/adapters/testing';
import type { Caller } from '@commonplace/kit/auth';
import type { AppError } from '@commonplace/kit/errors';
import type { DomainEvent } from '@commonplace/kit/events';
import { newId } from '@commonplace/kit/id';
import type { Reply } from '@commonplace/kit/rpc';
import type { Collection, CollectionSpec, Query, Store, StoredRecord } from '@commonplace/kit/store';
import { eventually } from '@commonplace/kit/testing';
import { contracts } from '@commonplace/platform/contracts';
import { ActorType } from '@commonplace/proto/api/v1/actor.js';
import { ConversationType, NotifyLevel, WhoMay } from '@commonplace/proto/messaging/v1/conversation.js';
import { UpdateConversationRequest } from '@commonplace/proto/messaging/v1/conversation_service.js';
import { MentionType } from '@commonplace/proto/messaging/v1/message.js';
import { UpdateMessageRequest } from '@commonplace/proto/messaging/v1/message_service.js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { keyOf, newPlace, openTalkStage, type Place, type TalkStage } from './talk-stage.js';

let stage: TalkStage;
let place: Place;
let ann: Caller;
let ben: Caller;
let cem: Caller;
const [BOT, PAUSED, ELSEWHERE] = [newId(), newId(), newId()];
const events: DomainEvent[] = [];

const refused = (reason: string) => expect.objectContaining({ reason });
const DAY_MS = 24 * 3600 * 1000;

beforeAll(async () => {
  place = newPlace();
  const agent = { ownerId: newId(), isActive: true, autoRun: false };
  stage = await openTalkStage([
    { ...agent, id: BOT, name: 'Bot', orgId: place.orgId },
    { ...agent, id: PAUSED, name: 'Paused', orgId: place.orgId, isActive: false },
    { ...agent, id: ELSEWHERE, name: 'Elsewhere', orgId: newId() },
  ]);
  [ann, ben, cem] = ['Ann', 'Ben', 'Cem'].map((name) => stage.person(name)) as [Caller, Caller, Caller];
  for (const one of [ann, ben, cem]) stage.join(one, place);
  await stage.stage.host.bus.subscribe(
    { consumer: 'test.messages', types: ['commonplace.messaging.>'] },
    async (some) => {
      events.push(...some);
    },
  );
});
afterAll(() => stage.close());

const group = async (fields: object = {}) =>
  (
    await stage.create(ann, {
      ...{ type: ConversationType.GROUP, workspaceId: place.workspaceId, name: 'Group' },
      ...{ memberIds: [ben.userId, cem.userId], ...fields },
    })
  ).id;

/** Returns a store that records how it would run the queries of messages. */
function explaining(store: Store): { readonly store: Store; readonly plans: string[] } {
  const plans: string[] = [];
  async function collection<T extends StoredRecord>(spec: CollectionSpec<T>): Promise<Collection<T>> {
    const opened = await store.collection(spec);
    if (spec.name !== 'messages') return opened;
    const explain = async (query: Query<T>) => plans.push((await opened.explain(query)).plan);
    return {
      ...opened,
      find: async (query) => explain(query).then(() => opened.find(query)),
      count: async (where, limit) =>
        explain({ where, anyOrder: true, limit: 1 }).then(() => opened.count(where, limit)),
    };
  }
  return { store: { ...store, collection }, plans };
}

/** Waits for the events about a conversation of some types. */
function eventsOf(id: string, type: string, count: number): Promise<DomainEvent[]> {
  return eventually(async () => {
    const found = events.filter((one) => one.subject === id && one.type === `commonplace.messaging.${type}`);
    if (found.length < count) throw new Error(`${found.length} events`);
    return found;
  });
}

describe('a message', () => {
  test('requires text or an attachment', async () => {
    const id = await group();
    await expect(stage.send(ann, id, ' ')).rejects.toEqual(refused('missing_field'));
    await expect(stage.send(ann, id, {})).rejects.toEqual(refused('missing_field'));
  });

  test('is sent once per client_message_id, even concurrently and after retention', async () => {
    const id = await group();
    const replies: Reply[] = [{}, {}, {}];
    const fields = { text: 'Hello', clientMessageId: 'one' };
    const [first, second] = await Promise.all([stage.send(ann, id, fields, replies[0]), stage.send(ann, id, fields)]);
    expect(first.id).toBe(second.id);
    expect((await stage.get(ann, id)).lastSeq).toBe(1);
    await expect(stage.send(ann, id, { ...fields, text: 'Other' })).rejects.toEqual(refused('idempotency_key_reused'));
    expect((await stage.send(ben, id, fields)).seq).toBe(2);
    await stage.set(ann, id, ['retention_days'], { retentionDays: 1 });
    stage.wait(2 * DAY_MS);
    await stage.expire(id);
    expect(await stage.send(ann, id, fields, replies[2])).toMatchObject({ id: first.id, seq: 1, isDeleted: true });
    expect(replies[2]?.status).toBe(200);
    expect((await stage.get(ann, id)).lastSeq).toBe(2);
  });

  test("moves its author's marker when a person sends it, and for a key only on request", async () => {
    const id = await group();
    await stage.send(ben, id, 'One');
    expect((await stage.send(keyOf(ann), id, 'Two')).seq).toBe(2);
    expect(await stage.get(ann, id)).toMatchObject({ lastReadSeq: 0, unreadCount: 1 });
    await stage.send(keyOf(ann), id, { text: 'Three', markRead: true });
    expect(await stage.get(ann, id)).toMatchObject({ lastReadSeq: 3, unreadCount: 0 });
    await stage.send(ben, id, { text: 'Four', markRead: false });
    expect(await stage.get(ben, id)).toMatchObject({ lastReadSeq: 1, unreadCount: 2 });
  });

  test('shows an attachment to people who can read it now', async () => {
    const id = await group();
    const resourceId = newId();
    await expect(stage.send(ann, id, { attachments: [{ resourceId }] })).rejects.toEqual(refused('not_found'));
    stage.show(ann, resourceId);
    const sent = await stage.send(ann, id, { attachments: [{ resourceId }] });
    expect(sent.attachments).toMatchObject([{ resourceId, hidden: false, name: `Resource ${resourceId}` }]);
    const seen = async () => (await stage.history(ben, id)).items[0]?.attachments;
    expect(await seen()).toMatchObject([{ resourceId, hidden: true, name: undefined }]);
    stage.show(ben, resourceId);
    expect(await seen()).toMatchObject([{ hidden: false }]);
    stage.hide(ben, resourceId);
    expect(await seen()).toMatchObject([{ hidden: true }]);
    const many = Array.from({ length: 11 }, () => ({ resourceId }));
    await expect(stage.send(ann, id, { attachments: many })).rejects.toEqual(refused('too_many_items'));
  });

  test('is no one else’s to edit, whatever its version and the state of the conversation', async () => {
    const id = await group();
    const sent = await stage.send(ben, id, 'First');
    const edit = (by: Caller, fields: object, mask = ['text']) =>
      stage.edit(by, id, sent.id, mask, fields, { baseVersion: 7 });
    await expect(edit(ann, { text: 'Mine' })).rejects.toEqual(refused('insufficient_role'));
    await expect(edit(ann, { reactions: ['👍'] }, ['reactions'])).rejects.toEqual(refused('version_conflict'));
    await expect(edit(ben, { text: 'Mine' })).rejects.toEqual(refused('version_conflict'));
    await stage.erase(ben, id, sent.id);
    await expect(stage.edit(ann, id, sent.id, ['text'], { text: 'Mine' })).rejects.toEqual(
      refused('insufficient_role'),
    );
  });

  test('by an automation for somebody else needs its author in the conversation', async () => {
    const id = await group();
    const automation = { id: newId(), name: 'Robot' };
    const by = (author: Caller) => ({ ...ann, automation, authorId: author.userId });
    expect((await stage.send(by(ben), id, 'Hello')).author).toMatchObject({ id: automation.id });
    const outsider = stage.person('Dan');
    await expect(stage.send(by(outsider), id, 'Hello')).rejects.toEqual(refused('not_found'));
    await expect(stage.history(by(outsider), id)).rejects.toEqual(refused('not_found'));
    // A person who joins later makes the automation read no earlier message for somebody else.
    stage.join(outsider, place);
    await stage.add(ann, id, { userId: outsider.userId, shareHistory: false });
    await stage.send(ann, id, 'Welcome');
    expect((await stage.history(ann, id)).items.map(({ text }) => text)).toContain('Hello');
    expect((await stage.history(by(outsider), id)).items.map(({ text }) => text)).not.toContain('Hello');
  });

  test('is edited by its author only, and deleted by the author and by managers', async () => {
    const id = await group();
    const sent = await stage.send(ben, id, 'Fisrt');
    await expect(stage.edit(ann, id, sent.id, ['text'], { text: 'First' })).rejects.toEqual(
      refused('insufficient_role'),
    );
    const edited = await stage.edit(ben, id, sent.id, ['text'], { text: 'First' });
    expect(edited).toMatchObject({ text: 'First', seq: 1 });
    expect(edited.editedAt).toBeDefined();
    await expect(stage.erase(cem, id, sent.id)).rejects.toEqual(refused('insufficient_role'));
    await stage.erase(ann, id, sent.id);
    expect(await stage.erase(ann, id, sent.id)).toEqual({ id: sent.id, deleted: true });
    const [left] = (await stage.history(cem, id)).items;
    expect(left).toMatchObject({ id: sent.id, seq: 1, isDeleted: true, attachments: [], mentions: [] });
    expect([left?.text, left?.author]).toEqual([undefined, undefined]);
    await expect(stage.edit(ben, id, sent.id, ['text'], { text: 'Back' })).rejects.toEqual(refused('message_deleted'));
    expect((await stage.history(cem, id, { q: 'first' })).items).toEqual([]);
    const deleted = await eventsOf(id, 'message.deleted', 1);
    expect(deleted.map(({ data }) => [data.seq, data.text])).toEqual([[1, '']]);
  });

  test('has reactions of each member, who can replace their own', async () => {
    const id = await group();
    const { id: messageId } = await stage.send(ann, id, 'Lunch?');
    await stage.edit(ben, id, messageId, ['reactions'], { reactions: ['👍', '🎉'] });
    const seen = await stage.edit(cem, id, messageId, ['reactions'], { reactions: ['👍'] });
    expect(seen.reactions).toEqual([
      { emoji: '👍', count: 2, me: true },
      { emoji: '🎉', count: 1, me: false },
    ]);
    const fewer = await stage.edit(ben, id, messageId, ['reactions'], { reactions: [] });
    expect(fewer.reactions).toEqual([{ emoji: '👍', count: 1, me: false }]);
    await expect(stage.edit(ben, id, messageId, ['reactions'], { reactions: ['ok'] })).rejects.toEqual(
      refused('invalid_value'),
    );
  });

  test('keeps its version when a member sends the reactions that they have', async () => {
    const id = await group();
    const { id: messageId } = await stage.send(ann, id, 'Lunch?');
    await stage.edit(ben, id, messageId, ['reactions'], { reactions: ['👍', '🎉'] });
    const { version } = await stage.edit(cem, id, messageId, ['reactions'], { reactions: ['👍'] });
    const again = await stage.edit(ben, id, messageId, ['reactions'], { reactions: ['🎉', '👍'] });
    expect(again.version).toBe(version);
  });

  test('and its conversation name in a conflict of versions who has changed them last', async () => {
    const conversationId = await group();
    const { id: messageId, createdAt } = await stage.send(ann, conversationId, 'Lunch?');
    const options = () => stage.stage.as(ann, { baseVersion: 99 });
    const detailsOf = async (call: Promise<unknown>) => (await call.catch((error: AppError) => error)) as AppError;
    const ofMessage = async () => {
      const request = { ...{ conversationId, messageId, updateMask: ['text'] }, text: 'x' };
      const call = stage.messages.updateMessage(UpdateMessageRequest.fromPartial(request), await options());
      return (await detailsOf(call)).details;
    };
    expect(await ofMessage()).toMatchObject({ updated_by: { id: ann.userId }, updated_at: createdAt });
    await stage.edit(ben, conversationId, messageId, ['reactions'], { reactions: ['👍'] });
    expect(await ofMessage()).toMatchObject({ updated_by: { type: 'user', id: ben.userId } });
    const ofConversation = async () => {
      const request = { conversationId, updateMask: ['name'], name: 'x' };
      const call = stage.talks.updateConversation(UpdateConversationRequest.fromPartial(request), await options());
      return (await detailsOf(call)).details;
    };
    expect(await ofConversation()).toMatchObject({ updated_by: { id: ann.userId } });
    await stage.set(ann, conversationId, ['retention_days'], { retentionDays: 30 });
    expect(await ofConversation()).toMatchObject({ current_version: 2, updated_by: { id: ann.userId } });
    await stage.leave(ben, conversationId);
    expect(await ofConversation()).toMatchObject({ current_version: 3, updated_by: { id: ben.userId } });
  });

  test('belongs to the thread of the message that it replies to', async () => {
    const id = await group();
    const root = await stage.send(ann, id, 'Question');
    await stage.send(ann, id, 'Beside');
    const reply = await stage.send(ben, id, { text: 'Answer', replyToId: root.id });
    const further = await stage.send(cem, id, { text: 'Thanks', replyToId: reply.id });
    expect([further.replyToId, further.threadId]).toEqual([reply.id, root.id]);
    const thread = async () => (await stage.history(ann, id, { threadId: root.id })).items;
    expect((await thread()).map(({ seq }) => seq)).toEqual([4, 3, 1]);
    await stage.erase(cem, id, further.id);
    expect((await thread()).map(({ threadReplyCount }) => threadReplyCount)).toEqual([0, 0, 1]);
    const elsewhere = await group();
    await expect(stage.send(ann, elsewhere, { text: 'Hm', replyToId: root.id })).rejects.toEqual(refused('not_found'));
  });
});

describe('the history', () => {
  test('of a thread does not read the conversation', async () => {
    const database = await openTestDatabase();
    const { store, plans } = explaining(database.store('messaging'));
    const own = await openTalkStage([], undefined, store);
    try {
      const [one, two] = [own.person('One'), own.person('Two')];
      for (const person of [one, two]) own.join(person, place);
      const kind = { type: ConversationType.GROUP, workspaceId: place.workspaceId, name: 'Group' };
      const { id } = await own.create(one, { ...kind, memberIds: [two.userId] });
      const root = await own.send(one, id, 'Question');
      await own.send(two, id, { text: 'Answer', replyToId: root.id });
      plans.length = 0;
      expect((await own.history(two, id, { threadId: root.id })).items).toHaveLength(2);
      expect((await own.history(two, id, { threadId: newId() })).items).toEqual([]);
      expect(plans.length).toBeGreaterThan(0);
      for (const plan of plans) expect(plan).not.toContain('conversationId');
    } finally {
      await own.close();
      await database.close();
    }
  });

  test('is read in both directions and around a message', async () => {
    const id = await group();
    for (let at = 1; at <= 9; at++) await stage.send(ann, id, `Message ${at}`);
    const read = async (fields: object, limit = 4) => {
      const { items, page } = await stage.history(ben, id, { page: { limit, offset: 0, cursor: '' }, ...fields });
      const { hasMoreBefore, hasMoreAfter, total } = page ?? {};
      return [items.map(({ seq }) => seq), hasMoreBefore, hasMoreAfter, total];
    };
    expect(await read({})).toEqual([[9, 8, 7, 6], true, false, 9]);
    expect(await read({ beforeSeq: 3 })).toEqual([[2, 1], false, true, 2]);
    expect(await read({ afterSeq: 3 })).toEqual([[4, 5, 6, 7], true, true, 6]);
    expect(await read({ aroundSeq: 5 })).toEqual([[3, 4, 5, 6], true, true, 9]);
    expect(await read({ afterSeq: 9 })).toEqual([[], true, false, 0]);
    await expect(read({ afterSeq: 1, beforeSeq: 3 })).rejects.toEqual(refused('ambiguous_target'));
    const { page } = await stage.history(ben, id, { page: { limit: 4, offset: 0, cursor: '' } });
    expect(await read({ page: { limit: 4, offset: 0, cursor: page?.nextCursor } })).toEqual([
      [5, 4, 3, 2],
      true,
      true,
      9,
    ]);
  });

  test('of a page without messages has flags for messages before and after it', async () => {
    const id = await group();
    expect((await stage.history(ann, id)).page).toMatchObject({ hasMoreBefore: false, hasMoreAfter: false });
    for (const text of ['One', 'Two']) await stage.send(ann, id, text);
    for (const [fields, hasMoreBefore, hasMoreAfter] of [
      [{ afterSeq: 2 }, true, false],
      [{ aroundSeq: 9, page: { limit: 1, offset: 0, cursor: '' } }, true, false],
      [{ beforeSeq: 1 }, false, true],
      [{ page: { limit: 5, offset: 7, cursor: '' } }, false, true],
      [{ q: '*' }, false, false],
    ] as const) {
      const { items, page } = await stage.history(ann, id, fields);
      expect([items, page]).toMatchObject([[], { hasMoreBefore, hasMoreAfter }]);
    }
  });

  test('begins where a member was added, for lists, searches and replies', async () => {
    const dan = stage.person('Dan');
    stage.join(dan, place);
    const id = await group();
    const secret = await stage.send(ann, id, 'The password is swordfish');
    await stage.add(ann, id, { userId: dan.userId, shareHistory: false });
    expect(await stage.get(dan, id)).toMatchObject({ unreadCount: 0, messageCount: 0, lastMessage: undefined });
    expect((await stage.history(dan, id)).items).toEqual([]);
    expect((await stage.history(dan, id, { q: 'swordfish' })).items).toEqual([]);
    expect((await stage.list(dan, { q: 'swordfish' })).items).toEqual([]);
    expect((await stage.list(ben, { q: 'swordfish' })).items.map((one) => one.id)).toEqual([id]);
    for (const attempt of [
      stage.send(dan, id, { text: 'What?', replyToId: secret.id }),
      stage.read(dan, id, { messageId: secret.id }),
      stage.edit(dan, id, secret.id, ['reactions'], { reactions: ['👍'] }),
      stage.erase(dan, id, secret.id),
    ]) {
      await expect(attempt).rejects.toEqual(refused('not_found'));
    }
    await stage.send(ann, id, 'Welcome');
    expect(await stage.get(dan, id)).toMatchObject({ unreadCount: 1, messageCount: 1, visibleFromSeq: 2 });
  });

  test('can be searched in every script', async () => {
    const id = await group();
    for (const text of ['Running late, sorry', '東京都の会議は明日です', 'Café at noon', '晩ご飯']) {
      await stage.send(ann, id, text);
    }
    const found = async (q: string) => (await stage.history(ben, id, { q })).items.map(({ seq }) => seq);
    expect(await found('run')).toEqual([1]);
    expect(await found('late sorry')).toEqual([1]);
    expect(await found('late noon')).toEqual([]);
    expect(await found('CAFE')).toEqual([3]);
    expect(await found('東京都')).toEqual([2]);
    expect(await found('京東')).toEqual([]);
    expect(await found('会')).toEqual([2]);
    expect(await found('飯')).toEqual([4]);
    expect(await found('...')).toEqual([]);
  });
});

describe('the marker', () => {
  test('moves forward, and back only to mark something unread', async () => {
    const id = await group();
    const sent = [];
    for (let at = 0; at < 5; at++) sent.push(await stage.send(ann, id, `${at}`));
    expect(await stage.read(ben, id, { seq: 3 })).toMatchObject({ lastReadSeq: 3, unreadCount: 2 });
    expect(await stage.read(ben, id, { seq: 1 })).toMatchObject({ lastReadSeq: 3 });
    expect(await stage.read(ben, id, { seq: 99 })).toMatchObject({
      ...{ lastReadSeq: 5, unreadCount: 0 },
      lastReadMessageId: sent[4]?.id,
    });
    const back = await stage.read(ben, id, { messageId: sent[1]?.id, markUnread: true });
    expect(back).toMatchObject({ lastReadSeq: 1, lastReadMessageId: sent[0]?.id, unreadCount: 4 });
    await expect(stage.read(ben, id, { messageId: newId() })).rejects.toEqual(refused('not_found'));
    const reads = await eventsOf(id, 'conversation.read', 8);
    expect(reads.filter(({ data }) => data.userId === ben.userId).map(({ data }) => data.lastReadSeq)).toEqual([
      3, 5, 1,
    ]);
  });
});

describe('mentions', () => {
  test('are of members, and of everyone only by managers at intervals', async () => {
    const id = await group();
    const all = { mentions: [{ type: MentionType.ALL }] };
    await expect(stage.send(ann, id, { text: 'Hi', mentions: [{ id: newId() }] })).rejects.toEqual(
      refused('invalid_value'),
    );
    await expect(stage.send(ben, id, { text: 'All', ...all })).rejects.toEqual(refused('insufficient_role'));
    await stage.send(ann, id, { text: 'All', ...all });
    await expect(stage.send(ann, id, { text: 'Again', ...all })).rejects.toEqual(refused('rate_limited'));
    await stage.set(ann, id, ['who_can_mention_all'], { whoCanMentionAll: WhoMay.ALL });
    stage.wait(61_000);
    await stage.send(ben, id, { text: 'All', mentions: [{ type: MentionType.ALL }, { id: cem.userId }] });
    expect(await stage.get(cem, id)).toMatchObject({ unreadCount: 2, mentionCount: 2 });
    expect(await stage.get(ann, id)).toMatchObject({ unreadCount: 1, mentionCount: 1 });
  });

  test('of agents require an agent that is a member', async () => {
    const id = await group({ members: [{ agentId: BOT }] });
    for (const agentId of [newId(), PAUSED, ELSEWHERE]) {
      await expect(group({ members: [{ agentId }] })).rejects.toEqual(refused('not_found'));
    }
    const { mentions } = await stage.send(ann, id, { text: 'Bot?', mentions: [{ type: MentionType.AGENT, id: BOT }] });
    expect(mentions).toEqual([{ type: MentionType.AGENT, id: BOT, name: 'Bot' }]);
    const request = { conversationId: id, agentId: BOT, agentName: 'Bot', text: 'Yes', chain: [] };
    const runId = newId();
    const reply = { ...request, resourceIds: [], failed: false, replyToId: undefined };
    const call = async () =>
      stage.stage.host
        .client(contracts.conversationAccess)
        .postAgentMessage({ ...reply, runId }, await stage.stage.as(undefined));
    const [one, two] = await Promise.all([call(), call()]);
    expect([one.messageId, one.seq]).toEqual([two.messageId, two.seq]);
    expect([one.created, two.created].sort()).toEqual([false, true]);
    const [answer] = (await stage.history(ben, id)).items;
    expect(answer).toMatchObject({ text: 'Yes', seq: 2, runId, author: { type: ActorType.AGENT, name: 'Bot' } });
    expect(await stage.get(ben, id)).toMatchObject({ unreadCount: 2 });
    const failed = { ...reply, runId: newId(), failed: true };
    await stage.stage.host
      .client(contracts.conversationAccess)
      .postAgentMessage(failed, await stage.stage.as(undefined));
    expect(await stage.get(ben, id)).toMatchObject({ unreadCount: 2, lastSeq: 3 });
  });

  test("for a person, by an agent without a mention, require the person's rights", async () => {
    const id = await group({ name: 'Reports' });
    const { client } = stage.stage.host;
    const post = async (userId: string, runId = newId()) =>
      client(contracts.conversationAccess).postAgentMessage(
        {
          ...{ conversationId: id, agentId: BOT, agentName: 'Bot', runId, text: 'Report', userId, failed: false },
          ...{ resourceIds: [], replyToId: undefined, chain: ['automation'] },
        },
        await stage.stage.as(undefined),
      );
    await expect(post(newId())).rejects.toEqual(refused('not_found'));
    const runId = newId();
    const { messageId } = await post(ben.userId, runId);
    expect((await post(ben.userId, runId)).messageId).toBe(messageId);
    const [report] = (await stage.history(ann, id)).items;
    expect(report).toMatchObject({ id: messageId, text: 'Report', author: { type: ActorType.AGENT, name: 'Bot' } });
    await stage.set(ann, id, ['who_can_post'], { whoCanPost: WhoMay.MANAGERS });
    await expect(post(ben.userId)).rejects.toEqual(refused('insufficient_role'));
    expect((await post(ann.userId)).created).toBe(true);
  });
});

describe('notifications', () => {
  test('are merged, marked read with the conversation, and not sent if muted', async () => {
    const id = await group({ name: 'News' });
    await stage.set(cem, id, ['is_muted'], { isMuted: true });
    await stage.send(ann, id, 'One');
    await stage.send(ann, id, 'Two');
    await stage.send(ann, id, { text: 'Ben', mentions: [{ id: ben.userId }, { id: cem.userId }] });
    await eventually(async () => {
      expect(await stage.notifications(ben, id)).toEqual([
        ['Ann mentioned you in “News”', 1],
        ['Ann wrote in “News”', 2],
      ]);
    });
    expect(await stage.notifications(cem, id)).toEqual([]);
    expect(await stage.notifications(ann, id)).toEqual([]);
    await stage.read(ben, id);
    await eventually(async () => expect(await stage.notifications(ben, id)).toEqual([]));
    await stage.set(ben, id, ['notify'], { notify: NotifyLevel.MENTIONS });
    await stage.send(ann, id, 'Three');
    const fourth = await stage.send(ann, id, 'Four');
    await stage.edit(ann, id, fourth.id, ['mentions'], { mentions: [{ id: ben.userId }] });
    await eventually(async () =>
      expect(await stage.notifications(ben, id)).toEqual([['Ann mentioned you in “News”', 1]]),
    );
    await stage.update(ann, id, ['remove_member_ids'], { removeMemberIds: [ben.userId] });
    expect(await stage.notifications(ben, id)).toEqual([['Ann mentioned you', 1]]);
  });
});

test('each message counts once in a notification, even for concurrent messages and repeated events', async () => {
  const id = await group({ name: 'Busy' });
  const writers = [...Array.from({ length: 25 }, () => ann), ...Array.from({ length: 5 }, () => keyOf(ben))];
  const counts = (ofBen: number, ofCem: number) =>
    eventually(async () => {
      const found = await Promise.all([ben, cem].map((one) => stage.notifications(one, id)));
      expect(found.map((one) => one.map(([, count]) => count))).toEqual([[ofBen], [ofCem]]);
    });
  await Promise.all(writers.map((by, at) => stage.send(by, id, `Message ${at}`)));
  await counts(25, 30);
  const sent = await eventsOf(id, 'message.created', 30);
  await stage.stage.own.bus.publish(sent.map((event) => ({ ...event })));
  await stage.send(ann, id, { text: 'Cem', mentions: [{ id: cem.userId }] });
  await stage.send(ann, id, 'Last');
  await eventually(async () => {
    expect(await stage.notifications(ben, id)).toEqual([['Ann wrote in “Busy”', 27]]);
    expect(await stage.notifications(cem, id)).toEqual([
      ['Ann wrote in “Busy”', 31],
      ['Ann mentioned you in “Busy”', 1],
    ]);
  });
});

test('in a channel, only members who have chosen so are notified of every message', async () => {
  const others = { memberIds: [ben.userId, cem.userId] };
  const { id } = await stage.channel(ann, place, { name: 'Busy', ...others });
  await stage.set(ben, id, ['notify'], { notify: NotifyLevel.ALL });
  await stage.send(ann, id, 'One');
  await stage.send(ann, id, { text: 'Two', mentions: [{ id: cem.userId }] });
  const { notifications } = stage;
  await eventually(async () => expect(await notifications(cem, id)).toEqual([['Ann mentioned you in “Busy”', 1]]));
  await eventually(async () => expect(await notifications(ben, id)).toEqual([['Ann wrote in “Busy”', 2]]));
});

test('retention deletes the oldest messages, by the setting only, through the queue', async () => {
  const id = await group();
  await stage.send(ann, id, { text: 'Old', mentions: [{ id: ben.userId }] });
  stage.wait(3 * DAY_MS);
  await stage.send(ann, id, 'New');
  expect(await stage.get(ben, id)).toMatchObject({ unreadCount: 2, mentionCount: 1, firstSeq: 1 });
  await expect(stage.set(ben, id, ['retention_days'], { retentionDays: 2 })).rejects.toEqual(
    refused('insufficient_role'),
  );
  await stage.set(ann, id, ['retention_days'], { retentionDays: 2 });
  await eventually(async () => {
    expect(await stage.get(ben, id)).toMatchObject({ unreadCount: 1, mentionCount: 0, firstSeq: 2, messageCount: 1 });
  });
  expect((await stage.history(ben, id)).page).toMatchObject({ total: 1, firstSeq: 2, hasMoreBefore: false });
  expect(await stage.records.mentions.count({ conversationId: id })).toBe(0);
  await stage.set(ann, id, ['retention_days'], { retentionDays: undefined });
  stage.wait(10 * DAY_MS);
  await stage.expire(id);
  expect((await stage.get(ben, id)).messageCount).toBe(1);
});

test('events about messages contain their number and the beginning of their text, in order', async () => {
  const id = await group();
  const text = `${'ä'.repeat(4000)} the end`;
  await stage.send(ann, id, { text, mentions: [{ id: ben.userId }] });
  for (let at = 0; at < 20; at++) await stage.send(ben, id, `${at}`);
  const created = await eventsOf(id, 'message.created', 21);
  expect(created.map(({ data }) => data.seq)).toEqual(Array.from({ length: 21 }, (_, at) => at + 1));
  const [first] = created;
  expect(first?.data).toMatchObject({
    ...{ conversationId: id, textIsCut: true, mentionedUserIds: [ben.userId], orgId: place.orgId },
    author: { type: 'user', id: ann.userId, name: 'Ann' },
  });
  expect(Buffer.byteLength(first?.data.text as string)).toBe(4096);
});

test('callers get the readers of a conversation, with the first message that each can read', async () => {
  const id = await group();
  await stage.send(ann, id, 'One');
  const late = stage.person('Late');
  stage.join(late, place);
  await stage.add(ann, id, { userId: late.userId, shareHistory: false });
  await stage.leave(cem, id);
  const gone = stage.person('Gone');
  stage.join(gone, place);
  await stage.add(ann, id, { userId: gone.userId });
  await stage.quit(gone, place);
  const pairs = [ann, late, cem, gone].map(({ userId }) => ({ userId, conversationId: id }));
  const { standings } = await stage.access.checkMembers({ pairs }, await stage.stage.as(undefined));
  expect(standings.map(({ isActive, visibleFromSeq }) => isActive && visibleFromSeq)).toEqual([1, 2, false, false]);
  expect(standings[0]).toMatchObject({ workspaceId: place.workspaceId, orgId: place.orgId });
});

test('callers get the readers of a conversation other than a person', async () => {
  const audience = async (conversationId: string) =>
    stage.access.getAudience({ conversationId, userId: ann.userId }, await stage.stage.as(undefined));
  const id = await group();
  await stage.leave(cem, id);
  const { others, ...rest } = await audience(id);
  expect(rest).toEqual({ name: 'Group', isOpen: false, unnamedCount: 0 });
  expect(others).toEqual([{ id: ben.userId, name: 'Ben' }]);
  const crowd = Array.from({ length: 60 }, (_, at) => stage.person(`Reader ${at}`));
  for (const one of crowd) stage.join(one, place);
  await stage.add(ann, id, { userIds: crowd.map(({ userId }) => userId) });
  const many = await audience(id);
  expect(many.others.length + many.unnamedCount).toBe(61);
  expect(many.others.length).toBeLessThanOrEqual(50);
  expect(many.others.map((one) => one.id)).not.toContain(ann.userId);
  const channel = await stage.create(ann, {
    type: ConversationType.CHANNEL,
    name: 'Open',
    workspaceId: place.workspaceId,
  });
  expect(await audience(channel.id)).toEqual({ name: 'Open', isOpen: true, others: [], unnamedCount: 0 });
  await expect(audience(newId())).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

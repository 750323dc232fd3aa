import type { Caller } from '@commonplace/kit/auth';
import { Unavailable } from '@commonplace/kit/errors';
import { newId } from '@commonplace/kit/id';
import { eventually } from '@commonplace/kit/testing';
import type { StartConversationRunRequest } from '@commonplace/proto/agents/v1/conversation_run_service.js';
import { ActorType } from '@commonplace/proto/api/v1/actor.js';
import { ConversationType } from '@commonplace/proto/messaging/v1/conversation.js';
import { MentionType } from '@commonplace/proto/messaging/v1/message.js';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { newPlace, openTalkStage, type Place, type TalkStage } from './talk-stage.js';

const BOT = newId();
let stage: TalkStage;
let place: Place;
let ann: Caller;
let ben: Caller;
/** Calls that start runs. */
const started: StartConversationRunRequest[] = [];
let onStart: (times: number) => string = () => '';

beforeAll(async () => {
  place = newPlace();
  const bot = { id: BOT, name: 'Bot', orgId: place.orgId, ownerId: newId(), isActive: true, autoRun: false };
  stage = await openTalkStage([bot], async (request) => {
    started.push(request);
    return { refusal: onStart(started.length) };
  });
  [ann, ben] = ['Ann', 'Ben'].map((name) => stage.person(name)) as [Caller, Caller];
  for (const one of [ann, ben]) stage.join(one, place);
});
afterAll(() => stage.close());

beforeEach(() => {
  started.length = 0;
  onStart = () => '';
});

const group = async () =>
  (
    await stage.create(ann, {
      ...{ type: ConversationType.GROUP, workspaceId: place.workspaceId, name: 'Group' },
      members: [{ agentId: BOT }],
    })
  ).id;

const ask = (by: Caller, id: string, text: string) =>
  stage.send(by, id, { text, mentions: [{ type: MentionType.AGENT, id: BOT }] });

const noneWaits = () =>
  eventually(async () => {
    expect(await stage.records.mentionRuns.count({})).toBe(0);
  }, 20_000);

test('a run is requested with the rights of the sender, limited to what they can see', async () => {
  const id = await group();
  await stage.send(ann, id, 'A secret');
  await stage.add(ann, id, { userId: ben.userId, shareHistory: false });
  const gone = await stage.send(ann, id, 'Removed');
  await stage.erase(ann, id, gone.id);
  await stage.send(ann, id, 'Hello');
  const { runId, id: messageId } = await ask(ben, id, 'Bot?');
  await noneWaits();
  expect(started).toEqual([
    expect.objectContaining({
      ...{ runId, messageId, conversationId: id, agentId: BOT, userId: ben.userId, text: 'Bot?' },
      ...{ workspaceId: place.workspaceId, scopes: expect.arrayContaining([...ben.credential.scopes]) },
      earlier: [{ authorId: ann.userId, authorName: 'Ann', byAgent: false, runId: '', text: 'Hello' }],
    }),
  ]);
});

test('a start that may have been lost is requested again with the same id', async () => {
  const id = await group();
  onStart = (times) => {
    if (times === 1) throw Unavailable();
    return '';
  };
  const { runId } = await ask(ann, id, 'Bot?');
  await noneWaits();
  expect(started.map((one) => one.runId)).toEqual([runId, runId]);
  expect((await stage.get(ann, id)).lastSeq).toBe(1);
}, 30_000);

test('a refusal is one system message', async () => {
  const id = await group();
  onStart = () => 'The agent is paused.';
  const { runId, id: messageId } = await ask(ann, id, 'Bot?');
  await noneWaits();
  const [systemMessage, ...others] = (await stage.history(ann, id)).items;
  expect(others).toHaveLength(1);
  expect(systemMessage).toMatchObject({ text: 'The agent is paused.', runId, replyToId: messageId });
  expect(systemMessage?.author?.type).toBe(ActorType.SYSTEM);
  expect((await stage.get(ann, id)).unreadCount).toBe(0);
});

test('an edit that adds a mention starts nothing', async () => {
  const id = await group();
  const { id: messageId } = await stage.send(ann, id, 'Nobody');
  const mentions = [{ type: MentionType.AGENT, id: BOT }];
  await stage.edit(ann, id, messageId, ['text', 'mentions'], { text: 'Bot?', mentions });
  expect([started, await stage.records.mentionRuns.count({})]).toEqual([[], 0]);
});

test('agents and automations post under their own names, move no marker, and start no other agent', async () => {
  const id = await group();
  await stage.add(ann, id, { userId: ben.userId });
  const helper = { id: newId(), name: 'Helper', roles: { [place.workspaceId]: 'viewer' as const } };
  const chain = [newId()];
  const automation = { id: chain[0] ?? '', name: 'Robot' };
  const byAgent = await ask({ ...ann, agent: helper, chain }, id, 'Bot, do it');
  expect(byAgent.author).toEqual({ type: ActorType.AGENT, id: helper.id, name: 'Helper' });
  expect(byAgent.runId).toBeUndefined();
  expect(await stage.records.mentionRuns.count({})).toBe(0);
  const byAutomation = await ask({ ...ann, automation, chain }, id, 'Bot, do this');
  expect(byAutomation.author).toEqual({ type: ActorType.AUTOMATION, ...automation });
  await noneWaits();
  expect(started.map(({ text, userId, chain: led }) => [text, userId, led])).toEqual([
    ['Bot, do this', ann.userId, chain],
  ]);
  for (const reader of [ann, ben]) {
    const { unreadCount, lastReadSeq } = await stage.get(reader, id);
    expect([unreadCount, lastReadSeq]).toEqual([2, 0]);
  }
  const [first] = (await stage.history(ann, id)).items;
  await expect(stage.edit(ann, id, first?.id ?? '', ['text'], { text: 'Mine' })).rejects.toMatchObject({
    reason: 'insufficient_role',
  });
});

test('a client_message_id is unique per author, also if an agent posts for a person', async () => {
  const id = await group();
  const helper = { id: newId(), name: 'Helper', roles: { [place.workspaceId]: 'viewer' as const } };
  const sent = [];
  for (const caller of [ann, { ...ann, agent: helper }, { ...ann, agent: helper }]) {
    sent.push(
      await stage.send(caller, id, { text: caller.agent === undefined ? 'Mine' : 'Its', clientMessageId: 'one' }),
    );
  }
  expect(sent.map(({ seq }) => seq)).toEqual([1, 2, 2]);
});

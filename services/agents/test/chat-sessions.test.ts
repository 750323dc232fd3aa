import { setTimeout as sleep } from 'node:timers/promises';
import type { Caller } from '@commonplace/kit/auth';
import type { AppError } from '@commonplace/kit/errors';
import { newId } from '@commonplace/kit/id';
import { inWork } from '@commonplace/kit/store';
import { ChatRole, type ChatSession, ChatVisibility } from '@commonplace/proto/agents/v1/chat_session.js';
import {
  CreateChatSessionRequest,
  GetChatSessionRequest,
  ListChatSessionsRequest,
  ReplaceChatSessionRequest,
  UpdateChatSessionRequest,
} from '@commonplace/proto/agents/v1/chat_session_service.js';
import { CreateRunRequest } from '@commonplace/proto/agents/v1/run_service.js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { migrations } from '../src/migrations.js';
import type { SessionRecord } from '../src/stores/sessions.js';
import { type AgentStage, openAgentStage } from './stage.js';

let at: AgentStage;

const MAX_MESSAGES = 10;

beforeAll(async () => {
  at = await openAgentStage({ COMMONPLACE_CHAT_MESSAGES: `${MAX_MESSAGES}` });
});

beforeEach(() => at.model.reset());

afterAll(() => at.close());

const message = (content: string) => ({ content: Buffer.from(JSON.stringify(content)) });

async function create(by: Caller, more: object = {}): Promise<ChatSession> {
  const request = CreateChatSessionRequest.fromPartial({ workspaceId: at.workspaceId, ...more });
  return at.clients.sessions.createChatSession(request, await at.stage.as(by));
}

async function get(by: Caller, sessionId: string): Promise<ChatSession> {
  return at.clients.sessions.getChatSession(GetChatSessionRequest.fromPartial({ sessionId }), await at.stage.as(by));
}

async function titles(by: Caller, more: object = {}): Promise<string[]> {
  const request = ListChatSessionsRequest.fromPartial(more);
  const { items } = await at.clients.sessions.listChatSessions(request, await at.stage.as(by));
  return items.map(({ title }) => title);
}

async function change(by: Caller, sessionId: string, more: object): Promise<ChatSession> {
  const request = UpdateChatSessionRequest.fromPartial({ sessionId, ...more });
  return at.clients.sessions.updateChatSession(request, await at.stage.as(by));
}

async function replace(by: Caller, sessionId: string, more: object): Promise<ChatSession> {
  const request = ReplaceChatSessionRequest.fromPartial({ sessionId, title: 'Replaced', ...more });
  return at.clients.sessions.replaceChatSession(request, await at.stage.as(by));
}

const messages = (count: number) => Array.from({ length: count }, (_, i) => message(`Message ${i + 1}`));
const contentsOf = (session: ChatSession) => session.messages.map(({ content }) => content).reverse();

/** Returns the code of the error that a call rejects with. */
const codeOf = (call: Promise<unknown>) =>
  call.then(
    () => 'none',
    (error: AppError) => error.reason,
  );

describe('a session about an Org', () => {
  const about = () => ({ workspaceId: undefined, orgId: at.orgId });

  test('that is shared is read by the members of the Org, not by its guests', async () => {
    const [member, guest] = [at.person('Member'), at.orgGuest('Guest')];
    const shared = { ...about(), title: 'Shared', visibility: ChatVisibility.WORKSPACE, messages: [message('Why?')] };
    const { id } = await create(at.owner, shared);
    expect([(await get(member, id)).title, await titles(member)]).toEqual(['Shared', ['Shared']]);
    expect([await codeOf(get(guest, id)), await titles(guest)]).toEqual(['not_found', []]);
  });

  test('cannot be created by guests of the Org', async () => {
    expect(await codeOf(create(at.orgGuest('Guest'), about()))).toBe('insufficient_role');
    expect((await create(at.person('Member'), about())).orgId).toBe(at.orgId);
  });
});

test('a shared session of a workspace is listed to its viewers, not to its guests', async () => {
  await create(at.owner, { title: 'In the workspace', visibility: ChatVisibility.WORKSPACE });
  const { workspaceId } = at;
  const [viewer, guest] = [at.person('Viewer', 'viewer'), at.person('Visitor', 'guest')];
  expect(await titles(viewer, { workspaceId })).toEqual(['In the workspace']);
  expect(await titles(guest, {})).not.toContain('In the workspace');
  expect(await codeOf(titles(guest, { workspaceId }))).toBe('insufficient_role');
});

test('a reply is not written again together with new messages, which would be lost', async () => {
  at.model.script({ replies: [{ text: 'Yes.' }] });
  const { id, runId = '' } = await create(at.owner, { messages: messages(1), respond: true });
  await at.until(at.owner, runId, 'completed');
  const both = change(at.owner, id, { regenerateFromSeq: 1, appendMessages: messages(1) });
  await expect(both).rejects.toMatchObject({ reason: 'ambiguous_target', param: 'append_messages' });
  const silent = change(at.owner, id, { regenerateFromSeq: 1, respond: false });
  await expect(silent).rejects.toMatchObject({ reason: 'ambiguous_target', param: 'respond' });
});

test('a shared session names the resources of its context only to those who can read them', async () => {
  const [open, hidden] = [newId(), newId()];
  for (const id of [open, hidden]) at.readable.add(id);
  const context = { resourceIds: [open, hidden], search: false };
  const { id } = await create(at.owner, { title: 'Named', visibility: ChatVisibility.WORKSPACE, context });
  at.readable.delete(hidden);
  const listed = async (by: Caller) => {
    const request = ListChatSessionsRequest.fromPartial({ q: 'Named' });
    const { items } = await at.clients.sessions.listChatSessions(request, await at.stage.as(by));
    return items[0]?.context?.resourceIds;
  };
  const viewer = at.person('Reader', 'viewer');
  expect([(await get(viewer, id)).context?.resourceIds, await listed(viewer)]).toEqual([[open], [open]]);
  expect([(await get(at.owner, id)).context?.resourceIds, await listed(at.owner)]).toEqual([
    [open, hidden],
    [open, hidden],
  ]);
});

describe('a session has as many messages as the limit says', () => {
  const history = (count: number) => ({ messages: { items: messages(count) } });
  const storedIn = (sessionId: string) => at.records.messages.count({ sessionId });

  test('given at once or one by one', async () => {
    const { id } = await create(at.owner, { messages: messages(MAX_MESSAGES - 1) });
    expect((await change(at.owner, id, { appendMessages: messages(1) })).messageCount).toBe(MAX_MESSAGES);
    expect(await codeOf(change(at.owner, id, { appendMessages: messages(1) }))).toBe('limit_reached');
    expect((await create(at.owner, { messages: messages(MAX_MESSAGES) })).messageCount).toBe(MAX_MESSAGES);
    expect(await codeOf(create(at.owner, { messages: messages(MAX_MESSAGES + 1) }))).toBe('limit_reached');
  });

  test('with the reply', async () => {
    at.model.script({ replies: [{ text: 'Yes.' }] });
    expect(await codeOf(create(at.owner, { messages: messages(MAX_MESSAGES), respond: true }))).toBe('limit_reached');
    const { id, runId = '' } = await create(at.owner, { messages: messages(MAX_MESSAGES - 1), respond: true });
    await at.until(at.owner, runId, 'completed');
    expect(await storedIn(id)).toBe(MAX_MESSAGES);
  });

  test('however often its history is replaced, of which the oldest messages are erased', async () => {
    const { id } = await create(at.owner, { messages: messages(MAX_MESSAGES) });
    for (let round = 1; round <= 3; round++) {
      expect((await replace(at.owner, id, history(MAX_MESSAGES - 2))).messageCount).toBe(MAX_MESSAGES - 2);
      expect(await storedIn(id)).toBe(MAX_MESSAGES);
    }
    const { seq } = (await change(at.owner, id, { appendMessages: [message('Last')] })).messages[0] ?? {};
    expect([seq, await storedIn(id)]).toEqual([4 * MAX_MESSAGES - 6 + 1, MAX_MESSAGES]);
    expect(contentsOf(await get(at.owner, id)).slice(0, 2)).toEqual(['Message 1', 'Message 2']);
  });

  test('however often its reply is written again', async () => {
    const { id } = await create(at.owner, { messages: messages(MAX_MESSAGES - 1) });
    for (const text of ['One', 'Two', 'Three']) {
      at.model.script({ replies: [{ text }] });
      const { runId = '' } = await change(at.owner, id, { regenerateFromSeq: MAX_MESSAGES - 1 });
      await at.until(at.owner, runId, 'completed');
      const stored = await get(at.owner, id);
      expect([contentsOf(stored).at(-1), stored.messageCount, await storedIn(id)]).toEqual([
        ...[text, MAX_MESSAGES, MAX_MESSAGES],
      ]);
    }
  });
});

describe('a session that is replaced', () => {
  test('answers the last message of its new history, or of the one that it keeps', async () => {
    const { id } = await create(at.owner, { messages: [message('Before?')] });
    at.model.script({ replies: [{ text: 'After.' }, { text: 'Again.' }] });
    const history = { items: [message('After?')] };
    const { runId = '' } = await replace(at.owner, id, { messages: history, respond: true });
    await at.until(at.owner, runId, 'completed');
    expect(contentsOf(await get(at.owner, id))).toEqual(['After?', 'After.']);
    expect(await codeOf(replace(at.owner, id, { respond: true }))).toBe('missing_field');
    await change(at.owner, id, { appendMessages: [message('Once more?')] });
    const again = await replace(at.owner, id, { respond: true });
    await at.until(at.owner, again.runId ?? '', 'completed');
    expect(contentsOf(await get(at.owner, id)).slice(-2)).toEqual(['Once more?', 'Again.']);
  });

  test('is refused a reply to messages that end with no question', async () => {
    const { id } = await create(at.owner);
    const history = { items: [{ ...message('So it is.'), role: ChatRole.ASSISTANT }] };
    expect(await codeOf(replace(at.owner, id, { messages: history, respond: true }))).toBe('missing_field');
    expect(await codeOf(replace(at.owner, id, { messages: { items: [] }, respond: true }))).toBe('missing_field');
  });
});

describe('the list of sessions', () => {
  test('finds a part of the title without case and width, also in records of earlier versions', async () => {
    const by = at.person('Searcher');
    const { id } = await create(by, { title: 'ＰＬＡＮＮＩＮＧ Übersicht' });
    await create(by, { title: 'Planning of the year' });
    await create(by, { title: 'Something else' });
    const { store } = at.stage.own;
    await inWork(store, async (work) => {
      const { titleFold: _, ...earlier } = (await work.get(at.records.sessions, id)) as SessionRecord;
      work.replace(at.records.sessions, earlier as SessionRecord, earlier as SessionRecord);
    });
    for (const migration of migrations) await migration.run(store);
    expect(new Set(await titles(by, { q: 'planning' }))).toEqual(
      new Set(['ＰＬＡＮＮＩＮＧ Übersicht', 'Planning of the year']),
    );
    expect(await titles(by, { q: 'ÜBERSICHT' })).toEqual(['ＰＬＡＮＮＩＮＧ Übersicht']);
    await change(by, id, { title: 'Overview' });
    expect([await titles(by, { q: 'OVER' }), await titles(by, { q: 'Übersicht' })]).toEqual([['Overview'], []]);
  });

  test('is sorted, and limited by who created sessions and when they were created and changed', async () => {
    const [by, other] = [at.person('Lister'), at.person('Sharer')];
    const { workspaceId } = at;
    const made: ChatSession[] = [];
    for (const title of ['b', 'C', 'A']) {
      made.push(await create(by, { title, visibility: ChatVisibility.WORKSPACE }));
      await sleep(5);
    }
    const [first, second] = made;
    await change(by, first?.id ?? '', { isArchived: true });
    const mine = { workspaceId, createdBy: by.userId };
    expect(await titles(other, { ...mine, sort: 'title' })).toEqual(['A', 'b', 'C']);
    expect(await titles(other, { ...mine, sort: '-title' })).toEqual(['C', 'b', 'A']);
    expect(await titles(by, { ...mine, sort: 'created_at' })).toEqual(['b', 'C', 'A']);
    expect(await titles(by, { ...mine, sort: '-updated_at' })).toEqual(['b', 'A', 'C']);
    expect(await titles(by, { ...mine, createdAfter: second?.createdAt })).toEqual(['A']);
    expect(await titles(by, { ...mine, createdBefore: second?.createdAt })).toEqual(['b']);
    expect(await titles(by, { ...mine, updatedAfter: made[2]?.createdAt })).toEqual(['b']);
    expect(await titles(by, { ...mine, updatedBefore: made[2]?.createdAt })).toEqual(['C']);
    expect(await titles(by, { workspaceId, createdBy: other.userId })).toEqual([]);
  });
});

test('a conflict of versions tells who has changed the session', async () => {
  const { id } = await create(at.owner);
  const { metadata } = await at.stage.as(at.owner);
  const request = UpdateChatSessionRequest.fromPartial({ sessionId: id, title: 'Other' });
  const call = { ...(await at.stage.as(at.owner)), metadata: { ...metadata, baseVersion: 7 } };
  await expect(at.clients.sessions.updateChatSession(request, call)).rejects.toMatchObject({
    reason: 'version_conflict',
    details: { current_version: 1, updated_by: { type: 'user', id: at.owner.userId } },
  });
});

describe('a run in a session', () => {
  const startIn = async (sessionId: string, more: object = {}) =>
    at.clients.runs.createRun(
      CreateRunRequest.fromPartial({ sessionId, input: Buffer.from('"Why?"'), ...more }),
      await at.stage.as(at.owner),
    );

  test('may name the workspace of the session, and no other', async () => {
    const { id } = await create(at.owner);
    await expect(startIn(id, { workspaceId: newId() })).rejects.toMatchObject({
      reason: 'invalid_value',
      param: 'workspace_id',
    });
    const run = await startIn(id, { workspaceId: at.workspaceId });
    await at.until(at.owner, run.id, 'completed');
  });

  test('has the limits and the facts that its request names', async () => {
    const { id } = await create(at.owner);
    at.model.script({ replies: [{ text: 'So.' }] });
    const more = { maxCredits: '2', maxSteps: 3, metadata: Buffer.from('{"ticket":7}') };
    const run = await startIn(id, more);
    expect(JSON.parse(run.metadata.toString())).toEqual({ ticket: 7 });
    expect(await at.records.runs.get(run.id)).toMatchObject({ maxMicros: 2_000_000, maxSteps: 3, sessionId: id });
    await at.until(at.owner, run.id, 'completed');
  });
});

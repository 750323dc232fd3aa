import { newId } from '@commonplace/kit/id';
import { contracts } from '@commonplace/platform/contracts';
import { fake, openStage, personCalled, type Stage } from '@commonplace/platform/testing';
import {
  CreateChatSessionRequest,
  DeleteChatSessionRequest,
  GetChatSessionRequest,
  UpdateChatSessionRequest,
  WatchChatSessionRequest,
} from '@commonplace/proto/agents/v1/chat_session_service.js';
import { GetRunRequest } from '@commonplace/proto/agents/v1/run_service.js';
import { CheckAccessResponse } from '@commonplace/proto/resources/v1/index_service.js';
import { WorkspaceMembership } from '@commonplace/proto/tenancy/v1/directory_service.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { agents } from '../src/service.js';

// A call that has read a session looks up which of its resources the caller may read. Another call commits in between.

const [workspaceId, resourceId] = [newId(), newId()];
const ann = personCalled('Ann', ['chat_session:read', 'chat_session:write']);
let stage: Stage;
let sessionId: string;
/** Is called once, when the next call has read the session. */
let between: (() => Promise<unknown>) | undefined;

beforeAll(async () => {
  process.env.COMMONPLACE_RUN_WORKERS = '0';
  const workspace = WorkspaceMembership.fromPartial({ workspaceId, role: WorkspaceRole.EDITOR });
  try {
    stage = await openStage(agents, [
      fake(contracts.directory, {
        getMemberships: async ({ userId }) => ({ userId, orgs: [], groups: [], workspaces: [workspace] }),
      }),
      fake(contracts.index, {
        checkAccess: async ({ ids }) => {
          const act = between;
          between = undefined;
          await act?.();
          return CheckAccessResponse.fromPartial({ resources: ids.map((id) => ({ id, workspaceId })) });
        },
      }),
    ]);
  } finally {
    delete process.env.COMMONPLACE_RUN_WORKERS;
  }
});
afterAll(() => stage.close());

beforeEach(async () => {
  const request = CreateChatSessionRequest.fromPartial({ workspaceId, context: { resourceIds: [resourceId] } });
  sessionId = (await sessions().createChatSession(request, await stage.as(ann))).id;
});

const sessions = () => stage.host.client(contracts.chatSessions);
const change = async (fields: Parameters<typeof UpdateChatSessionRequest.fromPartial>[0]) =>
  sessions().updateChatSession(UpdateChatSessionRequest.fromPartial({ sessionId, ...fields }), await stage.as(ann));
const ask = (content: string, more: { readonly interrupt?: boolean } = {}) =>
  change({ appendMessages: [{ content: Buffer.from(JSON.stringify(content)) }], respond: true, ...more });
const read = async () =>
  sessions().getChatSession(GetChatSessionRequest.fromPartial({ sessionId, page: { limit: 50 } }), await stage.as(ann));

test('a question during another one is a conflict', async () => {
  between = () => ask('First?');
  await expect(ask('Second?')).rejects.toMatchObject({ reason: 'reply_in_progress' });
  const { messages, messageCount } = await read();
  expect([messages.map(({ seq, content }) => [seq, content]), messageCount]).toEqual([
    [
      [2, ''],
      [1, 'First?'],
    ],
    2,
  ]);
});

test('a question during an interrupting one is interrupted too', async () => {
  let first = '';
  between = async () => {
    first = (await ask('First?')).runId ?? '';
  };
  const { runId = '' } = await ask('Second?', { interrupt: true });
  const { messages, messageCount, activeRunId } = await read();
  expect([messages.map(({ seq }) => seq), messageCount, activeRunId]).toEqual([[4, 3, 2, 1], 4, runId]);
  const run = await stage.host
    .client(contracts.runs)
    .getRun(GetRunRequest.fromPartial({ runId: first }), await stage.as(ann));
  expect(run.cancelReason).toBe('interrupted');
});

test('a stream of a session that is resumed behind an event of an earlier reply has all events of the next one', async () => {
  const watch = async (lastEventId?: string) => {
    const stop = new AbortController();
    const request = WatchChatSessionRequest.fromPartial({ sessionId, lastEventId });
    const options = { ...(await stage.as(ann)), signal: stop.signal };
    for await (const event of sessions().watchChatSession(request, options)) {
      if (event.messageCreated === undefined) continue;
      stop.abort();
      return event;
    }
    return undefined;
  };
  const first = (await ask('First?')).runId;
  const created = await watch();
  expect(created?.messageCreated).toMatchObject({ runId: first, seq: 2 });
  const second = (await ask('Second?', { interrupt: true })).runId;
  const next = await watch(created?.id);
  expect(next?.messageCreated).toMatchObject({ runId: second, seq: 4 });
  expect(Number(next?.id)).toBeGreaterThan(Number(created?.id));
});

test('a title that is set while a question is being asked is kept', async () => {
  between = () => change({ title: 'Mine' });
  await ask('First?');
  expect(await read()).toMatchObject({ title: 'Mine', messageCount: 2 });
});

test('a session that is deleted while a question is being asked stays deleted', async () => {
  between = async () =>
    sessions().deleteChatSession(DeleteChatSessionRequest.fromPartial({ sessionId }), await stage.as(ann));
  await expect(ask('First?')).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

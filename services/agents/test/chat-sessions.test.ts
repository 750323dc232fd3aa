import type { Caller } from '@commonplace/kit/auth';
import type { AppError } from '@commonplace/kit/errors';
import { type ChatSession, ChatVisibility } from '@commonplace/proto/agents/v1/chat_session.js';
import {
  CreateChatSessionRequest,
  GetChatSessionRequest,
  ListChatSessionsRequest,
} from '@commonplace/proto/agents/v1/chat_session_service.js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type AgentStage, openAgentStage } from './stage.js';

let at: AgentStage;

beforeAll(async () => {
  at = await openAgentStage();
});

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
  expect([await titles(viewer, { workspaceId }), await titles(guest, { workspaceId })]).toEqual([
    ['In the workspace'],
    [],
  ]);
});

import type { Caller } from '@commonplace/kit/auth';
import type { DomainEvent } from '@commonplace/kit/events';
import { newId } from '@commonplace/kit/id';
import { eventually } from '@commonplace/kit/testing';
import { contracts } from '@commonplace/platform/contracts';
import { ChatVisibility } from '@commonplace/proto/agents/v1/chat_session.js';
import { CreateChatSessionRequest } from '@commonplace/proto/agents/v1/chat_session_service.js';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type AgentStage, openAgentStage } from './stage.js';

let at: AgentStage;
beforeAll(async () => {
  at = await openAgentStage();
});
afterAll(() => at.close());

const check = async (by: Caller, request: { agentIds?: string[]; chatSessionIds?: string[] }) =>
  at.stage.host
    .client(contracts.agentDirectory)
    .checkAccess({ agentIds: [], chatSessionIds: [], ...request }, await at.stage.as(by));

/** Returns the same person with a key that is limited to a workspace. */
const limitedTo = (caller: Caller, workspaceId: string): Caller => ({
  ...caller,
  credential: { ...caller.credential, workspaceIds: [workspaceId] },
});

async function session(by: Caller, title: string, more: object = {}): Promise<string> {
  const request = CreateChatSessionRequest.fromPartial({ workspaceId: at.workspaceId, title, ...more });
  return (await at.clients.sessions.createChatSession(request, await at.stage.as(by))).id;
}

test('agents are told of with their workspaces to those who can read them', async () => {
  const [member, guest] = [at.person('Member'), at.orgGuest('Guest')];
  const shared = await at.createAgent({ name: 'Shared' });
  const own = await at.createAgent({ name: 'Private', visibility: 'private' });
  const agentIds = [shared.id, own.id, shared.id, newId()];
  const names = async (by: Caller) => (await check(by, { agentIds })).agents.map(({ name }) => name).sort();
  expect(await names(at.owner)).toEqual(['Private', 'Shared']);
  expect(await names(member)).toEqual(['Shared']);
  expect(await names(guest)).toEqual([]);
  expect(await names(limitedTo(at.owner, at.workspaceId))).toEqual(['Private', 'Shared']);
  expect(await names(limitedTo(at.owner, newId()))).toEqual([]);
  const { agents } = await check(member, { agentIds: [shared.id] });
  expect(agents).toEqual([{ id: shared.id, name: 'Shared', workspaceIds: [at.workspaceId] }]);
});

test('sessions are told of with their workspace to those who can read them', async () => {
  const [ann, ben, guest] = [at.person('Ann'), at.person('Ben'), at.orgGuest('Guest')];
  const chatSessionIds = [
    await session(ann, 'Private'),
    await session(ann, 'Shared', { visibility: ChatVisibility.WORKSPACE }),
    await session(ann, 'Org', { workspaceId: undefined, orgId: at.orgId, visibility: ChatVisibility.WORKSPACE }),
    newId(),
  ];
  const told = async (by: Caller) =>
    (await check(by, { chatSessionIds })).chatSessions
      .map(({ title, workspaceId }) => [title, workspaceId])
      .sort(([one = ''], [other = '']) => one.localeCompare(other));
  expect(await told(ann)).toEqual([
    ['Org', ''],
    ['Private', at.workspaceId],
    ['Shared', at.workspaceId],
  ]);
  expect(await told(ben)).toEqual([
    ['Org', ''],
    ['Shared', at.workspaceId],
  ]);
  expect(await told(guest)).toEqual([]);
  expect(await told(limitedTo(ben, at.workspaceId))).toEqual([['Shared', at.workspaceId]]);
  expect(await told(limitedTo(ann, newId()))).toEqual([]);
});

test('the deletion of a session is announced', async () => {
  const heard: DomainEvent[] = [];
  const watched = await at.stage.host.bus.watch(['commonplace.agents.>'], (event) => void heard.push(event));
  const id = await session(at.owner, 'Soon gone');
  await at.clients.sessions.deleteChatSession({ sessionId: id }, await at.stage.as(at.owner));
  await eventually(async () =>
    expect(heard).toContainEqual(
      expect.objectContaining({
        type: 'commonplace.agents.chat_session.deleted',
        subject: id,
        data: { sessionId: id, workspaceId: at.workspaceId },
      }),
    ),
  );
  await watched.close();
  expect((await check(at.owner, { chatSessionIds: [id] })).chatSessions).toEqual([]);
});

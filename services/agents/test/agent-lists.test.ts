import type { Caller } from '@commonplace/kit/auth';
import { newId } from '@commonplace/kit/id';
import type { Reply } from '@commonplace/kit/rpc';
import { inWork } from '@commonplace/kit/store';
import { eventually } from '@commonplace/kit/testing';
import {
  ListAgentsRequest,
  ListAgentWorkspacesRequest,
  ReorderAgentPinsRequest,
  ReplaceAgentWorkspacesRequest,
  UpdateAgentRequest,
} from '@commonplace/proto/agents/v1/agent_service.js';
import { ApprovalStatus } from '@commonplace/proto/agents/v1/approval.js';
import { ListApprovalsRequest } from '@commonplace/proto/agents/v1/approval_service.js';
import { ListChatSessionsRequest } from '@commonplace/proto/agents/v1/chat_session_service.js';
import { ListMcpServersRequest } from '@commonplace/proto/agents/v1/mcp_service.js';
import { ListMemoriesRequest } from '@commonplace/proto/agents/v1/memory_service.js';
import { GetRunRequest, ListRunsRequest } from '@commonplace/proto/agents/v1/run_service.js';
import { ListSkillsRequest, ReplaceSkillsRequest } from '@commonplace/proto/agents/v1/skill_service.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { DEFAULT_POLICY } from '../src/stores/agents.js';
import { mcpServerCollection } from '../src/stores/mcp-servers.js';
import { type AgentStage, openAgentStage } from './stage.js';

let at: AgentStage;

beforeAll(async () => {
  at = await openAgentStage({ COMMONPLACE_RUN_METADATA_BYTES: '4194304' });
});

beforeEach(() => at.model.reset());

afterAll(() => at.close());

const dayOf = (day: number) => `2026-03-0${day}T00:00:00.000Z`;

test('the list of agents is sorted, and limited by owner, creation and change', async () => {
  const other = at.person('Other');
  const days = { bee: [1, 6], Cat: [2, 5], Ａｎｔ: [3, 4] } as const;
  for (const [name, [created, updated]] of Object.entries(days)) {
    const times = { createdAt: dayOf(created), updatedAt: dayOf(updated) };
    await at.createAgent({
      name,
      words: name.toLowerCase(),
      ...times,
      ...(name === 'Cat' && { ownerId: other.userId }),
    });
  }
  const names = async (more: object = {}) => {
    const { items } = await at.clients.agents.listAgents(
      ListAgentsRequest.fromPartial({ createdBefore: dayOf(9), ...more }),
      await at.stage.as(at.owner),
    );
    return items.map(({ name }) => name);
  };
  expect(await names()).toEqual(['Ａｎｔ', 'bee', 'Cat']);
  expect(await names({ sort: '-name' })).toEqual(['Cat', 'bee', 'Ａｎｔ']);
  expect(await names({ sort: 'created_at' })).toEqual(['bee', 'Cat', 'Ａｎｔ']);
  expect(await names({ sort: '-updated_at' })).toEqual(['bee', 'Cat', 'Ａｎｔ']);
  expect(await names({ createdBy: other.userId })).toEqual(['Cat']);
  expect(await names({ createdAfter: dayOf(1), createdBefore: dayOf(3) })).toEqual(['Cat']);
  expect(await names({ updatedAfter: dayOf(4), updatedBefore: dayOf(6) })).toEqual(['Cat']);
});

describe('the lists of an agent have pages', () => {
  const page = { limit: 1, offset: 1, cursor: '' };
  const shown = { limit: 1, offset: 1, total: 2, hasMore: false };

  test('of its skills', async () => {
    const { id: agentId } = await at.createAgent();
    const skill = (name: string) => ({ name, description: 'What it does.', content: 'How.' });
    const replacing = ReplaceSkillsRequest.fromPartial({ agentId, skills: { items: [skill('one'), skill('two')] } });
    const whole = await at.clients.skills.replaceSkills(replacing, await at.stage.as(at.owner));
    expect([whole.items.length, whole.page?.total]).toEqual([2, 2]);
    const request = ListSkillsRequest.fromPartial({ agentId, page });
    const second = await at.clients.skills.listSkills(request, await at.stage.as(at.owner));
    expect(second.items.map(({ name }) => name)).toEqual(['two']);
    expect(second.page).toMatchObject(shown);
  });

  test('of its workspaces', async () => {
    const more = [newId(), newId()].sort().map((workspaceId) => ({ workspaceId, role: 'viewer' as const }));
    const { id: agentId } = await at.createAgent({ places: more, workspaceIds: more.map((one) => one.workspaceId) });
    const request = ListAgentWorkspacesRequest.fromPartial({ agentId, page: { ...page, offset: 0 } });
    // The caller sees none of them.
    expect((await at.clients.agents.listAgentWorkspaces(request, await at.stage.as(at.owner))).page).toMatchObject({
      ...{ limit: 1, total: 0, hasMore: false },
    });
    const own = await at.createAgent();
    const { items, page: of } = await at.clients.agents.listAgentWorkspaces(
      ListAgentWorkspacesRequest.fromPartial({ agentId: own.id, page: { ...page, offset: 0 } }),
      await at.stage.as(at.owner),
    );
    expect([items.map(({ workspaceId }) => workspaceId), of?.total]).toEqual([[at.workspaceId], 1]);
  });

  test('of its MCP servers', async () => {
    const agent = await at.createAgent();
    const servers = await at.stage.own.store.collection(mcpServerCollection);
    await inWork(at.stage.own.store, async (work) => {
      for (const name of ['one', 'two']) {
        const createdAt = name === 'one' ? dayOf(1) : dayOf(2);
        const rest = { auth: { type: 'none' }, tools: [], url: 'https://mcp.example/', status: 'connected' };
        work.insert(servers, { ...rest, id: newId(), tenant: at.orgId, agentId: agent.id, name, createdAt } as never);
      }
    });
    const request = ListMcpServersRequest.fromPartial({ agentId: agent.id, page });
    const second = await at.clients.mcpServers.listMcpServers(request, await at.stage.as(at.person('User')));
    expect(second.items.map(({ name }) => name)).toEqual(['two']);
    expect(second.page).toMatchObject(shown);
  });
});

describe('a conflict of versions tells who has changed', () => {
  const conflict = { reason: 'version_conflict' };
  const by = () => ({ updated_by: { type: 'user', id: at.owner.userId } });
  const outdated = async () => {
    const call = await at.stage.as(at.owner);
    return { ...call, metadata: { ...call.metadata, baseVersion: 70 } };
  };

  test('an agent', async () => {
    const { id: agentId } = await at.createAgent();
    const request = UpdateAgentRequest.fromPartial({ agentId, description: 'Helps.', updateMask: ['description'] });
    await expect(at.clients.agents.updateAgent(request, await outdated())).rejects.toMatchObject({
      ...conflict,
      details: { current_version: 1, updated_by: null },
    });
    await at.clients.agents.updateAgent(request, await at.stage.as(at.owner));
    await expect(at.clients.agents.updateAgent(request, await outdated())).rejects.toMatchObject({
      ...conflict,
      details: { current_version: 2, ...by() },
    });
    const skills = ReplaceSkillsRequest.fromPartial({ agentId, skills: { items: [] } });
    await expect(at.clients.skills.replaceSkills(skills, await outdated())).rejects.toMatchObject({
      ...conflict,
      details: by(),
    });
  });

  test('the pins of an agent', async () => {
    const { id: agentId } = await at.createAgent();
    const resourceId = newId();
    at.readable.add(resourceId);
    const pin = { agentId, resourceId, item: undefined, position: undefined };
    await at.clients.agents.createAgentPin(pin, await at.stage.as(at.owner));
    const request = ReorderAgentPinsRequest.fromPartial({ agentId, resourceId, position: 0 });
    await expect(at.clients.agents.reorderAgentPins(request, await outdated())).rejects.toMatchObject({
      ...conflict,
      details: { ...by(), updated_at: expect.any(String) },
    });
  });
});

describe('the workspaces of an agent in two spellings', () => {
  const put = async (more: object) => {
    const { id: agentId } = await at.createAgent({ places: [], workspaceIds: [] });
    return at.clients.agents.replaceAgentWorkspaces(
      ReplaceAgentWorkspacesRequest.fromPartial({ agentId, ...more }),
      await at.stage.as(at.owner),
    );
  };
  const named = (role = WorkspaceRole.VIEWER) => ({ items: [{ workspaceId: at.workspaceId, role }] });

  test('may say the same', async () => {
    const { items } = await put({ workspaces: named(), workspaceIds: { items: [at.workspaceId] } });
    expect(items.map(({ workspaceId }) => workspaceId)).toEqual([at.workspaceId]);
  });

  test.each([
    ['other workspaces', () => ({ workspaces: { items: [] } })],
    ['another role', () => ({ workspaces: named(WorkspaceRole.EDITOR) })],
  ])('are refused with %s', async (_, more) => {
    await expect(put({ ...more(), workspaceIds: { items: [at.workspaceId] } })).rejects.toMatchObject({
      reason: 'conflicting_alias',
      param: 'workspace_ids',
    });
  });
});

describe('a list of a workspace', () => {
  type Listing = (by: Caller, workspaceId: string) => Promise<unknown>;
  const lists: Readonly<Record<string, Listing>> = {
    runs: async (by, workspaceId) =>
      at.clients.runs.listRuns(ListRunsRequest.fromPartial({ workspaceId }), await at.stage.as(by)),
    approvals: async (by, workspaceId) =>
      at.clients.approvals.listApprovals(ListApprovalsRequest.fromPartial({ workspaceId }), await at.stage.as(by)),
    sessions: async (by, workspaceId) =>
      at.clients.sessions.listChatSessions(ListChatSessionsRequest.fromPartial({ workspaceId }), await at.stage.as(by)),
    memories: async (by, workspaceId) =>
      at.clients.memories.listMemories(ListMemoriesRequest.fromPartial({ workspaceId }), await at.stage.as(by)),
  };

  test.each(Object.entries(lists))('of %s is refused to those who cannot read it', async (_, list) => {
    const personal: Caller = { ...at.owner, tenant: { orgId: null } };
    const limited: Caller = { ...at.owner, credential: { ...at.owner.credential, workspaceIds: [newId()] } };
    await list(at.owner, at.workspaceId);
    for (const by of [personal, limited]) {
      await expect(list(by, at.workspaceId)).rejects.toMatchObject({ reason: 'tenant_boundary' });
    }
    await expect(list(at.owner, newId())).rejects.toMatchObject({ reason: 'not_found', param: 'workspace_id' });
    const guest = at.person('Guest', 'guest');
    await expect(list(guest, at.workspaceId)).rejects.toMatchObject({ reason: 'insufficient_role' });
  });
});

describe('a list of an Org', () => {
  type Listing = (by: Caller, orgId: string) => Promise<unknown>;
  const lists: Readonly<Record<string, Listing>> = {
    sessions: async (by, orgId) =>
      at.clients.sessions.listChatSessions(ListChatSessionsRequest.fromPartial({ orgId }), await at.stage.as(by)),
    memories: async (by, orgId) =>
      at.clients.memories.listMemories(ListMemoriesRequest.fromPartial({ orgId }), await at.stage.as(by)),
  };

  test.each(Object.entries(lists))('of %s is refused to those who are not in it', async (_, list) => {
    const personal: Caller = { ...at.owner, tenant: { orgId: null } };
    await list(at.owner, at.orgId);
    await expect(list(personal, at.orgId)).rejects.toMatchObject({ reason: 'tenant_boundary' });
    await expect(list(at.owner, newId())).rejects.toMatchObject({ reason: 'not_found', param: 'org_id' });
  });
});

describe('runs', () => {
  test('are no longer listed to those who have left their workspace', async () => {
    const by = at.person('Leaver');
    const { id } = await at.start(by, await at.createAgent());
    await at.until(by, id, 'completed');
    const own = async () => {
      const { items } = await at.clients.runs.listRuns(ListRunsRequest.fromPartial({}), await at.stage.as(by));
      return items.map((run) => run.id);
    };
    expect(await own()).toEqual([id]);
    at.members.set(by.userId, 'guest');
    await eventually(async () => expect(await own()).toEqual([]), 5_000);
  });

  const runsOf = async (by: Caller, more: object) => {
    const request = ListRunsRequest.fromPartial({ workspaceId: at.workspaceId, ...more });
    return (await at.clients.runs.listRuns(request, await at.stage.as(by))).items.map(({ id }) => id);
  };

  test('are listed in both orders, and limited by who started them and when', async () => {
    const [admin, other] = [at.person('Admin', 'admin'), at.person('Starter')];
    const agent = await at.createAgent();
    const first = await at.start(admin, agent);
    await at.until(admin, first.id, 'completed');
    const second = await at.start(other, agent);
    await at.until(other, second.id, 'completed');
    const { id: agentId } = agent;
    expect(await runsOf(admin, { agentId, sort: 'created_at' })).toEqual([first.id, second.id]);
    expect(await runsOf(admin, { agentId, sort: '-created_at' })).toEqual([second.id, first.id]);
    expect(await runsOf(admin, { agentId, createdBy: other.userId })).toEqual([second.id]);
    expect(await runsOf(other, { agentId, createdBy: admin.userId })).toEqual([]);
    expect(await runsOf(admin, { agentId, createdBefore: second.createdAt })).toEqual([first.id]);
    expect(await runsOf(admin, { agentId, createdAfter: first.createdAt })).toEqual([second.id]);
  });

  test('end a page that they would make too large, and continue on the next', async () => {
    const agent = await at.createAgent();
    const metadata = Buffer.from(JSON.stringify({ text: 'x'.repeat(3_000_000) }));
    const ids: string[] = [];
    for (let i = 0; i < 3; i++) {
      const { id } = await at.start(at.owner, agent, { metadata });
      await at.until(at.owner, id, 'completed');
      ids.push(id);
    }
    const seen: string[] = [];
    for (let cursor = ''; ; ) {
      const page = { limit: 200, offset: 0, cursor };
      const request = ListRunsRequest.fromPartial({ agentId: agent.id, sort: 'created_at', page });
      const answer = await at.clients.runs.listRuns(request, await at.stage.as(at.owner));
      expect([answer.items.length, answer.page?.total]).toEqual([1, 3]);
      seen.push(...answer.items.map(({ id }) => id));
      cursor = answer.page?.nextCursor ?? '';
      if (cursor === '') break;
    }
    expect(seen).toEqual(ids);
  });

  test('tell when to read them again until they have ended', async () => {
    at.tools.set('send', {});
    const agent = await at.createAgent({ policy: { ...DEFAULT_POLICY, mode: 'always' } });
    at.model.script({
      replies: [{ toolCalls: [{ id: 'c1', name: 'send', arguments: { what: 'it' } }] }, { text: 'Ok.' }],
    });
    const { id: runId } = await at.start(at.owner, agent);
    const polled = async () => {
      const reply: Reply = {};
      await at.clients.runs.getRun(GetRunRequest.fromPartial({ runId }), await at.stage.as(at.owner, {}, reply));
      return reply.retryAfter;
    };
    await at.until(at.owner, runId, 'awaiting_approval');
    expect(await polled()).toBe(10);
    const [approval] = await at.approvals(at.owner, { runId });
    const both = at.decide(at.owner, approval?.id ?? '', { status: ApprovalStatus.APPROVED, decision: 'deny' });
    await expect(both).rejects.toMatchObject({ reason: 'conflicting_alias', param: 'decision' });
    await at.decide(at.owner, approval?.id ?? '', { status: ApprovalStatus.APPROVED, decision: 'approve' });
    await at.until(at.owner, runId, 'completed');
    expect(await polled()).toBeUndefined();
  });

  test('that ask people are listed by who started them, in the order of their requests', async () => {
    at.tools.set('send', {});
    const agent = await at.createAgent({ policy: { ...DEFAULT_POLICY, mode: 'always', approvers: 'owner' } });
    const [first, second] = [at.person('First'), at.person('Second')];
    const asked: { id: string; requestedAt: string | undefined }[] = [];
    for (const by of [first, second]) {
      at.model.script({ replies: [{ toolCalls: [{ id: 'c1', name: 'send', arguments: { what: 'it' } }] }] });
      const { id: runId } = await at.start(by, agent);
      await at.until(by, runId, 'awaiting_approval');
      asked.push(...(await at.approvals(at.owner, { runId })));
    }
    const [one, two] = asked;
    const ids = async (more: object) =>
      (await at.approvals(at.owner, { agentId: agent.id, ...more })).map(({ id }) => id);
    expect(await ids({ sort: 'requested_at' })).toEqual([one?.id, two?.id]);
    expect(await ids({ sort: '-requested_at' })).toEqual([two?.id, one?.id]);
    expect(await ids({ createdBy: first.userId })).toEqual([one?.id]);
    expect(await ids({ createdAfter: one?.requestedAt })).toEqual([two?.id]);
    expect(await ids({ createdBefore: two?.requestedAt })).toEqual([one?.id]);
  });
});

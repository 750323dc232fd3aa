import type { Caller } from '@commonplace/kit/auth';
import type { DomainEvent } from '@commonplace/kit/events';
import { newId } from '@commonplace/kit/id';
import { eventually } from '@commonplace/kit/testing';
import { RunSource } from '@commonplace/proto/agents/v1/run.js';
import { StartWorkRunRequest } from '@commonplace/proto/agents/v1/work_run_service.js';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type AgentStage, openAgentStage } from './stage.js';

let stage: AgentStage;
let ann: Caller;
const events: DomainEvent[] = [];

beforeAll(async () => {
  stage = await openAgentStage();
  ann = stage.person('Ann');
  await stage.stage.host.bus.subscribe({ consumer: 'test.runs', types: ['commonplace.agents.>'] }, async (some) => {
    events.push(...some);
  });
});
afterAll(() => stage.close());

const namesOf = (runId: string) =>
  events.filter(({ data }) => data.runId === runId).map(({ type }) => type.replace('commonplace.agents.', ''));

test('a run and its approvals publish events about their start and end, with the chain of causes', async () => {
  const agent = await stage.createAgent();
  stage.tools.set('erase', { plan: { action: 'delete', risk: 'medium' } });
  const call = { id: 'c1', name: 'erase', arguments: { what: 'it' } };
  stage.model.script({ match: 'Erase it', replies: [{ toolCalls: [call] }, { text: 'Erased.' }] });
  const [runId, scheduleId, workItemId, automationId] = [newId(), newId(), newId(), newId()];
  const asked = StartWorkRunRequest.fromPartial({
    ...{ runId, agentId: agent.id, userId: ann.userId, userName: 'Ann', workspaceId: stage.workspaceId },
    ...{ source: RunSource.SCHEDULE, input: { text: 'Erase it.' }, scheduleId, workItemId, chain: [automationId] },
  });
  await stage.clients.workRuns.startWorkRun(asked, await stage.stage.as(undefined));
  const { pendingApprovalIds } = await stage.until(ann, runId, 'awaiting_approval');
  await stage.decide(ann, pendingApprovalIds[0] ?? '');
  await stage.until(ann, runId, 'completed');
  await eventually(async () =>
    expect(namesOf(runId)).toEqual([
      ...['agent_run.started', 'agent_approval.requested', 'agent_approval.decided', 'agent_run.finished'],
    ]),
  );
  const [started, requested, decided, finished] = events.filter(({ data }) => data.runId === runId);
  const run = { workspaceId: stage.workspaceId, userId: ann.userId, agentId: agent.id, source: 'schedule' };
  const about = { tenant: stage.orgId, chain: [automationId] };
  expect(started).toMatchObject({
    ...{ ...about, subject: runId, actor: { type: 'user', id: ann.userId }, data: { ...run, scheduleId, workItemId } },
  });
  expect(finished).toMatchObject({
    ...{ ...about, subject: runId, actor: { type: 'agent', id: agent.id } },
    data: { ...run, scheduleId, workItemId, status: 'completed', code: '' },
  });
  const approval = { approvalId: pendingApprovalIds[0], userId: ann.userId, approverIds: [ann.userId] };
  expect(requested).toMatchObject({ ...about, data: { ...approval, notifyUserIds: [ann.userId] } });
  expect(decided).toMatchObject({
    ...{ ...about, actor: { type: 'user', id: ann.userId } },
    data: { ...approval, status: 'approved', deciderId: ann.userId },
  });
  // The events contain ids and no content.
  expect(JSON.stringify([started, finished])).not.toContain('Erase');
}, 40_000);

test('events of approvals that end without a decision contain the reason', async () => {
  const agent = await stage.createAgent();
  stage.tools.set('erase', { plan: { action: 'delete', risk: 'medium' } });
  const call = { id: 'c1', name: 'erase', arguments: { what: 'it' } };
  stage.model.script({ match: 'Do it', replies: [{ toolCalls: [call] }] });
  const { id } = await stage.start(ann, agent);
  await stage.until(ann, id, 'awaiting_approval');
  const request = { runId: id, reason: undefined } as never;
  await stage.clients.runs.cancelRun(request, await stage.stage.as(ann));
  await eventually(async () => expect(namesOf(id)).toContain('agent_run.finished'));
  const decided = events.find(({ type, data }) => type.endsWith('agent_approval.decided') && data.runId === id);
  expect(decided?.data).toMatchObject({ status: 'canceled', reason: 'run_ended', deciderId: '' });
}, 40_000);

import { readdir } from 'node:fs/promises';
import type { Caller } from '@commonplace/kit/auth';
import { createEvent, systemActor } from '@commonplace/kit/events';
import { newId } from '@commonplace/kit/id';
import { type CollectionSpec, inWork, type StoredRecord } from '@commonplace/kit/store';
import { eventually } from '@commonplace/kit/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type AgentRecord, type ApprovalPolicy, DEFAULT_POLICY } from '../src/stores/agents.js';
import { type AgentStage, openAgentStage } from './stage.js';

let stage: AgentStage;
let leaver: Caller;
let successor: Caller;

beforeAll(async () => {
  stage = await openAgentStage();
});
afterAll(() => stage.close());

beforeEach(() => {
  leaver = stage.person('Leaver');
  successor = stage.person('Heir');
});

const publish = (type: string, subject: string, data: object = {}) =>
  stage.stage.host.bus.publish([
    createEvent({ service: 'tenancy', type, subject, data, tenant: stage.orgId, actor: systemActor('tenancy') }),
  ]);
const leaves = (transferToUserId = '') =>
  publish('org_member.removed', newId(), { orgId: stage.orgId, userId: leaver.userId, transferToUserId });
const stored = async ({ id }: AgentRecord) => (await stage.records.agents.get(id)) as AgentRecord;
/** Waits until an agent is as expected. */
const becomes = (agent: AgentRecord, expected: object) =>
  eventually(async () => expect(await stored(agent)).toMatchObject(expected), 20_000);
/** Waits until all events that were published before were handled. */
async function allHandled(): Promise<void> {
  const agent = await stage.createAgent({ ownerId: leaver.userId, status: 'active' });
  await leaves();
  await becomes(agent, { status: 'paused' });
}

describe('an agent whose owner leaves the Org', () => {
  const own = (more: object = {}) => stage.createAgent({ ownerId: leaver.userId, ownerName: 'Leaver', ...more });

  test('is transferred to the successor, paused and private, and acts only where the successor does', async () => {
    const elsewhere = newId();
    const places = [
      { workspaceId: stage.workspaceId, role: 'editor' as const },
      { workspaceId: elsewhere, role: 'viewer' as const },
    ];
    const agent = await own({ places, workspaceIds: [stage.workspaceId, elsewhere] });
    const others = await stage.createAgent();
    stage.members.delete(leaver.userId);
    await leaves(successor.userId);
    await becomes(agent, {
      ...{ ownerId: successor.userId, ownerName: 'Heir', status: 'paused', visibility: 'private' },
      ...{ places: places.slice(0, 1), workspaceIds: [stage.workspaceId] },
    });
    const { version } = await stored(agent);
    await leaves(successor.userId);
    await allHandled();
    expect((await stored(agent)).version).toBe(version);
    expect(await stored(others)).toMatchObject({ ownerId: stage.owner.userId, status: 'active' });
  }, 60_000);

  test('cancels its runs, which the successor did not start', async () => {
    const agent = await own();
    stage.tools.set('erase', { plan: { action: 'delete', risk: 'medium' } });
    const call = { id: 'c1', name: 'erase', arguments: { what: 'it' } };
    stage.model.script({ match: 'Do it', replies: [{ toolCalls: [call] }] });
    const { id } = await stage.start(successor, agent);
    const { pendingApprovalIds } = await stage.until(successor, id, 'awaiting_approval');
    stage.members.delete(leaver.userId);
    await leaves(successor.userId);
    await becomes(agent, { ownerId: successor.userId });
    await stage.decide(successor, pendingApprovalIds[0] ?? '');
    const run = await stage.until(successor, id, 'failed', 'completed');
    expect(run.error?.code).toBe('permission_lost');
    expect(stage.calls).toEqual([]);
  }, 60_000);

  test.each([
    ['without a successor', () => ''],
    ['with a successor who does not belong to the Org', () => newId()],
  ])('%s stays theirs and is paused', async (_, successor) => {
    const agent = await own();
    stage.members.delete(leaver.userId);
    await leaves(successor());
    await becomes(agent, { status: 'paused', ownerId: leaver.userId, visibility: 'org' });
  });

  test('is unchanged if the owner is back before the event arrives', async () => {
    const agent = await own();
    await leaves(successor.userId);
    const marker = stage.person('Marker');
    const last = await stage.createAgent({ ownerId: marker.userId });
    stage.members.delete(marker.userId);
    const data = { orgId: stage.orgId, userId: marker.userId, transferToUserId: '' };
    await publish('org_member.removed', newId(), data);
    await becomes(last, { status: 'paused' });
    expect(await stored(agent)).toMatchObject({ ownerId: leaver.userId, status: 'active' });
  });

  test('ends like the others if it is created, or placed, while the owner leaves', async () => {
    const before = await own();
    stage.members.delete(leaver.userId);
    await leaves();
    const data = { workspaceId: stage.workspaceId, userId: leaver.userId };
    await publish('workspace_member.removed', newId(), data);
    await becomes(before, { places: [], status: 'paused' });
    // This has read the memberships before they ended, and commits after the agents were looked up.
    const late = await own();
    const announced = { agentId: late.id, orgId: stage.orgId };
    const about = { service: 'agents', type: 'agent.created', subject: late.id, tenant: stage.orgId };
    await stage.stage.host.bus.publish([createEvent({ ...about, data: announced, actor: systemActor('agents') })]);
    await becomes(late, { places: [], workspaceIds: [], status: 'paused', ownerId: leaver.userId });
  });

  test('stops acting in a workspace that the owner has left', async () => {
    const agent = await own();
    stage.members.delete(leaver.userId);
    const data = { workspaceId: stage.workspaceId, userId: leaver.userId };
    await publish('workspace_member.removed', newId(), data);
    await becomes(agent, { places: [], workspaceIds: [], status: 'active' });
  });
});

test('purging an Org deletes all records of its agents, and no others', async () => {
  const { store } = stage.stage.own;
  const kept = newId();
  const collections = await Promise.all((await specs()).map((spec) => store.collection(spec)));
  expect(collections.length).toBeGreaterThan(15);
  // Two chunks of each, and one record of another tenant.
  for (const collection of collections) {
    await inWork(store, async (work) => {
      for (const tenant of [...Array.from({ length: 230 }, () => stage.orgId), kept]) {
        const id = newId();
        work.insert(collection, { id, tenant, nameKey: id } as never);
      }
    });
  }
  await publish('org.purged', stage.orgId);
  await eventually(async () => {
    const left = await Promise.all(collections.map((one) => one.count({ tenant: stage.orgId })));
    expect(left).toEqual(collections.map(() => 0));
  }, 60_000);
  expect(await Promise.all(collections.map((one) => one.count({ tenant: kept })))).toEqual(collections.map(() => 1));
}, 90_000);

type TenantRecord = StoredRecord & { readonly tenant: string };

/** Returns every collection of the service, so that none is forgotten. */
async function specs(): Promise<CollectionSpec<TenantRecord>[]> {
  const folder = new URL('../src/stores/', import.meta.url);
  const files = (await readdir(folder)).filter((name) => name.endsWith('.js'));
  const modules = await Promise.all(files.map((name) => import(new URL(name, folder).href)));
  return modules
    .flatMap((one) => Object.entries(one))
    .flatMap(([name, value]) => (name.endsWith('Collection') ? [value as CollectionSpec<TenantRecord>] : []));
}

describe('an approval whose approver leaves', () => {
  const asked: string[][] = [];

  beforeAll(async () => {
    const types = ['commonplace.agents.agent_approval.requested'];
    await stage.stage.host.bus.subscribe({ consumer: 'test.asked', types }, async (events) => {
      asked.push(...events.map(({ data }) => data.notifyUserIds as string[]));
    });
  });

  /** Starts a run that waits for the decision of one person, who then leaves. */
  async function askLeaver(policy: Partial<ApprovalPolicy>, by = successor) {
    asked.length = 0;
    const agent = await stage.createAgent({ policy: { ...DEFAULT_POLICY, approvers: [leaver.userId], ...policy } });
    stage.tools.set('erase', { plan: { action: 'delete', risk: 'medium' } });
    const call = { id: 'c1', name: 'erase', arguments: { what: 'it' } };
    stage.model.script({ match: 'Do it', replies: [{ toolCalls: [call] }, { text: 'Done.' }] });
    const { id } = await stage.start(by, agent);
    const { pendingApprovalIds } = await stage.until(by, id, 'awaiting_approval');
    stage.members.delete(leaver.userId);
    await leaves();
    return { id, approvalId: pendingApprovalIds[0] ?? '' };
  }

  test('is decided by the owner of the agent, who is notified and sees it', async () => {
    const { id, approvalId } = await askLeaver({});
    await eventually(async () => {
      expect((await stage.approvals(stage.owner, { runId: id })).map((one) => one.id)).toEqual([approvalId]);
    }, 20_000);
    await eventually(async () => expect(asked).toEqual([[leaver.userId], [stage.owner.userId]]), 20_000);
    await stage.decide(stage.owner, approvalId);
    await stage.until(successor, id, 'completed');
  }, 60_000);

  test('ends at once if there is no approver left, and the run continues', async () => {
    const { id } = await askLeaver({ fourEyes: true }, stage.owner);
    await stage.until(stage.owner, id, 'completed');
    expect(await stage.approvals(stage.owner, { runId: id })).toMatchObject([
      { status: 'APPROVAL_STATUS_EXPIRED', reason: 'no_approver' },
    ]);
  }, 60_000);
});

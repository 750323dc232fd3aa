import { setTimeout as sleep } from 'node:timers/promises';
import { type ChatServer, openChatServer } from '@commonplace/kit/testing/chat-server';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newAgent } from '../src/agents.js';
import type { Run } from '../src/chat.js';
import { eventually } from '../src/eventually.js';
import { type Person, signUp } from '../src/people.js';
import type { Workspace } from '../src/records.js';
import { type OwnSystem, startSystem } from '../src/system.js';

// Tests that schedules start automations and agents on time. The model is a double with scripted replies.

let model: ChatServer;
let system: OwnSystem;
let ann: Person;
let workspace: Workspace;

beforeAll(async () => {
  model = await openChatServer();
  system = await startSystem({
    COMMONPLACE_SIGN_UP: 'open',
    COMMONPLACE_CHAT_MODEL_URL: model.url,
    COMMONPLACE_CHAT_MODELS: 'scripted',
  });
  ann = await signUp(system, 'Ann Author');
  const settings = { timezone: 'Europe/Berlin' };
  workspace = (await ann.post<Workspace>('/workspaces', { name: 'Clock', settings })).data;
}, 150_000);

afterAll(async () => {
  await system?.stop();
  await model?.close();
});

interface Schedule {
  readonly id: string;
  readonly version: number;
  readonly status: string;
  readonly timezone: string;
  readonly next_run_at: string | null;
  readonly next_runs: readonly { readonly scheduled_for: string; readonly starts_at: string }[];
  readonly last_run: { readonly id: string; readonly status: string } | null;
  readonly fires: readonly { readonly scheduled_for: string; readonly outcome: string; readonly run_id: string }[];
  readonly recent_runs: readonly { readonly id: string; readonly status: string }[];
}

interface AutomationRun {
  readonly id: string;
  readonly steps: readonly { readonly output: object | null }[];
}

async function newAutomation(actions: readonly object[] = [{ type: 'stop' }]): Promise<string> {
  const { status, data } = await ann.post<{ id: string }>('/automations', {
    ...{ name: 'Digest', workspace_id: workspace.id, trigger: { type: 'schedule' }, actions },
  });
  expect(status).toBe(201);
  return data.id;
}

async function newSchedule(fields: object): Promise<Schedule> {
  const { status, data } = await ann.post<Schedule>('/agent-schedules', { name: 'Weekly', ...fields });
  expect([status, data]).toEqual([201, expect.anything()]);
  return data;
}

const read = async (id: string) => (await ann.get<Schedule>(`/agent-schedules/${id}?include=fires,recent_runs`)).data;

const soon = (ms: number) => new Date(Date.now() + ms).toISOString();

test('a schedule shows its next slots in the time zone of its workspace', async () => {
  const automation_id = await newAutomation();
  const schedule = await newSchedule({ automation_id, cron: '0 9 * * MON', jitter_seconds: 60 });
  expect(schedule).toMatchObject({ timezone: 'Europe/Berlin', status: 'active', last_run: null });
  expect(schedule.next_runs).toHaveLength(5);
  for (const { scheduled_for, starts_at } of schedule.next_runs) {
    const local = new Intl.DateTimeFormat('en-GB', {
      ...{ timeZone: 'Europe/Berlin', weekday: 'short', hour: '2-digit', minute: '2-digit' },
    }).format(new Date(scheduled_for));
    expect(local).toBe('Mon 09:00');
    const delay = Date.parse(starts_at) - Date.parse(scheduled_for);
    expect(delay).toBeGreaterThanOrEqual(0);
    expect(delay).toBeLessThanOrEqual(60_000);
  }
  expect(schedule.next_run_at).toBe(schedule.next_runs[0]?.scheduled_for);
  const { data } = await ann.get<{ items: Schedule[] }>(`/agent-schedules?automation_id=${automation_id}`);
  expect(data.items.map(({ id }) => id)).toEqual([schedule.id]);
});

test('an automation runs once at its time, with the input of the schedule, which then ends', async () => {
  const message = '{{trigger.input.week}} {{trigger.schedule.id}}';
  const automation_id = await newAutomation([{ type: 'stop', config: { message } }]);
  const { id } = await newSchedule({ automation_id, run_at: soon(3_000), input: { week: 7, event: { type: 'none' } } });
  await eventually(async () => {
    expect(await read(id)).toMatchObject({ status: 'completed', last_run: { status: 'completed' }, next_runs: [] });
  });
  const { fires, recent_runs } = await read(id);
  expect(fires.map(({ outcome }) => outcome)).toEqual(['started']);
  expect(recent_runs.map(({ id: run }) => run)).toEqual(fires.map(({ run_id }) => run_id));
  const { data } = await ann.get<{ items: AutomationRun[] }>(`/automations/${automation_id}/runs`);
  expect(data.items.map(({ id: run }) => run)).toEqual(fires.map(({ run_id }) => run_id));
  expect(data.items[0]?.steps[0]?.output).toMatchObject({ message: `7 ${id}` });
  const changed = await ann.patch(`/agent-schedules/${id}`, { name: 'Again' });
  expect([changed.status, changed.error?.code]).toEqual([409, 'schedule_completed']);
});

test('an agent runs when its schedule is triggered, as the person who created it', async () => {
  model.script({ match: 'What is new', replies: [{ text: 'All is well.' }] });
  const agent = await newAgent(ann, { name: 'Scout', tools: [], visibility: 'workspace' }, [workspace.id]);
  const target = { type: 'agent', id: agent.id };
  const fields = { target, workspace_id: workspace.id, cron: '@yearly', input: 'What is new?' };
  const { id, version } = await newSchedule(fields);
  const { data } = await ann.patch<Schedule>(`/agent-schedules/${id}`, { trigger_now: true });
  expect(data.version).toBe(version);
  const run = await eventually(async () => {
    const { fires } = await read(id);
    expect(fires.map(({ outcome }) => outcome)).toEqual(['manual']);
    const answer = await ann.get<Run & { schedule_id: string; source: string }>(`/agent-runs/${fires[0]?.run_id}`);
    expect(answer.data.status).toBe('completed');
    return answer.data;
  });
  expect(run).toMatchObject({ source: 'schedule', schedule_id: id, output: { text: 'All is well.' } });
  await eventually(async () => expect((await read(id)).last_run).toMatchObject({ id: run.id, status: 'completed' }));
});

test('other people cannot distinguish a schedule from a missing one', async () => {
  const { id } = await newSchedule({ automation_id: await newAutomation(), cron: '@monthly' });
  const ben = await signUp(system, 'Ben Stranger');
  expect((await ben.get(`/agent-schedules/${id}`)).status).toBe(404);
  expect((await ben.patch(`/agent-schedules/${id}`, { trigger_now: true })).status).toBe(404);
  expect((await ben.send('DELETE', `/agent-schedules/${id}`)).status).toBe(404);
  expect((await ben.get<{ items: unknown[] }>('/agent-schedules')).data.items).toEqual([]);
});

test('a run that was due while the system was down starts once when it is up again', async () => {
  const automation_id = await newAutomation();
  const { id } = await newSchedule({ automation_id, run_at: soon(2_500) });
  await system.kill();
  await system.restart();
  await eventually(async () => {
    expect((await read(id)).fires.map(({ outcome }) => outcome)).toEqual(['started']);
  });
  const { data } = await ann.get<{ items: unknown[] }>(`/automations/${automation_id}/runs`);
  expect(data.items).toHaveLength(1);
}, 120_000);

test('a schedule that is changed a second before its slot, and then killed, fires only at its new time', async () => {
  const { id, automation_id, slot, changed } = await changedInTime();
  await system.kill();
  await system.restart();
  await eventually(async () => {
    expect(await read(id)).toMatchObject({ status: 'completed', last_run: { status: 'completed' } });
  });
  const { fires } = await read(id);
  expect(fires.map(({ scheduled_for, outcome }) => [Date.parse(scheduled_for), outcome])).toEqual([
    [changed, 'started'],
  ]);
  expect(changed).not.toBe(slot);
  const { data } = await ann.get<{ items: unknown[] }>(`/automations/${automation_id}/runs`);
  expect(data.items).toHaveLength(1);
}, 180_000);

/** Changes the time of a schedule a second before it fires, or earlier on a machine that is too slow for that. */
async function changedInTime() {
  for (let beforeMs = 1_000; ; beforeMs *= 3) {
    const automation_id = await newAutomation();
    const slot = Date.now() + beforeMs + 2_000;
    const { id } = await newSchedule({ automation_id, run_at: new Date(slot).toISOString() });
    await sleep(slot - beforeMs - Date.now());
    const changed = slot + 4_000;
    const { status } = await ann.patch(`/agent-schedules/${id}`, { run_at: new Date(changed).toISOString() });
    if (status === 200) return { id, automation_id, slot, changed };
    expect(status).toBe(409);
  }
}

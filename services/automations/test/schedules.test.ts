import type { Caller } from '@commonplace/kit/auth';
import { AppError } from '@commonplace/kit/errors';
import { newId } from '@commonplace/kit/id';
import { eventually } from '@commonplace/kit/testing';
import { RunStatus } from '@commonplace/proto/agents/v1/run.js';
import {
  DeliveryTargetType,
  FireOutcome,
  ScheduleCatchup,
  ScheduleOverlap,
  ScheduleStatus,
  ScheduleTargetType,
} from '@commonplace/proto/automations/v1/schedule.js';
import { ListSchedulesRequest, UpdateScheduleRequest } from '@commonplace/proto/automations/v1/schedule_service.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { cronFault } from '../src/schedules/cron.js';
import { planSchedulesThatAreOver } from '../src/schedules/open.js';
import { openScheduleStage, type ScheduleStage, SLOT } from './schedule-stage.js';

const MINUTE = 60_000;
const at = (ms: number) => new Date(ms).toISOString();

let stage: ScheduleStage;
beforeEach(async () => {
  stage = await openScheduleStage();
});
afterEach(async () => {
  await stage.close();
});

const input = (value: unknown) => Buffer.from(JSON.stringify(value));

/** Expects an automation to have so many runs. */
const hasRuns = (automationId: string, count: number) =>
  eventually(async () => {
    const runs = await stage.runsOf(automationId);
    expect(runs).toHaveLength(count);
    return runs;
  });

test('a slot is written ahead, and starts the automation in the commit that marks it', async () => {
  const { id: automationId } = await stage.automation();
  const schedule = await stage.create({
    automationId,
    cron: '*/5 * * * *',
    timezone: 'europe/berlin',
    input: input({ week: 7 }),
  });
  expect(schedule.nextRunAt).toBe(at(SLOT - 5 * MINUTE));
  expect(schedule.nextRuns.map(({ scheduledFor }) => scheduledFor)).toEqual(
    [-5, 0, 5, 10, 15].map((minutes) => at(SLOT + minutes * MINUTE)),
  );
  expect(schedule.timezone).toBe('Europe/Berlin');
  // The fire in five minutes is written already.
  expect((await stage.firesOf(schedule.id)).map(({ scheduledFor }) => scheduledFor)).toEqual([at(SLOT - 5 * MINUTE)]);
  await stage.goTo(SLOT - 5 * MINUTE + 3);
  await stage.until(schedule.id, [['11:55:00', 'started']]);
  const [run] = await hasRuns(automationId, 1);
  expect(run).toMatchObject({
    status: 'queued',
    input: { input: { week: 7 } },
    trigger: { type: 'schedule', scheduleId: schedule.id },
  });
  const shown = await stage.get(schedule.id);
  expect(shown.lastRun).toMatchObject({ id: run?.id, status: 'queued', scheduledFor: at(SLOT - 5 * MINUTE) });
  expect(shown).toMatchObject({ runCount: 1, version: schedule.version });
  expect(shown.recentRuns).toHaveLength(1);
  expect(shown.fires[0]?.lagMs).toBeGreaterThanOrEqual(0);
});

test.each([
  [ScheduleCatchup.NONE, ['missed', 'missed', 'missed', 'missed', 'missed'], 0],
  [ScheduleCatchup.LATEST, ['coalesced', 'coalesced', 'coalesced', 'coalesced', 'started'], 1],
  [ScheduleCatchup.ALL, ['started', 'started', 'started', 'started', 'started'], 5],
])('five missed slots are caught up by the rule %s', async (catchup, outcomes, started) => {
  const { id: automationId } = await stage.automation();
  const overlap = ScheduleOverlap.ALLOW;
  const { id } = await stage.create({
    automationId,
    cron: '0 * * * *',
    catchup,
    overlap,
    catchupWindowSeconds: 86_400,
  });
  await stage.goTo(SLOT + 4 * 60 * MINUTE + 10 * MINUTE);
  await stage.until(
    id,
    outcomes.map((outcome, hour) => [`${12 + hour}:00:00`, outcome] as const),
  );
  await hasRuns(automationId, started);
  const shown = await stage.get(id);
  expect(shown.missedCount).toBe(outcomes.filter((outcome) => outcome === 'missed').length);
  expect(shown.nextRunAt).toBe(at(SLOT + 5 * 60 * MINUTE));
});

test('missed slots beyond max_runs are coalesced, and not counted as missed', async () => {
  const { id: automationId } = await stage.automation();
  const catchup = { catchup: ScheduleCatchup.ALL, overlap: ScheduleOverlap.ALLOW, catchupWindowSeconds: 86_400 };
  const { id } = await stage.create({ automationId, cron: '0 * * * *', maxRuns: 2, ...catchup });
  await stage.goTo(SLOT + 4 * 60 * MINUTE + 10 * MINUTE);
  await stage.until(id, [
    ['12:00:00', 'started'],
    ['13:00:00', 'started'],
    ['14:00:00', 'coalesced'],
    ['15:00:00', 'coalesced'],
    ['16:00:00', 'coalesced'],
  ]);
  expect(await stage.get(id)).toMatchObject({ status: ScheduleStatus.COMPLETED, runCount: 2, missedCount: 0 });
});

test('slots missed before the window are not caught up', async () => {
  const { id: automationId } = await stage.automation();
  const fields = { catchup: ScheduleCatchup.ALL, overlap: ScheduleOverlap.ALLOW, catchupWindowSeconds: 2 * 3600 };
  const { id } = await stage.create({ automationId, cron: '0 * * * *', ...fields });
  await stage.goTo(SLOT + 3 * 60 * MINUTE + 10 * MINUTE);
  await stage.until(id, [
    ['12:00:00', 'missed'],
    ['13:00:00', 'missed'],
    ['14:00:00', 'started'],
    ['15:00:00', 'started'],
  ]);
});

test('caught-up fires start one after another, oldest first, unless runs may overlap', async () => {
  const { id: automationId } = await stage.automation();
  const fields = { catchup: ScheduleCatchup.ALL, catchupWindowSeconds: 86_400 };
  const { id } = await stage.create({ automationId, cron: '0 * * * *', ...fields });
  await stage.goTo(SLOT + 2 * 60 * MINUTE + 10 * MINUTE);
  await stage.until(id, [
    ['12:00:00', 'started'],
    ['13:00:00', 'buffered'],
    ['14:00:00', 'buffered'],
  ]);
  for (const count of [1, 2, 3]) {
    const runs = await hasRuns(automationId, count);
    await stage.endRun(runs.at(-1) as never);
  }
  await stage.until(id, [
    ['12:00:00', 'started'],
    ['13:00:00', 'started'],
    ['14:00:00', 'started'],
  ]);
  const runs = await stage.runsOf(automationId);
  expect(runs.map(({ trigger }) => trigger.scheduledFor)).toEqual(
    [0, 1, 2].map((hour) => at(SLOT + hour * 60 * MINUTE)),
  );
});

test('at most a hundred slots are caught up, and all others are recorded', async () => {
  const { id: automationId } = await stage.automation();
  const fields = { catchup: ScheduleCatchup.ALL, overlap: ScheduleOverlap.ALLOW, catchupWindowSeconds: 86_400 };
  const { id } = await stage.create({ automationId, intervalSeconds: 60, startAt: at(SLOT), ...fields });
  await stage.goTo(SLOT + 130 * MINUTE + 45_000);
  await hasRuns(automationId, 100);
  await eventually(async () => {
    const fires = (await stage.firesOf(id)).filter(({ outcome }) => outcome !== undefined);
    expect(fires).toHaveLength(131);
    expect(fires.slice(0, 100).every(({ outcome }) => outcome === 'started')).toBe(true);
    expect(fires.slice(100).every(({ outcome }) => outcome === 'missed')).toBe(true);
  });
  expect((await stage.get(id)).missedCount).toBe(31);
});

test('a fire is skipped while the previous run continues', async () => {
  const { id: automationId } = await stage.automation();
  const { id } = await stage.create({ automationId, intervalSeconds: 3600, startAt: at(SLOT) });
  for (const hour of [0, 1]) {
    await stage.goTo(SLOT + hour * 60 * MINUTE + 5);
    await eventually(async () => expect(await stage.outcomes(id)).toHaveLength(hour + 1));
  }
  const [run] = await stage.runsOf(automationId);
  await stage.endRun(run as never);
  await stage.goTo(SLOT + 2 * 60 * MINUTE + 5);
  await stage.until(id, [
    ['12:00:00', 'started'],
    ['13:00:00', 'skipped_overlap'],
    ['14:00:00', 'started'],
  ]);
  expect(await stage.get(id)).toMatchObject({ skippedCount: 1, runCount: 2 });
});

test('one fire waits for the previous run, and starts when it ends', async () => {
  const { id: automationId } = await stage.automation();
  const overlap = ScheduleOverlap.BUFFER_ONE;
  const { id } = await stage.create({ automationId, intervalSeconds: 3600, startAt: at(SLOT), overlap });
  for (const hour of [0, 1, 2]) {
    await stage.goTo(SLOT + hour * 60 * MINUTE + 5);
    await eventually(async () => expect(await stage.outcomes(id)).toHaveLength(hour + 1));
  }
  expect((await stage.outcomes(id)).map(([, outcome]) => outcome)).toEqual(['started', 'buffered', 'skipped_overlap']);
  await stage.endRun((await stage.runsOf(automationId))[0] as never);
  await stage.until(id, [
    ['12:00:00', 'started'],
    ['13:00:00', 'started'],
    ['14:00:00', 'skipped_overlap'],
  ]);
  await hasRuns(automationId, 2);
});

test('a newer fire cancels the previous run', async () => {
  const { id: automationId } = await stage.automation();
  const overlap = ScheduleOverlap.CANCEL_PREVIOUS;
  const { id } = await stage.create({ automationId, intervalSeconds: 3600, startAt: at(SLOT), overlap });
  for (const hour of [0, 1]) {
    await stage.goTo(SLOT + hour * 60 * MINUTE + 5);
    await hasRuns(automationId, hour + 1);
  }
  await stage.until(id, [
    ['12:00:00', 'replaced'],
    ['13:00:00', 'started'],
  ]);
  expect((await stage.runsOf(automationId)).map(({ status }) => status)).toEqual(['canceled', 'queued']);
});

test('an agent run starts once, however often the start is attempted', async () => {
  let failures = 2;
  stage.answer(() => {
    if (failures-- > 0) throw new Error('not now');
    return { refusalCode: '', refusal: '' };
  });
  const { agentId, workspaceId } = stage;
  const { id } = await stage.create({
    agentId,
    workspaceId,
    intervalSeconds: 3600,
    startAt: at(SLOT),
    input: input('Sum up.'),
  });
  await stage.goTo(SLOT + 5);
  await eventually(() => expect(stage.startRequests).toHaveLength(3));
  expect(new Set(stage.startRequests.map(({ runId }) => runId)).size).toBe(1);
  expect(stage.startRequests[0]).toMatchObject({
    agentId,
    scheduleId: id,
    userId: stage.owner.userId,
    input: { text: 'Sum up.' },
  });
  await stage.until(id, [['12:00:00', 'started']]);
  await stage.goTo(SLOT + 60 * MINUTE + 5);
  await eventually(async () => expect((await stage.outcomes(id))[1]?.[1]).toBe('skipped_overlap'));
  // The end of the run counts, whether its event has arrived or not.
  stage.agentRuns.set(stage.startRequests[0]?.runId ?? '', RunStatus.COMPLETED);
  await stage.goTo(SLOT + 120 * MINUTE + 5);
  await eventually(async () => expect((await stage.outcomes(id))[2]?.[1]).toBe('started'));
});

test('a refusal fails the fire; a deleted agent ends the schedule', async () => {
  stage.answer(() => ({ refusalCode: 'agent_paused', refusal: 'The agent is paused.' }));
  const { agentId, workspaceId } = stage;
  const { id } = await stage.create({
    agentId,
    workspaceId,
    intervalSeconds: 3600,
    startAt: at(SLOT),
    input: input('Sum up.'),
  });
  await stage.goTo(SLOT + 5);
  await stage.until(id, [['12:00:00', 'failed_to_start']]);
  expect(await stage.get(id)).toMatchObject({ consecutiveFailures: 1, status: ScheduleStatus.ACTIVE });
  stage.answer(() => ({ refusalCode: 'not_found', refusal: 'The agent no longer exists.' }));
  await stage.goTo(SLOT + 60 * MINUTE + 5);
  await eventually(async () =>
    expect(await stage.get(id)).toMatchObject({ status: ScheduleStatus.ERROR, error: 'target_gone', nextRuns: [] }),
  );
});

test('a refusal because the deletion of the Org was scheduled meanwhile ends nothing', async () => {
  stage.answer(() => {
    stage.place.hidden = true;
    return { refusalCode: 'permission_lost', refusal: 'No.' };
  });
  const { agentId, workspaceId } = stage;
  const { id } = await stage.create({ agentId, workspaceId, runAt: at(SLOT), input: input('Sum up.') });
  await stage.goTo(SLOT + 5);
  await eventually(async () => expect((await stage.firesOf(id))[0]?.dueAt).toMatch(/T12:1/));
  stage.place.hidden = false;
  stage.answer(() => ({ refusalCode: '', refusal: '' }));
  await stage.goTo(SLOT + 11 * MINUTE);
  await stage.until(id, [['12:00:00', 'started']]);
  expect(await stage.get(id)).toMatchObject({ status: ScheduleStatus.COMPLETED, runCount: 1 });
});

test('a fire that the agents service refuses counts as no run', async () => {
  const fired: unknown[] = [];
  await stage.stage.host.bus.watch(['commonplace.automations.schedule.fired'], ({ subject }) => fired.push(subject));
  const { agentId, workspaceId } = stage;
  const fields = {
    agentId,
    workspaceId,
    intervalSeconds: 3600,
    startAt: at(SLOT),
    input: input('Sum up.'),
    maxRuns: 2,
  };
  const { id } = await stage.create(fields);
  await stage.goTo(SLOT + 5);
  await eventually(() => expect(fired).toEqual([id]));
  const first = (await stage.get(id)).lastRun;
  expect(first).toMatchObject({ id: stage.startRequests[0]?.runId });
  stage.answer(() => ({ refusalCode: 'agent_paused', refusal: 'The agent is paused.' }));
  stage.agentRuns.set(first?.id ?? '', RunStatus.COMPLETED);
  await stage.announce('agents', 'agent_run.finished', first?.id ?? '', { status: 'completed' });
  await eventually(async () => expect((await stage.get(id)).lastRun?.status).toBe('completed'));
  await stage.update(id, { triggerNow: true });
  await eventually(async () => expect((await stage.get(id)).consecutiveFailures).toBe(1));
  await stage.goTo(SLOT + 60 * MINUTE + 5);
  await eventually(async () => expect((await stage.get(id)).consecutiveFailures).toBe(2));
  const refused = await stage.get(id);
  expect(refused).toMatchObject({
    status: ScheduleStatus.ACTIVE,
    runCount: 1,
    lastRun: { ...first, status: 'completed' },
  });
  expect(refused.fires.map(({ outcome, runId, startedAt }) => [outcome, runId, startedAt])).toEqual([
    [FireOutcome.FAILED_TO_START, undefined, undefined],
    [FireOutcome.FAILED_TO_START, undefined, undefined],
    [FireOutcome.STARTED, first?.id, expect.anything()],
  ]);
  expect(fired).toEqual([id]);
  stage.answer(() => ({ refusalCode: '', refusal: '' }));
  await stage.goTo(SLOT + 120 * MINUTE + 5);
  await eventually(async () =>
    expect(await stage.get(id)).toMatchObject({ status: ScheduleStatus.COMPLETED, runCount: 2 }),
  );
  await eventually(() => expect(fired).toEqual([id, id]));
});

test('a newer fire cancels the previous agent run', async () => {
  const { agentId, workspaceId } = stage;
  const overlap = ScheduleOverlap.CANCEL_PREVIOUS;
  const fields = { agentId, workspaceId, intervalSeconds: 3600, startAt: at(SLOT), input: input('Sum up.'), overlap };
  const { id } = await stage.create(fields);
  for (const hour of [0, 1]) {
    await stage.goTo(SLOT + hour * 60 * MINUTE + 5);
    await eventually(() => expect(stage.startRequests).toHaveLength(hour + 1));
  }
  await stage.until(id, [
    ['12:00:00', 'replaced'],
    ['13:00:00', 'started'],
  ]);
  await eventually(() => expect(stage.canceled).toEqual([stage.startRequests[0]?.runId]));
});

test('a schedule that is changed a second before its slot fires with the change', async () => {
  const { id: automationId } = await stage.automation();
  const { id } = await stage.create({ automationId, cron: '0 * * * *' });
  await stage.goTo(SLOT - 1_000);
  const changed = await stage.update(id, { cron: '30 * * * *' });
  expect(changed.nextRunAt).toBe(at(SLOT + 30 * MINUTE));
  await stage.goTo(SLOT + 30 * MINUTE + 5);
  await stage.until(id, [['12:30:00', 'started']]);
  await hasRuns(automationId, 1);
});

test('a slot that a change keeps fires once, with the changed fields', async () => {
  const { id: automationId } = await stage.automation();
  const { id } = await stage.create({ automationId, cron: '0 * * * *', input: input({ n: 1 }) });
  await stage.goTo(SLOT - 1_000);
  await stage.update(id, { input: input({ n: 2 }), cron: '0,30 * * * *' });
  await stage.goTo(SLOT + 5);
  await stage.until(id, [['12:00:00', 'started']]);
  expect((await hasRuns(automationId, 1))[0]?.input).toEqual({ input: { n: 2 } });
});

test('the schedule has the rights of the person who last changed its timing', async () => {
  const { id: automationId } = await stage.automation();
  const { id } = await stage.create({ automationId, cron: '0 * * * *' });
  const admin = stage.person('Admin', WorkspaceRole.ADMIN);
  expect((await stage.update(id, { name: 'Other' }, admin)).actsAs?.id).toBe(stage.owner.userId);
  expect((await stage.update(id, { cron: '5 * * * *' }, admin)).actsAs?.id).toBe(admin.userId);
  await expect(stage.update(id, { name: 'Mine' }, stage.person('Editor'))).rejects.toMatchObject({
    reason: 'insufficient_role',
  });
});

describe('the creator of a schedule that has the rights of somebody else', () => {
  const created = async (creator: Caller, target: { automationId?: string; agentId?: string }) => {
    const made = await stage.create(
      { ...target, workspaceId: stage.workspaceId, cron: '0 * * * *', input: TEXT },
      creator,
    );
    const admin = stage.person('Admin', WorkspaceRole.ADMIN);
    expect((await stage.update(made.id, { cron: '5 * * * *' }, admin)).actsAs?.id).toBe(admin.userId);
    return { id: made.id, admin };
  };
  const TEXT = input({ text: 'Hello' });

  test('changes and starts it only as long as they are an editor, if it starts an automation', async () => {
    const creator = stage.person('Creator');
    const { id: automationId } = await stage.automation();
    const { id, admin } = await created(creator, { automationId });
    await stage.update(id, { name: 'Mine' }, creator);
    stage.members.set(creator.userId, WorkspaceRole.VIEWER);
    await stage.announce('tenancy', 'workspace_member.updated', stage.workspaceId);
    const refused = { reason: 'insufficient_role' };
    await eventually(() => expect(stage.update(id, { name: 'Other' }, creator)).rejects.toMatchObject(refused));
    for (const change of [{ triggerNow: true }, { isActive: false }, { overlap: ScheduleOverlap.ALLOW }]) {
      await expect(stage.update(id, change, creator)).rejects.toMatchObject(refused);
    }
    const removal = stage.client.deleteSchedule({ scheduleId: id }, await stage.stage.as(creator));
    await expect(removal).rejects.toMatchObject(refused);
    await hasRuns(automationId, 0);
    await stage.update(id, { triggerNow: true }, admin);
    await hasRuns(automationId, 1);
  });

  test('starts it only as long as they may use the agent, if it starts one, and may still pause it', async () => {
    const creator = stage.person('Creator');
    const { id, admin } = await created(creator, { agentId: stage.agentId });
    await stage.update(id, { triggerNow: true }, creator);
    await eventually(async () => expect(stage.startRequests).toHaveLength(1));
    stage.unusable.add(creator.userId);
    await stage.update(id, { isActive: false }, creator);
    for (const change of [{ triggerNow: true }, { isActive: true }]) {
      await expect(stage.update(id, change, creator)).rejects.toMatchObject({
        reason: 'not_found',
        param: 'target.id',
      });
    }
    await stage.update(id, { isActive: true }, admin);
  });
});

test('runs at once on request, independently of its slots', async () => {
  const { id: automationId } = await stage.automation();
  const { id, version } = await stage.create({ automationId, cron: '0 * * * *', maxRuns: 1 });
  expect(await stage.update(id, { triggerNow: true })).toMatchObject({ version, runCount: 0 });
  await eventually(async () => expect((await stage.outcomes(id)).map(([, outcome]) => outcome)).toEqual(['manual']));
  const [run] = await hasRuns(automationId, 1);
  await stage.endRun(run as never);
  await stage.goTo(SLOT + 5);
  await eventually(async () => expect((await stage.get(id)).status).toBe(ScheduleStatus.COMPLETED));
  await hasRuns(automationId, 2);
  await expect(stage.update(id, { name: 'Again' })).rejects.toMatchObject({ reason: 'schedule_completed' });
});

test('a single time completes the schedule', async () => {
  const { id: automationId } = await stage.automation();
  const { id } = await stage.create({ automationId, runAt: at(SLOT) });
  await stage.goTo(SLOT + 5);
  await eventually(async () => expect((await stage.get(id)).status).toBe(ScheduleStatus.COMPLETED));
  await stage.until(id, [['12:00:00', 'started']]);
  // One that was missed is caught up, too.
  const missed = await stage.create({ automationId, runAt: at(SLOT + 20 * MINUTE) });
  await stage.goTo(SLOT + 50 * MINUTE);
  await stage.until(missed.id, [['12:20:00', 'started']]);
  await eventually(async () => expect((await stage.get(missed.id)).status).toBe(ScheduleStatus.COMPLETED));
});

test('a schedule whose last slot was missed is completed', async () => {
  const { id: automationId } = await stage.automation();
  const catchup = ScheduleCatchup.NONE;
  const written = await stage.create({ automationId, runAt: at(SLOT), catchup });
  const single = await stage.create({ automationId, runAt: at(SLOT + 20 * MINUTE), catchup });
  const last = await stage.create({
    ...{ automationId, intervalSeconds: 3600, startAt: at(SLOT), endAt: at(SLOT + 61 * MINUTE), catchup },
  });
  await stage.goTo(SLOT - 3 * MINUTE);
  await eventually(async () => expect(await stage.firesOf(written.id)).toHaveLength(1));
  await stage.goTo(SLOT + 90 * MINUTE);
  for (const [{ id }, missedCount] of [
    [written, 1],
    [single, 1],
    [last, 2],
  ] as const) {
    await eventually(async () =>
      expect(await stage.get(id)).toMatchObject({ status: ScheduleStatus.COMPLETED, missedCount }),
    );
  }
  await hasRuns(automationId, 0);
});

test('active schedules without further slots, which earlier versions have left, are completed', async () => {
  const { id: automationId } = await stage.automation();
  const { id } = await stage.create({ automationId, runAt: at(SLOT), catchup: ScheduleCatchup.NONE });
  const next = await stage.create({ automationId, runAt: at(SLOT + 92 * MINUTE) });
  await stage.goTo(SLOT + 90 * MINUTE);
  await eventually(async () => expect((await stage.get(id)).status).toBe(ScheduleStatus.COMPLETED));
  await eventually(async () => expect((await stage.states.get(next.id))?.planAt).toBeUndefined());
  const work = stage.store.begin();
  const schedule = await work.get(stage.schedules, id);
  if (schedule !== undefined) work.replace(stage.schedules, schedule, { ...schedule, status: 'active' });
  const marker = await work.get(stage.zones, 'over');
  if (marker !== undefined) work.remove(stage.zones, marker);
  await work.commit();
  await planSchedulesThatAreOver({ ...stage, tzVersion: '1' }, stage.zones);
  await eventually(async () => expect((await stage.get(id)).status).toBe(ScheduleStatus.COMPLETED));
  expect((await stage.get(next.id)).status).toBe(ScheduleStatus.ACTIVE);
});

test('a single time that passes while the schedule is paused is recorded as missed', async () => {
  const { id: automationId } = await stage.automation();
  const { id } = await stage.create({ automationId, runAt: at(SLOT) });
  const kept = await stage.create({ automationId, runAt: at(SLOT) });
  const archived = await stage.create({ automationId, runAt: at(SLOT + MINUTE) });
  await stage.update(id, { isActive: false });
  await stage.update(kept.id, { isActive: false });
  expect((await stage.update(kept.id, { isActive: true })).nextRunAt).toBe(at(SLOT));
  await stage.announce('tenancy', 'workspace.archived', stage.workspaceId);
  await eventually(async () => expect((await stage.get(kept.id)).pausedReason).toBe('workspace_archived'));
  await eventually(async () => expect((await stage.get(archived.id)).pausedReason).toBe('workspace_archived'));
  await stage.goTo(SLOT + 10 * MINUTE);
  expect(await stage.update(id, { isActive: true })).toMatchObject({
    ...{ status: ScheduleStatus.COMPLETED, missedCount: 1 },
  });
  await stage.announce('tenancy', 'workspace.unarchived', stage.workspaceId);
  for (const one of [{ id }, kept, archived]) {
    await eventually(async () => expect((await stage.get(one.id)).status).toBe(ScheduleStatus.COMPLETED));
    expect((await stage.get(one.id)).fires).toMatchObject([
      { outcome: FireOutcome.MISSED, reason: 'the schedule was paused' },
    ]);
  }
  await hasRuns(automationId, 0);
});

test('consecutive failures pause it, and activating it resumes from then on', async () => {
  const { id: automationId } = await stage.automation();
  const { id } = await stage.create({ automationId, intervalSeconds: 3600, startAt: at(SLOT), pauseAfterFailures: 2 });
  for (const hour of [0, 1]) {
    await stage.goTo(SLOT + hour * 60 * MINUTE + 5);
    const runs = await hasRuns(automationId, hour + 1);
    await stage.endRun(runs.at(-1) as never, 'failed');
    await eventually(async () => expect((await stage.get(id)).consecutiveFailures).toBe(hour + 1));
  }
  expect(await stage.get(id)).toMatchObject({ status: ScheduleStatus.PAUSED, pausedReason: 'failures', nextRuns: [] });
  await stage.goTo(SLOT + 5 * 60 * MINUTE + 5);
  const active = await stage.update(id, { isActive: true });
  expect(active).toMatchObject({ status: ScheduleStatus.ACTIVE, consecutiveFailures: 0 });
  expect(active.nextRunAt).toBe(at(SLOT + 6 * 60 * MINUTE));
  expect(await stage.outcomes(id)).toHaveLength(2);
});

test('archiving a workspace pauses its schedules until it is unarchived', async () => {
  const { id: automationId } = await stage.automation();
  const { id } = await stage.create({ automationId, cron: '0 * * * *' });
  const { id: mine } = await stage.create({ automationId, cron: '0 * * * *', isActive: false });
  stage.place.archived = true;
  await stage.announce('tenancy', 'workspace.archived', stage.workspaceId);
  await eventually(async () => expect((await stage.get(id)).pausedReason).toBe('workspace_archived'));
  await expect(stage.update(id, { isActive: true })).rejects.toMatchObject({ reason: 'workspace_archived' });
  const deletion = stage.client.deleteSchedule({ scheduleId: id }, await stage.stage.as(stage.owner));
  await expect(deletion).rejects.toMatchObject({ reason: 'workspace_archived' });
  stage.place.archived = false;
  await stage.announce('tenancy', 'workspace.unarchived', stage.workspaceId);
  await eventually(async () => expect((await stage.get(id)).status).toBe(ScheduleStatus.ACTIVE));
  expect(await stage.get(mine)).toMatchObject({ status: ScheduleStatus.PAUSED, pausedReason: 'person' });
});

test('a person without access ends it with an error, and a deleted automation pauses it', async () => {
  const { id: automationId } = await stage.automation();
  const leaver = stage.person('Leaver');
  const lost = await stage.create({ automationId, cron: '0 * * * *' }, leaver);
  const gone = await stage.automation();
  const { id } = await stage.create({ automationId: gone.id, cron: '0 * * * *' });
  stage.members.delete(leaver.userId);
  await stage.announce('tenancy', 'workspace_member.removed', stage.workspaceId);
  await eventually(() => expect(stage.get(lost.id, leaver)).rejects.toMatchObject({ reason: 'not_found' }));
  const work = stage.store.begin();
  work.remove(stage.automations, gone);
  await work.commit();
  await stage.goTo(SLOT + 5);
  await eventually(async () => {
    expect(await stage.get(lost.id)).toMatchObject({ status: ScheduleStatus.ERROR, error: 'access_lost' });
    expect(await stage.get(id)).toMatchObject({ status: ScheduleStatus.PAUSED, pausedReason: 'automation_deleted' });
  });
  expect(await stage.outcomes(lost.id)).toEqual([['12:00:00', 'failed_to_start']]);
  const refused = { reason: 'not_found', param: 'automation_id' };
  await expect(stage.update(id, { isActive: true })).rejects.toMatchObject(refused);
  const { id: other } = await stage.automation();
  const again = await stage.update(id, { automationId: other, isActive: true });
  expect(again).toMatchObject({ status: ScheduleStatus.ACTIVE, automationId: other });
});

test('the slots of an Org whose deletion is scheduled count as missed once it is restored', async () => {
  const { id: automationId } = await stage.automation();
  const kept = { automationId, cron: '0 * * * *', catchupWindowSeconds: 86_400, overlap: ScheduleOverlap.ALLOW };
  const { id: all } = await stage.create({ ...kept, catchup: ScheduleCatchup.ALL });
  const { id: none } = await stage.create({ ...kept, catchup: ScheduleCatchup.NONE });
  const { version } = await stage.get(all);
  await stage.goTo(SLOT - MINUTE);
  await eventually(async () => expect(await stage.firesOf(all)).toHaveLength(1));
  stage.place.hidden = true;
  await stage.announce('tenancy', 'org.deleted', stage.orgId, { orgId: stage.orgId });
  await stage.goTo(SLOT + 1_000);
  // The due fires have been looked at, and put off.
  const putOff = async () => {
    const due = [...(await stage.firesOf(all)), ...(await stage.firesOf(none))].map(({ dueAt = '' }) => dueAt);
    for (const one of due) expect(one > at(SLOT + MINUTE)).toBe(true);
  };
  await eventually(putOff);
  await stage.goTo(SLOT + 2 * 60 * MINUTE + 10 * MINUTE);
  await stage.nudge();
  stage.place.hidden = false;
  await stage.announce('tenancy', 'org.restored', stage.orgId, { orgId: stage.orgId });
  const slots = ['12:00:00', '13:00:00', '14:00:00'];
  for (const [id, outcome] of [
    [all, 'started'],
    [none, 'missed'],
  ] as const) {
    await stage.until(
      id,
      slots.map((slot) => [slot, outcome] as const),
    );
    expect(await stage.get(id)).toMatchObject({ status: ScheduleStatus.ACTIVE, consecutiveFailures: 0, version });
  }
  await hasRuns(automationId, 3);
});

test('a slot of a moment before its Org is restored fires at once', async () => {
  const { id: automationId } = await stage.automation();
  const { id } = await stage.create({ automationId, cron: '0 * * * *' });
  await stage.goTo(SLOT - MINUTE);
  await eventually(async () => expect(await stage.firesOf(id)).toHaveLength(1));
  stage.place.hidden = true;
  await stage.announce('tenancy', 'org.deleted', stage.orgId, { orgId: stage.orgId });
  await stage.goTo(SLOT + 1_000);
  await eventually(async () => expect((await stage.firesOf(id))[0]?.dueAt).toMatch(/T12:1/));
  stage.place.hidden = false;
  await stage.announce('tenancy', 'org.restored', stage.orgId, { orgId: stage.orgId });
  await stage.until(id, [['12:00:00', 'started']]);
});

test('the successor of a person who leaves the Org has their schedules, paused', async () => {
  const { id: automationId } = await stage.automation();
  const [leaver, heir, reader] = [
    ...[stage.person('Leaver'), stage.person('Heir')],
    stage.person('Reader', WorkspaceRole.VIEWER),
  ] as [Caller, Caller, Caller];
  const fields = { automationId, cron: '0 * * * *' };
  const [given, changed] = [await stage.create(fields, leaver), await stage.create(fields, leaver)];
  const [resumed, triggered] = [await stage.create(fields, leaver), await stage.create(fields, leaver)];
  const others = await stage.create(fields);
  const admin = stage.person('Admin', WorkspaceRole.ADMIN);
  await stage.update(changed.id, { cron: '30 * * * *' }, admin);
  const leave = (to: string) =>
    stage.announce('tenancy', 'org_member.removed', stage.orgId, {
      ...{ orgId: stage.orgId, userId: leaver.userId, transferToUserId: to },
    });
  const handled = () => eventually(async () => expect(await lagOf('automations.schedule-leavers')).toBe(0));
  const lagOf = (consumer: string) => stage.stage.own.bus.lag(consumer);
  await leave(heir.userId);
  await handled();
  expect(await stage.get(given.id)).toMatchObject({ createdBy: { id: leaver.userId }, version: given.version });
  stage.members.delete(leaver.userId);
  await leave(reader.userId);
  await handled();
  expect(await stage.get(given.id)).toMatchObject({ createdBy: { id: leaver.userId }, version: given.version });
  await leave(heir.userId);
  await handled();
  const by = { id: heir.userId, name: 'Heir' };
  const paused = { status: ScheduleStatus.PAUSED, pausedReason: 'person_left' };
  expect(await stage.get(given.id)).toMatchObject({ createdBy: by, actsAs: by, ...paused });
  const { owner } = stage;
  const acts = { actsAs: { id: admin.userId }, status: ScheduleStatus.ACTIVE };
  expect(await stage.get(changed.id)).toMatchObject({ createdBy: by, ...acts });
  expect(await stage.get(others.id)).toMatchObject({ createdBy: { id: owner.userId }, version: others.version });
  const again = await stage.update(given.id, { isActive: true }, heir);
  expect(again).toMatchObject({ status: ScheduleStatus.ACTIVE, actsAs: by });
  // Nothing starts in the name of the successor who has not looked at it: whoever starts it lends their own rights.
  expect(await stage.update(resumed.id, { isActive: true }, admin)).toMatchObject(acts);
  expect(await stage.update(triggered.id, { triggerNow: true }, admin)).toMatchObject({
    ...paused,
    actsAs: acts.actsAs,
  });
});

test('a successor has the schedules that have failed without the person before', async () => {
  const { id: automationId } = await stage.automation();
  const [leaver, heir] = [stage.person('Leaver'), stage.person('Heir')];
  const { id } = await stage.create({ automationId, cron: '0 * * * *' }, leaver);
  stage.members.delete(leaver.userId);
  await stage.announce('tenancy', 'workspace_member.removed', stage.workspaceId);
  await eventually(() => expect(stage.get(id, leaver)).rejects.toMatchObject({ reason: 'not_found' }));
  await stage.goTo(SLOT + 1_000);
  await eventually(async () => expect((await stage.get(id)).status).toBe(ScheduleStatus.ERROR));
  const left = { orgId: stage.orgId, userId: leaver.userId, transferToUserId: heir.userId };
  await stage.announce('tenancy', 'org_member.removed', stage.orgId, left);
  await eventually(async () => {
    const found = await stage.get(id);
    expect(found).toMatchObject({ status: ScheduleStatus.PAUSED, pausedReason: 'person_left', error: undefined });
    expect(found.actsAs?.id).toBe(heir.userId);
  });
});

test('deleting an automation pauses its schedules', async () => {
  const { id: automationId } = await stage.automation();
  const { id } = await stage.create({ automationId, cron: '0 * * * *' });
  await stage.announce('automations', 'automation.deleted', automationId);
  await eventually(async () => expect((await stage.get(id)).pausedReason).toBe('automation_deleted'));
});

test('deleting an agent deletes its schedules', async () => {
  const { agentId, workspaceId } = stage;
  const { id } = await stage.create({ agentId, workspaceId, cron: '0 * * * *', input: input('Sum up.') });
  await stage.announce('agents', 'agent.deleted', agentId);
  await eventually(async () => expect(await stage.schedules.get(id)).toBeUndefined());
  expect(await stage.firesOf(id)).toEqual([]);
});

test('a schedule that gets an agent whose schedules were already looked up ends with it', async () => {
  const { agentId, workspaceId } = stage;
  const fields = { agentId, workspaceId, cron: '0 0 1 1 *', input: input('Sum up.') };
  const { id: automationId } = await stage.automation();
  const { id: changed } = await stage.create({ automationId, cron: '0 0 1 1 *' });
  const { id: before } = await stage.create(fields);
  await stage.announce('agents', 'agent.deleted', agentId);
  await eventually(async () => expect(await stage.schedules.get(before)).toBeUndefined());

  // These have read the agent before it was deleted.
  const late = [(await stage.create(fields)).id, (await stage.create({ ...fields, isActive: false })).id, changed];
  await stage.update(changed, { agentId, input: input('Sum up.') });
  await eventually(async () => expect(await stage.schedules.getMany(late)).toEqual([]));
  expect(await stage.states.getMany(late)).toEqual([]);
});

/** Makes an hourly schedule of the agent. */
async function agentSchedule(more: object = {}) {
  const { agentId, workspaceId } = stage;
  return stage.create({ agentId, workspaceId, cron: '0 * * * *', input: input('Sum up.'), ...more });
}

test('a fire waits for an unavailable service, and a permanent error ends it', async () => {
  const { id } = await agentSchedule();
  const away = new AppError('UNAVAILABLE', 'unavailable', 'The agents service is away.');
  const broken = new AppError('INVALID_ARGUMENT', 'invalid_value', 'The agents service refuses the request.');
  let error = away;
  stage.answer(() => {
    throw error;
  });
  const failsOnce = async () => {
    const before = stage.startRequests.length;
    await stage.goTo(stage.now() + 40_000);
    await eventually(async () => {
      expect(stage.startRequests.length).toBeGreaterThan(before);
      const [fire] = await stage.fires.find({ where: { scheduleId: id, startedAt: { exists: true } }, limit: 1 });
      expect(fire?.lease?.holder ?? '').toBe('');
    });
  };
  await stage.goTo(SLOT + 3);
  await eventually(() => expect(stage.startRequests.length).toBeGreaterThan(0));
  for (let tries = 0; tries < 15; tries++) await failsOnce();
  expect(await stage.outcomes(id)).toEqual([['12:00:00', 'started']]);
  error = broken;
  for (let tries = 0; tries < 12; tries++) await failsOnce();
  await stage.until(id, [['12:00:00', 'failed_to_start']]);
  expect((await stage.get(id)).fires[0]).toMatchObject({ reason: 'internal_error' });
  expect((await stage.get(id)).consecutiveFailures).toBe(1);
});

test('fires of others start while hundreds of one schedule wait', async () => {
  const stuck = await agentSchedule({ overlap: ScheduleOverlap.ALLOW });
  const other = await agentSchedule();
  await stage.goTo(SLOT - 3 * MINUTE);
  const fire = await eventually(async () => {
    const [written] = await stage.firesOf(stuck.id);
    expect(written).toBeDefined();
    return written;
  });
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  stage.answer(async ({ scheduleId }) => {
    if (scheduleId === stuck.id) await released;
    return { refusalCode: '', refusal: '' };
  });
  const work = stage.store.begin();
  for (let at = 0; at < 250; at++) {
    const { agentId, owner } = stage;
    const actsAs = { userId: owner.userId, userName: 'Owner', credentialId: 'session', scopes: [] };
    const launch = { agentId, actsAs, input: { text: 'Sum up.', attachments: [], parameters: {} } };
    const dueAt = new Date(SLOT - MINUTE + at).toISOString();
    const id = `stuck-${at}`;
    const fields = { id, state: 'starting', dueAt, scheduledFor: dueAt, launch, runId: id };
    work.insert(stage.fires, { ...fire, ...fields } as never);
  }
  await work.commit();
  await stage.goTo(SLOT + 3);
  await stage.until(other.id, [['12:00:00', 'started']]);
  await eventually(() => expect(stage.startRequests.map(({ scheduleId }) => scheduleId)).toContain(other.id));
  release();
});

test('a new time zone database recomputes the fires written ahead', async () => {
  const { id: automationId } = await stage.automation();
  await stage.goTo(SLOT - 4 * MINUTE);
  const { id } = await stage.create({ automationId, cron: '0 * * * *' });
  const [fire] = await stage.firesOf(id);
  const work = stage.store.begin();
  const state = await work.get(stage.states, id);
  // Simulates an earlier time zone database that placed the slot a minute earlier.
  const earlier = at(SLOT - MINUTE);
  work.remove(stage.fires, fire as never);
  work.insert(stage.fires, {
    ...fire,
    id: 'of-before',
    scheduledFor: earlier,
    startsAt: earlier,
    dueAt: earlier,
  } as never);
  work.replace(stage.states, state as never, { ...state, tzVersion: 'before', planAt: at(stage.now()) } as never);
  await work.commit();
  await eventually(async () => {
    expect((await stage.firesOf(id)).map(({ scheduledFor }) => scheduledFor)).toEqual([at(SLOT)]);
  });
});

test.each([
  [{ cron: '? * * * *' }, 'cron', 'invalid_cron'],
  [{ cron: '0 0 15W * *' }, 'cron', 'invalid_cron'],
  [{ cron: '0 0 * * +1' }, 'cron', 'invalid_cron'],
  [{ cron: '@reboot' }, 'cron', 'invalid_cron'],
  [{ cron: '0 0 0 * * *' }, 'cron', 'invalid_cron'],
  [{ cron: '0 0 31 2 *' }, 'cron', 'invalid_cron'],
  [{ cron: '61 * * * *' }, 'cron', 'invalid_cron'],
  [{ cron: '0 0 * * *', timezone: 'Mars/Olympus' }, 'timezone', 'invalid_timezone'],
  [{ cron: '0 0 * * *', timezone: '+02:00' }, 'timezone', 'invalid_timezone'],
  [{ runAt: at(SLOT - 60 * MINUTE) }, 'run_at', 'invalid_value'],
  [{ cron: '0 0 * * *', endAt: at(SLOT) }, 'end_at', 'invalid_value'],
  [{ cron: '0 0 * * *', startAt: at(SLOT), endAt: at(SLOT) }, 'end_at', 'invalid_value'],
  [
    { cron: '0 0 * * *', deliverTo: { type: 'DELIVERY_TARGET_TYPE_CHAT_SESSION', id: 'x' } },
    'deliver_to',
    'invalid_value',
  ],
  [{}, 'cron', 'missing_field'],
  [{ cron: '0 0 * * *', intervalSeconds: 60 }, 'interval_seconds', 'ambiguous_target'],
  [{ cron: '0 0 * * *', runAt: at(SLOT + 60 * MINUTE) }, 'run_at', 'ambiguous_target'],
  [{ cron: '0 0 * * *', agentId: '00000000-0000-4000-8000-000000000001' }, 'automation_id', 'conflicting_alias'],
])('refuses %j', async (fields, param, code) => {
  const { id: automationId } = await stage.automation();
  await expect(stage.create({ automationId, ...fields })).rejects.toMatchObject({ reason: code, param });
});

test('what is wrong with a pattern is one sentence', async () => {
  const { id: automationId } = await stage.automation();
  const message = expect.stringMatching(/^cron cannot be read: .*[^.]\.$/);
  await expect(stage.create({ automationId, cron: '5/15 * * * *' })).rejects.toMatchObject({ message });
});

test.each([
  ['60 * * * *', 'a minute'],
  ['0 24 * * *', 'an hour'],
  ['0 0 32 * *', 'a day of the month'],
  ['0 0 * 13 *', 'a month'],
  ['0 0 * * 8', 'a day of the week'],
])('%s has a value that is not %s', (pattern, value) => {
  expect(cronFault(pattern, 'UTC', Date.now())).toBe(`has a value that is not ${value}.`);
});

test('a change has at most one kind of timing and one target', async () => {
  const { id: automationId } = await stage.automation();
  const { id } = await stage.create({ automationId, cron: '0 * * * *' });
  const both = { cron: '30 * * * *', intervalSeconds: 600 };
  await expect(stage.update(id, both)).rejects.toMatchObject({ reason: 'ambiguous_target', param: 'interval_seconds' });
  const target = { type: ScheduleTargetType.AGENT, id: automationId };
  await expect(stage.update(id, { target, automationId })).rejects.toMatchObject({ reason: 'conflicting_alias' });
  const same = { type: ScheduleTargetType.AUTOMATION, id: automationId };
  expect((await stage.update(id, { target: same, automationId })).automationId).toBe(automationId);
});

test('null is accepted for the kinds of timing and target that a schedule does not have', async () => {
  const { id: automationId } = await stage.automation();
  const { id, version } = await stage.create({ automationId, cron: '0 * * * *' });
  const admin = stage.person('Admin', WorkspaceRole.ADMIN);
  const empty = ['interval_seconds', 'run_at', 'agent_id'];
  expect(await stage.update(id, {}, admin, empty)).toMatchObject({ version, actsAs: { id: stage.owner.userId } });
  const echo = { automationId, cron: '0 * * * *' };
  expect(await stage.update(id, echo, undefined, ['cron', 'automation_id', ...empty])).toMatchObject(echo);
  const other = await stage.update(id, { intervalSeconds: 600 }, undefined, ['cron', 'interval_seconds']);
  expect([other.cron, other.intervalSeconds]).toEqual([undefined, 600]);
  for (const param of ['interval_seconds', 'automation_id']) {
    await expect(stage.update(id, {}, undefined, [param])).rejects.toMatchObject({ reason: 'missing_field', param });
  }
});

test('an agent runs at most every five minutes', async () => {
  const { agentId, workspaceId } = stage;
  const fields = { agentId, workspaceId, input: input('Sum up.') };
  await expect(stage.create({ ...fields, cron: '*/4 * * * *' })).rejects.toMatchObject({ reason: 'invalid_cron' });
  await expect(stage.create({ ...fields, intervalSeconds: 299 })).rejects.toMatchObject({ param: 'interval_seconds' });
  await stage.create({ ...fields, cron: '*/5 * * * *' });
  await expect(stage.create({ agentId, workspaceId, cron: '*/5 * * * *' })).rejects.toMatchObject({
    reason: 'missing_field',
  });
});

test('a conversation for the results must be one of the caller', async () => {
  const { owner, conversations } = stage;
  const type = DeliveryTargetType.IM_CONVERSATION;
  const [mine, other] = [newId(), newId()];
  conversations.add(`${owner.userId}:${mine}`);
  const unseen = { reason: 'not_found', param: 'deliver_to.id' };
  await expect(agentSchedule({ deliverTo: { type, id: other } })).rejects.toMatchObject(unseen);
  const { id } = await agentSchedule({ deliverTo: { type, id: mine } });
  await expect(stage.update(id, { deliverTo: { type, id: other } })).rejects.toMatchObject(unseen);
  conversations.clear();
  expect((await stage.update(id, { name: 'Other' })).deliverTo?.id).toBe(mine);
});

test('a conversation for the results must be within the credential', async () => {
  const { owner, conversations, conversationPlaces, agentId, workspaceId, orgId } = stage;
  const [here, elsewhere, ofOrg, ofOther] = [newId(), newId(), newId(), newId()];
  for (const id of [here, elsewhere, ofOrg, ofOther]) conversations.add(`${owner.userId}:${id}`);
  conversationPlaces.set(elsewhere, { workspaceId: newId(), orgId });
  conversationPlaces.set(ofOrg, { workspaceId: '', orgId });
  conversationPlaces.set(ofOther, { workspaceId: '', orgId: newId() });
  const fields = (id: string) => ({
    ...{ agentId, workspaceId, cron: '0 0 * * *', input: input('Sum up.') },
    deliverTo: { type: DeliveryTargetType.IM_CONVERSATION, id },
  });
  const key = { ...owner, tenant: { orgId } };
  const limited = { ...key, credential: { ...owner.credential, workspaceIds: [workspaceId] } };
  const beyond = { reason: 'tenant_boundary' };
  for (const id of [elsewhere, ofOrg, ofOther]) {
    await expect(stage.create(fields(id), limited)).rejects.toMatchObject(beyond);
  }
  await expect(stage.create(fields(ofOther), key)).rejects.toMatchObject(beyond);
  const { id } = await stage.create(fields(here), limited);
  await expect(stage.update(id, { deliverTo: fields(ofOrg).deliverTo }, limited)).rejects.toMatchObject(beyond);
  for (const one of [elsewhere, ofOrg]) await stage.create(fields(one), key);
});

test('a chat session for the results must be one of the caller', async () => {
  const { owner, sessions } = stage;
  const type = DeliveryTargetType.CHAT_SESSION;
  const [mine, other] = [newId(), newId()];
  sessions.add(`${owner.userId}:${mine}`);
  const unseen = { reason: 'not_found', param: 'deliver_to.id' };
  await expect(agentSchedule({ deliverTo: { type, id: other } })).rejects.toMatchObject(unseen);
  const { id } = await agentSchedule({ deliverTo: { type, id: mine } });
  await expect(stage.update(id, { deliverTo: { type, id: other } })).rejects.toMatchObject(unseen);
});

test.each([
  [DeliveryTargetType.CHAT_SESSION, 'chat_session:write'],
  [DeliveryTargetType.IM_CONVERSATION, 'im:write'],
])('a place for the results (%s) needs the scope %s', async (type, scope) => {
  const { owner } = stage;
  const scopes = owner.credential.scopes.filter((one) => one !== scope);
  const by = { ...owner, credential: { ...owner.credential, scopes } };
  const { agentId, workspaceId } = stage;
  const fields = { agentId, workspaceId, cron: '0 0 * * *', input: input('Sum up.'), deliverTo: { type, id: newId() } };
  await expect(stage.create(fields, by)).rejects.toMatchObject({ reason: 'insufficient_scope', param: 'deliver_to' });
});

test('attachments of an input must be readable for the caller', async () => {
  const [known, unknown] = [newId(), newId()];
  stage.readable.add(known);
  const attached = (...attachments: string[]) => ({ input: input({ text: 'Sum up.', attachments }) });
  const unseen = { reason: 'not_found', param: 'input.attachments[1]' };
  await expect(agentSchedule(attached(known, unknown))).rejects.toMatchObject(unseen);
  const { id } = await agentSchedule(attached(known));
  await expect(stage.update(id, attached(known, unknown))).rejects.toMatchObject(unseen);
  stage.readable.clear();
  expect((await stage.update(id, { name: 'Other' })).name).toBe('Other');
});

test('a conflict of versions names who has changed the schedule last', async () => {
  const { id: automationId } = await stage.automation();
  const { id } = await stage.create({ automationId, cron: '0 * * * *' });
  const conflict = async () => {
    const options = await stage.stage.as(stage.owner, { baseVersion: 99 });
    const request = UpdateScheduleRequest.fromPartial({ scheduleId: id, updateMask: ['name'], name: 'x' });
    const error = await stage.client.updateSchedule(request, options).catch((thrown: AppError) => thrown);
    return (error as AppError).details;
  };
  expect(await conflict()).toMatchObject({ current_version: 1, updated_by: { id: stage.owner.userId } });
  const admin = stage.person('Admin', WorkspaceRole.ADMIN);
  await stage.update(id, { name: 'Other' }, admin);
  expect(await conflict()).toMatchObject({ updated_by: { type: 'user', id: admin.userId } });
  await stage.announce('tenancy', 'workspace.archived', stage.workspaceId);
  await eventually(async () => expect((await stage.get(id)).pausedReason).toBe('workspace_archived'));
  expect(await conflict()).toMatchObject({ updated_by: { type: 'system', id: 'automations' } });
});

test('lists are sorted, and limited to a creator and to times', async () => {
  const { id: automationId } = await stage.automation();
  const mate = stage.person('Mate');
  const { id: first, createdAt } = await stage.create({ automationId, cron: '0 * * * *' });
  await stage.goTo(SLOT - 300_000);
  const { id: second } = await stage.create({ automationId, cron: '0 * * * *' }, mate);
  const listed = async (fields: object) => {
    const request = { ...ListSchedulesRequest.fromPartial(fields), page: { limit: 50, offset: 0, cursor: '' } };
    return (await stage.client.listSchedules(request, await stage.stage.as(stage.owner))).items.map(({ id }) => id);
  };
  expect(await listed({ createdBy: mate.userId })).toEqual([second]);
  expect([await listed({ sort: 'created_at' }), await listed({ sort: '-created_at' })]).toEqual([
    [first, second],
    [second, first],
  ]);
  expect(await listed({ createdAfter: createdAt })).toEqual([second]);
  expect(await listed({ createdBefore: at(SLOT - 400_000) })).toEqual([first]);
  await stage.update(first, { name: 'Other' });
  await stage.update(second, { name: 'ｏｔｈｅｒ ２' }, mate);
  expect([await listed({}), await listed({ sort: '-name' })]).toEqual([
    [first, second],
    [second, first],
  ]);
  expect(await listed({ updatedAfter: at(SLOT - 400_000), createdBy: stage.owner.userId })).toEqual([first]);
  expect(await listed({ updatedBefore: at(SLOT - 400_000) })).toEqual([]);
});

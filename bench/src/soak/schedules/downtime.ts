import { setTimeout as sleep } from 'node:timers/promises';
import type { Tally } from '../tally.js';
import type { Fire, Place } from './place.js';

const PERIOD_MS = 60_000;
/** Milliseconds for creating the schedules and starting all processes before the first slot. */
const LEAD_MS = 20_000;
/** Number of slots during which no process is running. */
const DOWN_SLOTS = 5;
/** Milliseconds after which a slot certainly counts as missed. The limit is 30 seconds. */
const LATE_MS = 31_000;
const TIMEOUT_MS = 90_000;

const RULES = {
  NONE: ['missed', 'missed', 'missed', 'missed', 'missed'],
  LATEST: ['coalesced', 'coalesced', 'coalesced', 'coalesced', 'started'],
  ALL: ['started', 'started', 'started', 'started', 'started'],
} as const;
type Rule = keyof typeof RULES;

/**
 * Kills every process with SIGKILL and starts them again five slots later. Checks that missed slots follow the catch-up
 * rule of each schedule, in order, and that each slot has one record.
 */
export async function soakDowntime(place: Place, tally: Tally): Promise<void> {
  const first = Date.now() + LEAD_MS * place.replicas;
  const schedules = (Object.keys(RULES) as Rule[]).map((rule) => ({
    ...{ name: rule, intervalSeconds: PERIOD_MS / 1000, startAt: new Date(first).toISOString() },
    catchup: `SCHEDULE_CATCHUP_${rule}`,
  }));
  const before = [await place.start(0, { schedules })];
  while (before.length < place.replicas) before.push(await place.start(before.length));
  const ids = await place.scheduleIds();
  await until(async () => (await firesAt(place, [first])).every(({ outcome }) => outcome === 'started'));
  // A slot that is caught up would be skipped while the previous run is still in progress.
  await until(async () => (await place.liveRuns()) === 0);
  await Promise.all(before.map((one) => one.kill()));

  const missed = Array.from({ length: DOWN_SLOTS }, (_, i) => first + (i + 1) * PERIOD_MS);
  const aheadMs = first + DOWN_SLOTS * PERIOD_MS + LATE_MS - Date.now();
  await Promise.all(before.map((_, at) => place.start(at, { aheadMs })));
  await until(async () => (await firesAt(place, missed)).every(({ outcome }) => isFinal(outcome)));

  const fires = await firesAt(place, [first, ...missed]);
  const runIds = new Set(await place.runIds());
  for (const [rule, outcomes] of Object.entries(RULES)) {
    const own = fires
      .filter(({ scheduleId }) => scheduleId === ids.get(rule))
      .sort((a, b) => a.scheduledFor.localeCompare(b.scheduledFor));
    const found = own.map(({ outcome }) => outcome);
    const wanted = ['started', ...outcomes];
    tally.check(
      `${place.name}: five slots that were missed while all were killed, by the rule ${rule.toLowerCase()}`,
      String(found) === String(wanted) ? [] : [`${found} instead of ${wanted}`],
    );
    tally.check(
      `${place.name}: what is caught up runs once, oldest first (${rule.toLowerCase()})`,
      wrongRuns(own, runIds),
    );
  }
  console.log(`${place.name}: all killed for ${DOWN_SLOTS} slots, with each rule of catching up`);
}

const isFinal = (outcome: string | undefined): boolean => outcome !== undefined && outcome !== 'buffered';

/** Returns the fires of the given slots. */
async function firesAt(place: Place, slots: readonly number[]): Promise<Fire[]> {
  const times = new Set(slots.map((slot) => new Date(slot).toISOString()));
  const fires = (await place.fires()).filter(({ scheduledFor }) => times.has(new Date(scheduledFor).toISOString()));
  const wanted = slots.length * Object.keys(RULES).length;
  // A slot without a record counts as one without an outcome.
  const none = { scheduleId: '', scheduledFor: '' };
  return [...fires, ...Array.from({ length: Math.max(0, wanted - fires.length) }, () => none)];
}

function wrongRuns(fires: readonly Fire[], runIds: ReadonlySet<string>): string[] {
  const started = fires.filter(({ outcome }) => outcome === 'started');
  const without = started
    .filter(({ runId = '' }) => !runIds.has(runId))
    .map(({ scheduledFor }) => `${scheduledFor} has no run`);
  const times = started.map(({ startedAt = '' }) => startedAt);
  const isDoubled = new Set(started.map(({ runId }) => runId)).size !== started.length;
  const isSorted = times.every((time, i) => i === 0 || (times[i - 1] ?? '') <= time);
  return [...without, ...(isDoubled ? ['two slots share a run'] : []), ...(isSorted ? [] : [`started at ${times}`])];
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + TIMEOUT_MS; !(await isTrue()) && Date.now() < end; ) await sleep(200);
}

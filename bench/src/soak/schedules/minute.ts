import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Running } from '@commonplace/acceptance/dist/src/process.js';
import { PATIENCE } from '@commonplace/kit/testing/patience';
import type { Tally } from '../tally.js';
import type { Fire, Place } from './place.js';

const SCHEDULES = 1_000;
/** Milliseconds for creating the schedules before the first one is due. A slow machine needs more. */
const LEAD_MS = 90_000 * PATIENCE;
const MINUTE_MS = 60_000;
/** Range in milliseconds of the random pause between two kills. */
const PAUSE_MS = [2_000, 6_000] as const;
/** Milliseconds between two polls of all fires. */
const POLL_INTERVAL_MS = 2_000;
/** Milliseconds within which at least one more run has to start, until all have. */
const TIMEOUT_MS = 90_000 * PATIENCE;

/** Lets 1,000 schedules fall due within one minute while processes are killed one after another. */
export const soakMinute = (place: Place, tally: Tally): Promise<void> => fallDue(place, tally, true);

/** Lets 1,000 schedules fall due within one minute without kills, to measure their delay. */
export const soakQuietMinute = (place: Place, tally: Tally): Promise<void> => fallDue(place, tally, false);

/**
 * Lets 1,000 schedules fall due within one minute. Checks that each starts its automation once and has a record of it.
 */
async function fallDue(place: Place, tally: Tally, isKilled: boolean): Promise<void> {
  const from = Date.now() + LEAD_MS;
  const schedules = Array.from({ length: SCHEDULES }, (_, i) => ({
    ...{ name: `Schedule ${i}`, runAt: new Date(from + (i * MINUTE_MS) / SCHEDULES).toISOString() },
  }));
  const running = [await place.start(0, { schedules })];
  while (running.length < place.replicas) running.push(await place.start(running.length));
  if (Date.now() > from) throw new Error('The schedules were not created in time.');
  await sleep(from - Date.now());
  const kills = isKilled ? await killUntil(from + MINUTE_MS, running, place) : 0;
  await untilAllStarted(place);
  await Promise.all(running.map((one) => one.kill()));
  const fires = await place.fires();
  const runIds = await place.runIds();
  const name = `${place.name}, ${isKilled ? 'under kills' : 'left alone'}`;
  tally.check(`${name}: each schedule has one fire on record`, notOnce(fires.map(({ scheduleId }) => scheduleId)));
  tally.check(
    `${name}: each fire has started`,
    fires.filter(({ outcome }) => outcome !== 'started').map((one) => `${one.scheduleId}: ${one.outcome}`),
  );
  tally.check(`${name}: there is one run for each fire`, differences(fires, runIds));
  console.log(
    `${name}: ${kills} kills of ${place.replicas} processes; ${fires.length} fires, ${runIds.length} runs; ` +
      `lateness ${lateness(fires)}`,
  );
}

async function untilAllStarted(place: Place): Promise<void> {
  let started = -1;
  for (let until = 0; started < SCHEDULES; ) {
    const count = (await place.fires()).filter(({ startedAt }) => startedAt !== undefined).length;
    if (count > started) until = Date.now() + TIMEOUT_MS;
    else if (Date.now() > until) return;
    started = count;
    await sleep(POLL_INTERVAL_MS);
  }
}

/** Kills one process after another and restarts it. Returns the number of kills. */
async function killUntil(end: number, running: Running[], place: Place): Promise<number> {
  let kills = 0;
  for (; Date.now() < end; kills++) {
    await sleep(randomInt(...PAUSE_MS));
    const at = kills % running.length;
    await running[at]?.kill();
    running[at] = await place.start(at);
  }
  return kills;
}

function notOnce(scheduleIds: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const id of scheduleIds) counts.set(id, (counts.get(id) ?? 0) + 1);
  const doubled = [...counts].filter(([, count]) => count !== 1).map(([id, count]) => `${id} has ${count} fires`);
  return counts.size === SCHEDULES ? doubled : [...doubled, `${counts.size} of ${SCHEDULES} schedules have a fire`];
}

function differences(fires: readonly Fire[], runs: readonly string[]): string[] {
  const there = new Set(runs);
  const wanted = new Set(fires.map(({ runId }) => runId));
  return [
    ...fires.filter(({ runId = '' }) => !there.has(runId)).map(({ scheduleId }) => `${scheduleId} has no run`),
    ...runs.filter((id) => !wanted.has(id)).map((id) => `the run ${id} has no fire`),
  ];
}

function lateness(fires: readonly Fire[]): string {
  const sorted = fires.flatMap(({ lagMs }) => lagMs ?? []).sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, max ${at(1)} ms`;
}

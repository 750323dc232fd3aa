import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Running, startScript } from '@commonplace/acceptance/dist/src/process.js';
import { inherited } from '@commonplace/acceptance/dist/src/system.js';
import { newId } from '@commonplace/kit/id';
import { type Collection, MongoClient } from 'mongodb';
import { missingServers, startServers } from '../mesh/servers.js';
import type { Tally } from '../tally.js';

const REPLICA = fileURLToPath(new URL('./replica.js', import.meta.url));
const REPLICAS = 3;
const SCHEDULES = 1_000;
/** Time for creating the schedules before the first of them is due. */
const LEAD_MS = 90_000;
const MINUTE_MS = 60_000;
const START_MS = 120_000;
/** Milliseconds between two kills, at random. */
const PAUSE_MS = [2_000, 6_000] as const;
/** Time within which one more has to start, until all have. */
const PATIENCE_MS = 30_000;

interface Fire {
  readonly scheduleId: string;
  readonly outcome?: string;
  readonly runId?: string;
  readonly lagMs?: number;
}

/**
 * Has 1,000 schedules fall due within one minute on three processes of the service, which are killed one after the other, `rounds`
 * times. Each has to start its automation once, and to have a record of it.
 */
export async function soakSchedules(rounds: number, home: string, tally: Tally): Promise<void> {
  const missing = await missingServers();
  if (missing !== undefined) return tally.skip('schedules', missing);
  for (let round = 1; round <= rounds; round++) {
    console.log(`schedules ${round}/${rounds}: ${await runRound(`${home}-${round}`, tally)}`);
  }
}

async function runRound(home: string, tally: Tally): Promise<string> {
  const servers = await startServers();
  const store = new MongoClient(servers.mongodbUrl);
  const ids = { userId: newId(), workspaceId: newId(), orgId: newId() };
  const env = (at: number) => ({
    ...{ ...inherited(), ...servers.env, COMMONPLACE_DATA_DIR: `${home}-${at}`, COMMONPLACE_SCHEDULES: '100000' },
    ...{ COMMONPLACE_SECRETS_KEY: Buffer.alloc(32, 7).toString('base64'), SOAK_IDS: JSON.stringify(ids) },
    COMMONPLACE_LOG_LEVEL: 'error',
  });
  const start = async (at: number, more: NodeJS.ProcessEnv = {}): Promise<Running> => {
    const running = startScript(REPLICA, { ...env(at), ...more });
    await running.says('ready', START_MS).catch((error: Error) => {
      throw new Error(`${error.message}\n${running.stderr()}`);
    });
    return running;
  };
  const replicas: Running[] = [];
  try {
    const from = Date.now() + LEAD_MS;
    replicas.push(await start(0, { SOAK_SEED: JSON.stringify({ count: SCHEDULES, from }) }));
    while (replicas.length < REPLICAS) replicas.push(await start(replicas.length));
    if (Date.now() > from) throw new Error('The schedules were not created in time.');
    await sleep(from - Date.now());
    const kills = await killUntil(from + MINUTE_MS, replicas, start);
    await store.connect();
    const db = store.db('commonplace_automations');
    const fires = db.collection<Fire>('schedule_fires');
    await untilAllStarted(fires);
    const all = await fires.find({}).toArray();
    const runs = await db
      .collection<{ _id: unknown }>('automation_runs')
      .find({}, { projection: { _id: 1 } })
      .toArray();
    tally.check('each schedule has one fire on record', notOnce(all.map(({ scheduleId }) => scheduleId)));
    tally.check(
      'each fire has started',
      all.filter(({ outcome }) => outcome !== 'started').map((one) => `${one.scheduleId}: ${one.outcome}`),
    );
    tally.check(
      'there is one run for each fire',
      differences(
        all,
        runs.map(({ _id }) => String(_id)),
      ),
    );
    return `${kills} kills of ${REPLICAS} processes; ${all.length} fires, ${runs.length} runs; lateness ${lateness(all)}`;
  } finally {
    await Promise.all(replicas.map((one) => one.kill()));
    await store.close();
    await servers.stop();
  }
}

async function untilAllStarted(fires: Collection<Fire>): Promise<void> {
  let started = -1;
  for (let until = 0; started < SCHEDULES; ) {
    const count = await fires.countDocuments({ startedAt: { $exists: true } });
    if (count > started) until = Date.now() + PATIENCE_MS;
    else if (Date.now() > until) return;
    started = count;
    await sleep(200);
  }
}

/** Kills one process after the other and starts it again. Returns the number of kills. */
async function killUntil(end: number, replicas: Running[], start: (at: number) => Promise<Running>): Promise<number> {
  let kills = 0;
  for (; Date.now() < end; kills++) {
    await sleep(randomInt(...PAUSE_MS));
    const at = kills % replicas.length;
    await replicas[at]?.kill();
    replicas[at] = await start(at);
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

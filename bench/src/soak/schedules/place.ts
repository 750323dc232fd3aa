import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Running, startScript } from '@commonplace/acceptance/dist/src/process.js';
import { inherited } from '@commonplace/acceptance/dist/src/system.js';
import { newId } from '@commonplace/kit/id';
import { type Document, MongoClient } from 'mongodb';
import { startServers } from '../mesh/servers.js';
import { readDocuments } from '../runs/charges.js';

const REPLICA = fileURLToPath(new URL('./replica.js', import.meta.url));
const REPLICAS = 3;
const START_MS = 120_000;

export interface Fire {
  readonly scheduleId: string;
  readonly scheduledFor: string;
  readonly outcome?: string;
  readonly runId?: string;
  readonly startedAt?: string;
  readonly lagMs?: number;
}

/** The fields of a schedule to create. It starts an automation. */
type Seed = Readonly<{ name: string }> & Readonly<Record<string, unknown>>;

interface StartOptions {
  /** Schedules that the process creates before it is ready. */
  readonly schedules?: readonly Seed[];
  /** Milliseconds by which the clock for schedules is ahead. */
  readonly aheadMs?: number;
}

/** An environment of the automations service: one process on SQLite, or several processes on real servers. */
export interface Place {
  readonly name: string;
  /** Number of concurrent processes. */
  readonly replicas: number;
  /** Starts the process with the index `at`, and waits until it is ready. */
  start(at: number, options?: StartOptions): Promise<Running>;
  fires(): Promise<readonly Fire[]>;
  runIds(): Promise<readonly string[]>;
  /** Returns the number of runs that have not ended. */
  liveRuns(): Promise<number>;
  /** Returns the ids of schedules by their names. */
  scheduleIds(): Promise<ReadonlyMap<string, string>>;
  stop(): Promise<void>;
}

interface Stored {
  readonly id: string;
  readonly name: string;
  readonly finishedAt?: string;
}

type Read = <T>(collection: string) => Promise<readonly T[]>;

function placeOf(
  home: string,
  {
    name,
    replicas,
    env,
    read,
    stop,
  }: Pick<Place, 'name' | 'replicas' | 'stop'> & { env: NodeJS.ProcessEnv; read: Read },
): Place {
  const ids = { userId: newId(), workspaceId: newId(), orgId: newId() };
  const seed = join(home, 'seed.json');
  mkdirSync(home, { recursive: true });
  const shared = {
    ...{ ...inherited(), ...env, COMMONPLACE_SCHEDULES: '100000', COMMONPLACE_LOG_LEVEL: 'error' },
    ...{ COMMONPLACE_SECRETS_KEY: Buffer.alloc(32, 7).toString('base64'), SOAK_IDS: JSON.stringify(ids) },
  };
  const all: Running[] = [];
  return {
    ...{ name, replicas },
    async start(at, { schedules, aheadMs = 0 } = {}) {
      if (schedules !== undefined) writeFileSync(seed, JSON.stringify(schedules));
      const folder = replicas === 1 ? 'data' : `data-${at}`;
      const own = { COMMONPLACE_DATA_DIR: join(home, folder), SOAK_AHEAD_MS: String(aheadMs) };
      const running = startScript(REPLICA, { ...shared, ...own, ...(schedules && { SOAK_SEED: seed }) });
      all.push(running);
      await running.says('ready', START_MS).catch((error: Error) => {
        throw new Error(`${error.message}\n${running.stderr()}`);
      });
      return running;
    },
    fires: () => read<Fire>('schedule_fires'),
    liveRuns: async () =>
      (await read<Stored>('automation_runs')).filter(({ finishedAt }) => finishedAt === undefined).length,
    runIds: async () => (await read<Stored>('automation_runs')).map(({ id }) => id),
    scheduleIds: async () => new Map((await read<Stored>('schedules')).map((one) => [one.name, one.id])),
    async stop() {
      await Promise.all(all.map((one) => one.kill()));
      await stop();
    },
  };
}

/** Opens an environment of one process on SQLite. */
export function openSingle(home: string): Place {
  const read: Read = async (collection) => readDocuments(home, `automations__${collection}`);
  return placeOf(home, { name: 'schedules in one process', replicas: 1, env: {}, read, stop: async () => {} });
}

/** Opens an environment of several processes on their own servers. */
export async function openReplicas(home: string): Promise<Place> {
  const servers = await startServers();
  const store = await new MongoClient(servers.mongodbUrl).connect();
  const read = async <T>(collection: string) => {
    const all = await store.db('commonplace_automations').collection<Document>(collection).find({}).toArray();
    return all.map(({ _id, ...rest }) => ({ id: String(_id), ...rest }) as T);
  };
  const stop = async () => {
    await store.close();
    await servers.stop();
  };
  return placeOf(home, {
    name: `schedules in ${REPLICAS} processes`,
    replicas: REPLICAS,
    env: servers.env,
    read,
    stop,
  });
}

import { parentPort, workerData } from 'node:worker_threads';
import { lowerThreadPriority } from '@commonplace/kit/priority';
import type { IndexQuery, RankQuery } from '../port.js';
import { openEngine } from './engine.js';
import type { Reply, Request, Task, ThreadData } from './protocol.js';
import { createWriteQueue } from './write-queue.js';

const PRIORITY = 10;
/** Milliseconds without a query after which the vectors are freed. */
const IDLE_MS = 180_000;

/** The thread that owns the index file: searches are answered at once, writes are done in small groups. */
const port = parentPort;
if (port === null) throw new Error('must run in a worker thread');
const { path, limits } = workerData as ThreadData;
// Requests in other threads go first when processors are scarce.
lowerThreadPriority(PRIORITY);
const engine = openEngine(path, limits);
const writes = createWriteQueue(engine);
let idle: NodeJS.Timeout | undefined;

function fail(id: number, error: unknown): void {
  port?.postMessage({ id, error: error instanceof Error ? error.message : String(error) } satisfies Reply);
}

function answer(id: number, work: () => unknown): void {
  let value: unknown;
  try {
    value = work();
  } catch (error) {
    fail(id, error);
    return;
  }
  port?.postMessage({ id, value } satisfies Reply);
}

async function rank(id: number, { query, vector }: Extract<Task, { kind: 'rank' }>): Promise<void> {
  try {
    const answered = await engine.rank({ ...(JSON.parse(query) as RankQuery), vector });
    answer(id, () => JSON.stringify(answered));
  } catch (error) {
    fail(id, error);
  }
}

function awake(): void {
  if (idle === undefined) idle = setTimeout(() => engine.rest(), IDLE_MS).unref();
  else idle.refresh();
}

function take({ id, task }: Request): void {
  const written = (error?: unknown): void => (error === undefined ? answer(id, () => undefined) : fail(id, error));
  if (task.kind === 'search') {
    answer(id, () => JSON.stringify(engine.search(JSON.parse(task.query) as IndexQuery)));
  } else if (task.kind === 'nearest') {
    awake();
    answer(id, () => JSON.stringify(engine.nearest(task.query)));
  } else if (task.kind === 'rank') {
    awake();
    void rank(id, task);
  } else if (task.kind === 'upsert') {
    const changes = task.entries.map((upsert) => ({ upsert }));
    writes.push(changes, written);
  } else if (task.kind === 'remove') {
    const changes = task.ids.map((remove) => ({ remove }));
    writes.push(changes, written);
  } else {
    writes.after(() => answer(id, () => inOrder(task)));
  }
}

/** Runs a task after all earlier writes. */
function inOrder(task: Exclude<Task, { kind: 'search' | 'nearest' | 'rank' | 'upsert' | 'remove' }>): unknown {
  switch (task.kind) {
    case 'fill':
      return engine.fill(task.entries);
    case 'inspect':
      return engine.inspect(task.question);
    case 'putVectors':
      return engine.putVectors(task.model, task.entries);
    case 'unembedded':
      return engine.unembedded(task.model, task.limit);
    case 'vectorStats':
    case 'dropVectors':
      return engine[task.kind](task.model);
    default:
      return engine[task.kind]();
  }
}

port.on('message', take);

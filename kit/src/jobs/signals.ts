import type { Collection, Where } from '../store/port.js';
import { counter, gauge, histogram } from '../telemetry/index.js';
import { type JobRecord, type QueueSpec, timestamp, whereDue } from './record.js';

const due = gauge('job.queue.due', '{job}', 'Background jobs that are due and that no worker holds.');
const dead = gauge('job.queue.dead', '{job}', 'Background jobs that were given up and wait for an operator.');
const ended = counter('job.queue.ended', '{job}', 'Turns of background jobs by how they ended.');
const durations = histogram(
  'job.queue.duration',
  's',
  'How long a turn of a background job took.',
  [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1800],
);

/** How an attempt at a job ended. */
type Outcome = 'done' | 'lost' | 'stopped' | 'failed' | 'given_up';

export interface QueueSignals {
  ended(outcome: Outcome, seconds: number): void;
  close(): void;
}

/** Maximum of a reported count; a greater count is reported as this number. */
const MAX_COUNT = 10_000;

/** Reports metrics of a queue: its attempts, and its numbers of waiting jobs and dead letters. */
export function observeQueue<T extends JobRecord>(spec: QueueSpec<T>, collection: Collection<T>): QueueSignals {
  const attributes = { 'job.queue.name': spec.name };
  const count = async (where: Where<T>) => [{ attributes, value: await collection.count(where, MAX_COUNT) }];
  const stops = [
    due.observe(() => count(whereDue(spec, { lte: timestamp(Date.now()) }))),
    dead.observe(() => count({ deadAt: { gt: '' } } as Where<T>)),
  ];
  const seconds = durations.bind(attributes);
  return {
    ended(outcome, took) {
      ended.bind({ ...attributes, 'job.outcome': outcome }).add();
      seconds.record(took);
    },
    close() {
      for (const stop of stops) stop();
    },
  };
}

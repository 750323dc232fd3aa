import { queues as agents } from '@commonplace/agents/queues';
import { queues as automations } from '@commonplace/automations/queues';
import { queues as files } from '@commonplace/files/queues';
import { queues as identity } from '@commonplace/identity/queues';
import {
  type AnyQueueSpec,
  type DeadLetterOutcome,
  type DeadLetters,
  type GivenUpJob,
  openDeadLetters,
} from '@commonplace/kit/jobs';
import { queues as messaging } from '@commonplace/messaging/queues';
import { openStoreBeside } from '@commonplace/platform/runtime';
import { queues as resources } from '@commonplace/resources/queues';
import { queues as search } from '@commonplace/search/queues';
import { queues as tenancy } from '@commonplace/tenancy/queues';
import { CommandError, EXIT, noDatabase } from './exit.js';
import type { Selection } from './selection.js';
import { readPlaces } from './settings.js';

const QUEUES: Readonly<Record<string, readonly AnyQueueSpec[]>> = {
  agents,
  automations,
  files,
  identity,
  messaging,
  resources,
  search,
  tenancy,
};

/** Maximum number of jobs that are read at once. */
const PAGE_SIZE = 1000;

/** Returns the dead letters of all queues or of one. */
export async function listGivenUp(env: NodeJS.ProcessEnv, queue?: string): Promise<GivenUpJob[]> {
  const found: GivenUpJob[] = [];
  await eachQueue(env, queue, async (letters) => {
    for await (const job of allJobs(letters)) found.push(job);
  });
  return found;
}

/** The outcome of a command for one job. */
export interface JobResult {
  readonly queue: string;
  readonly id: string;
  readonly outcome: DeadLetterOutcome;
}

/** Retries or deletes dead letters. Throws before any change if an id does not belong to a dead letter. */
export async function handleGivenUp(
  env: NodeJS.ProcessEnv,
  action: 'retry' | 'delete',
  selected: Selection,
  queue?: string,
): Promise<JobResult[]> {
  if (selected !== 'all') await requireGivenUp(env, selected, queue);
  const handled: JobResult[] = [];
  await eachQueue(env, queue, async (letters) => {
    for await (const id of selected === 'all' ? allIds(letters) : selected) {
      const outcome = await letters[action](id);
      if (outcome.status !== 'missing') handled.push({ queue: letters.queue, id, outcome });
    }
  });
  return handled;
}

async function requireGivenUp(env: NodeJS.ProcessEnv, ids: readonly string[], queue?: string): Promise<void> {
  const known = new Set<string>();
  await eachQueue(env, queue, async (letters) => {
    for (const id of ids) if (await letters.has(id)) known.add(id);
  });
  const unknown = ids.find((id) => !known.has(id));
  if (unknown !== undefined) throw new CommandError(EXIT.missing, `no job ${unknown} was given up`);
}

/** Yields all dead letters of a queue, the oldest first. */
async function* allJobs(letters: DeadLetters): AsyncIterable<GivenUpJob> {
  for (let after: GivenUpJob | undefined; ; ) {
    const page = await letters.list(PAGE_SIZE, after);
    yield* page;
    after = page.at(-1);
    if (after === undefined || page.length < PAGE_SIZE) return;
  }
}

async function* allIds(letters: DeadLetters): AsyncIterable<string> {
  for await (const { id } of allJobs(letters)) yield id;
}

async function eachQueue(
  env: NodeJS.ProcessEnv,
  queue: string | undefined,
  act: (letters: DeadLetters) => Promise<void>,
): Promise<void> {
  const names = Object.values(QUEUES).flatMap((specs) => specs.map(({ name }) => name));
  if (queue !== undefined && !names.includes(queue)) {
    throw new CommandError(EXIT.usage, `there is no queue ${queue}; there are ${names.sort().join(', ')}`);
  }
  const places = readPlaces(env);
  for (const [service, specs] of Object.entries(QUEUES)) {
    const wanted = specs.filter(({ name }) => queue === undefined || name === queue);
    if (wanted.length === 0) continue;
    const beside = await openStoreBeside(places, service);
    if (beside === undefined) throw noDatabase(places.dataDir);
    try {
      for (const spec of wanted) await act(await openDeadLetters(beside.store, spec));
    } finally {
      await beside.close();
    }
  }
}

import { randomUUID } from 'node:crypto';
import type { JobRecord } from '@commonplace/kit/jobs';
import { queues } from '@commonplace/resources/queues';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { EXIT } from '../src/exit.js';
import { commonplace } from './commonplace.js';
import { type DataFolder, makeDataFolder } from './data-folder.js';

let folder: DataFolder;
beforeEach(async () => {
  folder = await makeDataFolder();
});
afterEach(() => folder.remove());

const [tree] = queues;
if (tree === undefined) throw new Error('resources declares no queue');

/** Stores a dead letter. Returns the job's id. */
async function givenUp(kind: string): Promise<string> {
  const [id] = await manyGivenUp(kind, 1);
  return id as string;
}

/** Stores dead letters. Returns the jobs' ids. */
async function manyGivenUp(kind: string, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => randomUUID());
  const at = '2026-11-01T00:00:00.000Z';
  const deadLetter = { at, code: 'UNAVAILABLE', message: 'the index did not answer' };
  await folder.inStore('resources', async (store) => {
    const jobs = await store.collection<JobRecord>(tree?.collection as never);
    const work = store.begin();
    const about = { kind, headId: 'h', workspaceIds: ['w'], createdAt: at, tenant: 't', failures: 12 };
    for (const id of ids)
      work.insert(jobs, { id, ...about, deadAt: at, deadLetter, leaseUntil: '2999-01-01T00:00:00.000Z' } as never);
    await work.commit();
  });
  return ids;
}

async function run(...args: string[]) {
  const { code, stdout } = await commonplace(['jobs', ...args, '--data-dir', folder.dataDir, '--json']);
  return { code, answer: JSON.parse(stdout) };
}

test('lists, retries and deletes dead letters', async () => {
  const [copy, place] = [await givenUp('copy'), await givenUp('place')];
  const { answer } = await run('list');
  expect(answer.jobs).toContainEqual({
    queue: 'resources.tree',
    id: copy,
    tenant: 't',
    description: 'copy h in w',
    failures: 12,
    at: '2026-11-01T00:00:00.000Z',
    code: 'UNAVAILABLE',
    message: 'the index did not answer',
  });
  expect((await run('list', '--queue', 'files.uploads')).answer.jobs).toEqual([]);
  expect(await run('delete', place)).toMatchObject({
    code: EXIT.failed,
    answer: { jobs: [{ outcome: { status: 'refused' } }] },
  });
  expect(await run('delete', copy)).toMatchObject({
    code: EXIT.ok,
    answer: { jobs: [{ outcome: { status: 'done' } }] },
  });
  expect((await run('delete', copy)).code).toBe(EXIT.missing);
  expect((await run('retry', '--all')).answer.jobs).toMatchObject([{ id: place, outcome: { status: 'done' } }]);
  expect((await run('list')).answer.jobs).toEqual([]);
});

test('refuses an unknown queue, and a command that selects no job', async () => {
  expect((await run('list', '--queue', 'none')).code).toBe(EXIT.usage);
  expect((await run('retry')).code).toBe(EXIT.usage);
});

test('changes nothing if ids come with --all, or if one of them is unknown', async () => {
  const copy = await givenUp('copy');
  expect((await run('delete', copy, '--all')).code).toBe(EXIT.usage);
  expect((await run('delete', copy, randomUUID())).code).toBe(EXIT.missing);
  expect((await run('list')).answer.jobs).toMatchObject([{ id: copy }]);
});

test('lists every job of a queue, however many there are', async () => {
  const ids = await manyGivenUp('copy', 1001);
  const { answer } = await run('list');
  expect(answer.jobs.map(({ id }: { id: string }) => id).sort()).toEqual(ids.sort());
  expect((await run('delete', '--all')).answer.jobs).toHaveLength(1001);
});

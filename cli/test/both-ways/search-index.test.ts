import { eventually } from '@commonplace/acceptance/dist/src/eventually.js';
import { operatedSystem } from '@commonplace/acceptance/dist/src/standing.js';
import { readRebuildRequest } from '@commonplace/search/queues';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { commonplace } from '../commonplace.js';
import { type DataFolder, makeDataFolder } from '../data-folder.js';

let system: Awaited<ReturnType<typeof operatedSystem>>;
let folder: DataFolder;
beforeAll(async () => {
  system = await operatedSystem();
});
afterAll(() => system?.stop());
beforeEach(async () => {
  folder = await makeDataFolder();
});
afterEach(() => folder.remove());

async function run(env: NodeJS.ProcessEnv, ...args: string[]) {
  const { code, stdout } = await commonplace(['index', ...args, '--json'], env);
  return { code, answer: JSON.parse(stdout) };
}

test('a running system rebuilds its index when an operator requests it', async () => {
  const { code, answer } = await run(system.places, 'rebuild');
  expect([code, answer]).toEqual([0, { requestedAt: expect.stringMatching(/^\d{4}-/) }]);
  await eventually(async () => expect((await run(system.places, 'status')).answer.status).toBe('none'));
});

test('a request waits for the next start, and a second one does not add another', async () => {
  const env = { COMMONPLACE_DATA_DIR: folder.dataDir };
  expect((await run(env, 'status')).answer.status).toBe('none');
  const first = (await run(env, 'rebuild')).answer;
  expect((await run(env, 'rebuild')).answer).toEqual(first);
  expect((await run(env, 'status')).answer).toMatchObject({ status: 'requested', ...first });
  expect(await readRebuildRequest(folder.database.store('search'))).toMatchObject(first);
  expect((await run({ COMMONPLACE_DATA_DIR: '/nowhere' }, 'rebuild')).code).toBe(66);
});

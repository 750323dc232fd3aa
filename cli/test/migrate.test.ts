import { requireFormat } from '@commonplace/platform/runtime';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { commonplace } from './commonplace.js';
import { type DataFolder, makeDataFolder } from './data-folder.js';

let folder: DataFolder;
beforeEach(async () => {
  folder = await makeDataFolder();
});
afterEach(() => folder.remove());

test('reports plainly that nothing is pending', async () => {
  await requireFormat('messaging', folder.database.store('messaging'), []);
  const { code, stdout, stderr } = await commonplace(['migrate', '--data-dir', folder.dataDir]);
  expect([code, stdout, stderr]).toEqual([0, 'Nothing is pending.\n', '']);
  const checked = await commonplace(['migrate', '--check', '--json', '--data-dir', folder.dataDir]);
  const answer = JSON.parse(checked.stdout);
  expect(answer).toMatchObject({ pending: false });
  expect(answer.services).toContainEqual({ service: 'messaging', format: 1, pending: [], ran: [] });
  expect(answer.services).toContainEqual({ service: 'resources', format: null, pending: [], ran: [] });
});

test('reports nothing to migrate if there is no data', async () => {
  expect((await commonplace(['migrate', '--data-dir', '/nowhere'])).code).toBe(66);
  const { code, stdout } = await commonplace(['migrate', '--new', '--data-dir', '/nowhere']);
  expect([code, stdout]).toEqual([0, 'Nothing is pending.\n']);
});

test('refuses data of a newer release', async () => {
  await requireFormat('messaging', folder.database.store('messaging'), [{ name: 'of tomorrow', run: async () => {} }]);
  const { code, stderr } = await commonplace(['migrate', '--data-dir', folder.dataDir]);
  expect([code, stderr]).toEqual([78, 'commonplace: what messaging has stored is of a newer release: run that one\n']);
});

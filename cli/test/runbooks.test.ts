import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '@commonplace/acceptance/dist/src/system.js';
import { settingsTables } from '@commonplace/all/settings';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { commonplace } from './commonplace.js';
import { type DataFolder, makeDataFolder } from './data-folder.js';

/** Runs the commands that the runbooks in docs/operations.md name, so that none of them is wrong at three in the morning. */
const OPERATIONS = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8');
const ALERTS = OPERATIONS.slice(OPERATIONS.indexOf('\n## Alerts'), OPERATIONS.indexOf('\n## Limits against guessing'));

/** Code spans that begin with the command; a span may go on in the next line. */
const COMMANDS = [...ALERTS.matchAll(/`commonplace ([^`]+)`/g)].map(([, args = '']) => args.replace(/\s+/g, ' '));

/** Exit codes of a command on a data folder in which nothing went wrong, where they are not only 0. */
const CODES: Readonly<Record<string, readonly number[]>> = {
  // These tests do not depend on whether all checks succeed.
  doctor: [0, 1],
  // Nothing was given up or parked: the id is not found.
  'jobs delete <id>': [66],
  'events delete <id>': [66],
};

let folder: DataFolder;
beforeAll(async () => {
  folder = await makeDataFolder();
});
afterAll(() => folder?.remove());

test('the runbooks name the commands for parked events, dead letters, held sweeps and lost bytes', () => {
  for (const command of ['jobs list', 'jobs retry --all', 'events list', 'events retry --all', 'index rebuild']) {
    expect(COMMANDS).toContain(command);
  }
});

test('a MongoDB user with the rights that the page names reaches the database of each service', () => {
  const [, roles = ''] = /createUser\(\{(.*?)\n\}\)/s.exec(OPERATIONS) ?? [];
  const { gateway: _, bootstrap: __, ...services } = settingsTables;
  for (const name of [...Object.keys(services), 'installation']) expect(roles).toContain(`'${name}'`);
});

test('the page names each service that reads the key of secrets as one to restart', () => {
  const [, restarted = ''] = /\(in a mesh: ([^)]*)\), so that it reads both/.exec(OPERATIONS) ?? [];
  const readers = Object.entries(settingsTables).filter(([, table]) => 'secretsKey' in table);
  expect(readers.length).toBeGreaterThan(0);
  for (const [service] of readers) expect(restarted).toContain(service);
});

test.each([...new Set(COMMANDS)])('commonplace %s', async (command) => {
  const args = command.split(' ').map((word) => word.replace('…', join(folder.home, 'backup.tar')));
  const { code, stderr } = await commonplace([...args, '--data-dir', folder.dataDir]);
  const wanted = CODES[command] ?? CODES[args[0] as string] ?? [0];
  expect({ stderr, isWanted: wanted.includes(code ?? -1) }).toEqual({ stderr: expect.any(String), isWanted: true });
});

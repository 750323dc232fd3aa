import { operatedSystem } from '@commonplace/acceptance/dist/src/standing.js';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { commonplace } from '../commonplace.js';

/** Tests the commands against a mesh. `keys.test.ts`, which runs against either kind of system, tests the keys. */
let system: Awaited<ReturnType<typeof operatedSystem>>;
beforeAll(async () => {
  system = await operatedSystem();
}, 120_000);
afterAll(() => system?.stop());

async function json(...args: string[]) {
  const { code, stdout } = await commonplace([...args, '--json'], system.places);
  return { code, answer: JSON.parse(stdout) };
}

test('the doctor checks MongoDB and NATS, and reports both as ok', async () => {
  const { answer } = await json('doctor', '--service', 'messaging');
  for (const name of ['MongoDB', 'NATS']) {
    expect(answer.checks).toContainEqual(expect.objectContaining({ name, status: 'ok' }));
  }
});

test('no service has pending migrations', async () => {
  for (const args of [[], ['--check'], ['--new']]) {
    const { code, answer } = await json('migrate', ...args);
    expect([code, answer.pending]).toEqual([0, false]);
    expect(answer.services).toContainEqual({ service: 'resources', format: 1, pending: [], ran: [] });
  }
});

test('re-encrypts secrets of users with a new key in two runs', async () => {
  const first = await json('rotate-secrets');
  expect([first.code, first.answer.stage]).toEqual([0, 'added']);
  const second = await json('rotate-secrets');
  expect([second.code, second.answer.stage]).toEqual([0, 'done']);
});

test('refers backups of servers to their own tools', async () => {
  const { code, answer } = await json('backup', '--to', '/nowhere');
  expect([code, answer.error.exit_code]).toEqual([78, 78]);
  expect(answer.error.message).toContain('mongodump');
});

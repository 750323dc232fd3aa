import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { openConnection } from '@commonplace/adapters/sqlite/file';
import { everything } from '@commonplace/all/everything';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Result } from '../src/doctor/check.js';
import { allTables } from '../src/settings.js';
import { commonplace } from './commonplace.js';
import { type DataFolder, makeDataFolder } from './data-folder.js';

let folder: DataFolder;
beforeEach(async () => {
  folder = await makeDataFolder();
});
afterEach(() => folder.remove());

async function doctor(env: NodeJS.ProcessEnv = {}, ...args: string[]) {
  const ended = await commonplace(['doctor', '--json', ...args], { COMMONPLACE_DATA_DIR: folder.dataDir, ...env });
  const { ok, checks } = JSON.parse(ended.stdout) as { ok: boolean; checks: Result[] };
  const of = (name: string) => checks.find((check) => check.name === name);
  return { ...ended, ok, of };
}

/** Runs `doctor` without a time limit, which a busy machine exceeds before the last check. */
const thoroughly = (env: NodeJS.ProcessEnv = {}) => doctor(env, '--thorough');

test('knows the settings of every service', () => {
  for (const { name, config } of everything) expect(allTables[name]).toBe(config);
  expect(Object.keys(allTables).sort()).toEqual(['process', ...everything.map(({ name }) => name)].sort());
});

test('a variable that several services read means the same to all of them', () => {
  // The gateway reads the limits themselves; identity reads whether there are any.
  const settings = Object.values(allTables)
    .flatMap((table) => Object.values(table))
    .filter(({ variable }) => variable !== 'COMMONPLACE_RATE_LIMITS');
  const defaults = new Map<string, unknown>();
  for (const { variable, fallback } of settings) {
    if (defaults.has(variable)) expect({ [variable]: fallback }).toEqual({ [variable]: defaults.get(variable) });
    defaults.set(variable, fallback);
  }
});

test('reports an intact data folder as ok', async () => {
  const { code, ok, of } = await thoroughly();
  expect([code, ok]).toEqual([0, true]);
  expect(of('configuration')).toMatchObject({ status: 'ok' });
  expect(of('database')).toMatchObject({ status: 'ok', detail: expect.stringContaining('all whole') });
  expect(of('data folder')).toMatchObject({ status: 'ok' });
  const { stdout } = await commonplace(['doctor', '--data-dir', folder.dataDir]);
  expect(stdout).toMatch(/^ok {4}configuration {2}all settings can be read$/m);
});

test('reports no problem before the first start, and creates nothing', async () => {
  const dataDir = join(folder.home, 'new');
  const { code, of } = await thoroughly({ COMMONPLACE_DATA_DIR: dataDir });
  expect(code).toBe(0);
  expect(of('database')).toMatchObject({ status: 'warning' });
  expect(existsSync(dataDir)).toBe(false);
});

test('warns of a proxy that no setting names', async () => {
  const settings = { COMMONPLACE_PUBLIC_URL: 'https://work.example.com' };
  const unnamed = await doctor(settings);
  expect(unnamed.of('configuration')).toMatchObject({
    status: 'warning',
    detail: expect.stringContaining('COMMONPLACE_TRUSTED_PROXIES'),
  });
  const named = await doctor({ ...settings, COMMONPLACE_TRUSTED_PROXIES: '10.0.0.0/8' });
  expect(named.of('configuration')).toMatchObject({ status: 'ok' });
  const other = await doctor(settings, '--service', 'resources');
  expect(other.of('configuration')).toMatchObject({ status: 'ok' });
});

test('reports all invalid settings together, and names of unknown settings', async () => {
  const settings = { COMMONPLACE_PORT: 'high', COMMONPLACE_SIGN_UP: 'some', COMMONPLACE_POTR: '1' };
  const { code, of } = await doctor(settings);
  expect(code).toBe(1);
  expect(of('configuration')).toMatchObject({
    status: 'failed',
    facts: {
      problems: [
        expect.stringMatching(/^COMMONPLACE_SIGN_UP must be/),
        expect.stringMatching(/^COMMONPLACE_PORT must/),
      ],
      unknown: ['COMMONPLACE_POTR'],
    },
  });
  expect((await doctor(settings, '--service', 'resources')).of('configuration')).toMatchObject({ status: 'warning' });
});

test('reports an unreachable collector as a warning, not as a failure', async () => {
  const { code, of } = await thoroughly({ COMMONPLACE_OTLP_URL: 'http://127.0.0.1:9' });
  expect(code).toBe(0);
  expect(of('collector')).toMatchObject({ status: 'warning', detail: expect.stringContaining('does not answer') });
  expect((await doctor()).of('collector')).toBeUndefined();
});

describe('output without secrets', () => {
  const settings = Object.values(allTables).flatMap((table) => Object.values(table));

  test('with a marker in every setting', async () => {
    const env: NodeJS.ProcessEnv = {};
    for (const { variable } of settings) env[variable] = `marked-${variable.toLowerCase()}`;
    env.COMMONPLACE_DATA_DIR = folder.dataDir;
    for (const [args, code] of [
      [['doctor', '--json'], 1],
      [['doctor'], 1],
      [['backup', '--to', join(folder.home, 'b')], 78],
    ] as const) {
      const ended = await commonplace(args, env);
      expect(ended.code).toBe(code);
      expect(ended.stdout + ended.stderr).not.toContain('marked');
    }
  });

  test('with secrets in unreachable URLs, and in valid settings', async () => {
    const env = {
      COMMONPLACE_MONGODB_URL: 'mongodb://marked-user:marked%21password@127.0.0.1:9/?replicaSet=rs&authSource=admin',
      COMMONPLACE_NATS_URL: 'nats://marked-token@127.0.0.1:9',
      COMMONPLACE_S3_URL: 'http://marked-id:marked-key@127.0.0.1:9/bucket',
      COMMONPLACE_TYPESENSE_URL: 'http://127.0.0.1:9',
      COMMONPLACE_TYPESENSE_API_KEY: 'marked-typesense',
      COMMONPLACE_MESH_KEY: 'marked'.repeat(10),
      COMMONPLACE_SECRET_KEY: 'marked'.repeat(10),
      COMMONPLACE_SECRETS_KEY: Buffer.from('marked'.repeat(10)).toString('base64'),
      AWS_SECRET_ACCESS_KEY: 'marked-aws',
    };
    const { code, stdout, stderr, of } = await doctor(env);
    expect(code).toBe(1);
    for (const name of ['MongoDB', 'NATS', 'bucket']) expect(of(name)).toMatchObject({ status: 'failed' });
    expect(of('configuration')).toMatchObject({ status: 'ok' });
    expect(stdout + stderr).not.toContain('marked');
    expect(stdout).not.toContain(env.COMMONPLACE_SECRETS_KEY);
  });
});

describe('servers that accept a connection and never answer', () => {
  let silent: Server;
  let port: number;
  beforeEach(async () => {
    silent = createServer(() => {});
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    ({ port } = silent.address() as { port: number });
  });
  afterEach(() => {
    silent.close();
  });

  test('are reported as failed', async () => {
    const { code, of } = await doctor({
      COMMONPLACE_MONGODB_URL: `mongodb://127.0.0.1:${port}/?replicaSet=rs`,
      COMMONPLACE_NATS_URL: `nats://127.0.0.1:${port}`,
      COMMONPLACE_S3_URL: `http://id:secret@127.0.0.1:${port}/bucket`,
      COMMONPLACE_TYPESENSE_URL: `http://127.0.0.1:${port}`,
      COMMONPLACE_TYPESENSE_API_KEY: 'key',
    });
    expect(code).toBe(1);
    for (const name of ['MongoDB', 'NATS', 'bucket', 'Typesense']) expect(of(name)).toMatchObject({ status: 'failed' });
  });
});

describe('an embedded system', () => {
  test('with a damaged database', async () => {
    for (let i = 0; i < 20; i++) await folder.addBlob(10);
    const { code, of } = await thoroughly({ COMMONPLACE_DATA_DIR: await folder.damagedCopy() });
    expect(code).toBe(1);
    expect(of('database')).toMatchObject({ status: 'failed' });
  });

  test('whose clock was set back, and whose consumers lag behind', async () => {
    const bus = folder.database.bus();
    const type = 'commonplace.files.file.updated';
    const event = {
      specversion: '1.0',
      source: '/files',
      type,
      subject: 'f',
      datacontenttype: 'application/json',
    } as const;
    const time = new Date().toISOString();
    const subscription = await bus.subscribe({ consumer: 'slow', types: [type] }, async () => {});
    await subscription.close();
    await bus.publish([{ ...event, id: 'one', time, data: {} }]);
    const connection = openConnection(join(folder.dataDir, 'commonplace.db'));
    connection.run('UPDATE events SET at = ?', [Date.now() - 300_000]);
    connection.run('INSERT INTO parked (consumer, seq, attempts, error, due, doc) VALUES (?, 7, 8, ?, 0, ?)', [
      'slow',
      'why',
      '{}',
    ]);
    const behind = await thoroughly();
    expect(behind.code).toBe(0);
    expect(behind.of('events')).toMatchObject({
      status: 'warning',
      detail: expect.stringMatching(/^1 events wait for slow, the first since 3\d\d s; 1 events that slow failed at/),
    });
    connection.run('UPDATE events SET at = ?', [Date.now() + 3_600_000]);
    connection.close();
    const ahead = await thoroughly();
    expect(ahead.of('clock')).toMatchObject({ status: 'failed' });
    expect(ahead.code).toBe(1);
  });

  test('with missing or truncated bytes of files', async () => {
    const [gone, cut] = [await folder.addBlob(), await folder.addBlob(), await folder.addBlob()];
    expect((await thoroughly()).of('files')).toMatchObject({
      status: 'ok',
      facts: { blobs: 3, checked: 3, missing: 0, examples: [] },
    });
    const pathOf = (id: string) => join(folder.dataDir, 'files/blobs', id.slice(-2), id);
    rmSync(pathOf(gone as string));
    truncateSync(pathOf(cut as string), 10);
    const { code, of } = await doctor({}, '--thorough');
    expect(code).toBe(1);
    expect(of('files')).toMatchObject({ status: 'failed', facts: { missing: 2 } });
    expect(of('files')?.facts?.examples).toEqual(expect.arrayContaining([gone, cut]));
  });

  test('whose tables lack rows that were written', async () => {
    const store = folder.database.store('resources');
    const heads = await store.collection<never>({ name: 'tables', indexes: [] });
    const chunks = await store.collection<never>({ name: 'table_chunks', indexes: [] });
    const text = '["r1",1],\n["r2",2]';
    const hash = createHash('sha256').update(text).digest('base64url').slice(0, 20);
    const work = store.begin();
    work.insert(chunks, { id: 'table.1', tenant: 't', text } as never);
    const head = { tenant: 't', rowCount: 2, chunks: [[1, 2, text.length, hash, 'c']], kept: [], loose: [] };
    work.insert(heads, { ...head, id: 'table' } as never);
    await work.commit();
    expect((await thoroughly()).of('tables')).toMatchObject({
      status: 'ok',
      facts: { tables: 1, checked: 1, faults: [] },
    });
    const connection = openConnection(join(folder.dataDir, 'commonplace.db'));
    // Flips one bit of one character, which SQLite's own check does not detect.
    connection.run(`UPDATE resources__table_chunks SET doc = replace(doc, 'r2', 'r3')`);
    const flipped = await thoroughly();
    expect([flipped.code, flipped.of('database')?.status]).toEqual([1, 'ok']);
    expect(flipped.of('tables')).toMatchObject({
      status: 'failed',
      detail: expect.stringContaining('table: chunk 1 with 2 rows differs from its hash'),
    });
    connection.run('DELETE FROM resources__table_chunks');
    connection.close();
    expect((await thoroughly()).of('tables')?.detail).toContain('chunk 1 with 2 rows is missing');
  });

  test('whose check after an unclean shutdown found damage', async () => {
    const report = { at: '2026-01-01T00:00:00.000Z', faults: ['Tree 5 page 7: btreeInitPage() returns error code 11'] };
    writeFileSync(join(folder.dataDir, 'last-check.json'), JSON.stringify(report));
    const { code, of } = await thoroughly();
    expect(code).toBe(1);
    expect(of('database')).toMatchObject({ status: 'failed', detail: expect.stringContaining('Tree 5 page 7') });
  });

  test('that other users can read, and whose restore is incomplete', async () => {
    writeFileSync(join(folder.dataDir, 'other.key'), '');
    rmSync(join(folder.dataDir, 'secret.key'));
    writeFileSync(join(folder.dataDir, 'secret.key'), `${'0'.repeat(64)}\n`, { mode: 0o644 });
    expect((await thoroughly()).of('data folder')).toMatchObject({
      status: 'warning',
      detail: expect.stringContaining('secret.key: chmod 600'),
    });
    mkdirSync(join(folder.dataDir, 'restore.unfinished'));
    expect((await thoroughly()).of('data folder')).toMatchObject({ status: 'failed' });
  });
});

test('exits with 64 for a wrong command line, and with 0 for help', async () => {
  expect((await commonplace(['doctor', '--service', 'nobody'])).code).toBe(64);
  expect((await commonplace(['backup'])).code).toBe(64);
  expect((await commonplace(['cure'])).code).toBe(64);
  expect((await commonplace(['--help'])).stdout).toContain('Exit codes:');
});

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteDatabase } from '@commonplace/adapters/sqlite';
import { openConnection } from '@commonplace/adapters/sqlite/file';
import { type Log, silentLog } from '@commonplace/kit/log';
import { eventually } from '@commonplace/kit/testing';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { readCheckReport, watchEnd } from '../src/runtime/unclean-end.js';

let folder: string;
let file: string;
let logged: string[];
let log: Log;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'commonplace-end-'));
  file = join(folder, 'commonplace.db');
  logged = [];
  const record = (event: string) => void logged.push(event);
  log = { ...silentLog, info: record, warn: record, error: record };
  const database = await openSqliteDatabase({ file });
  const things = await database.store('s').collection<{ id: string; version: number; text: string }>({
    name: 'things',
    indexes: [],
  });
  const work = database.store('s').begin();
  for (let i = 0; i < 500; i++) work.insert(things, { id: `id-${i}`, text: 'x'.repeat(200) });
  await work.commit();
  await database.close();
  const connection = openConnection(file);
  connection.get('PRAGMA wal_checkpoint(TRUNCATE)');
  connection.close();
});
afterEach(() => rmSync(folder, { recursive: true }));

test('nothing is checked after a process that ended cleanly', async () => {
  await watchEnd(folder, file, log).close();
  await watchEnd(folder, file, log).close();
  expect([logged, readCheckReport(folder)]).toEqual([[], undefined]);
  expect(existsSync(join(folder, 'running'))).toBe(false);
});

test('after an unclean end, an intact database is found intact', async () => {
  watchEnd(folder, file, log);
  const next = watchEnd(folder, file, log);
  await eventually(async () => expect(logged).toEqual(['store.checked']));
  expect(readCheckReport(folder)).toEqual({ at: expect.any(String), faults: [] });
  await next.close();
  await watchEnd(folder, file, log).close();
  expect(logged).toEqual(['store.checked']);
});

test('after an unclean end, a damaged database is reported, and again after the next start', async () => {
  const bytes = readFileSync(file);
  // A page in the middle of the table.
  bytes.fill(0xff, 8 * 4096, 9 * 4096);
  writeFileSync(file, bytes);
  watchEnd(folder, file, log);
  const next = watchEnd(folder, file, log);
  await eventually(async () => expect(logged).toEqual(['store.damaged']));
  expect(readCheckReport(folder)?.faults.length).toBeGreaterThan(0);
  await next.close();
});

test('a check that was stopped starts again', async () => {
  watchEnd(folder, file, log);
  await watchEnd(folder, file, log).close();
  if (readCheckReport(folder) === undefined) expect(existsSync(join(folder, 'running'))).toBe(true);
  const last = watchEnd(folder, file, log);
  await eventually(async () => expect(readCheckReport(folder)?.faults).toEqual([]));
  await last.close();
  expect(existsSync(join(folder, 'running'))).toBe(false);
});

import { copyFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError } from '@commonplace/kit/config';
import { newId } from '@commonplace/kit/id';
import {
  type Adoptable,
  agree,
  type HeldToken,
  type Hold,
  holdStore,
  type IdentifiedStore,
  type InstallationRecords,
  openMarkFile,
  type StoreHold,
} from '@commonplace/kit/installation';
import { silentLog } from '@commonplace/kit/log';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { openSqliteDatabase, type SqliteDatabase } from '../src/sqlite/index.js';

const [RENEW_MS, LEASE_MS] = [50, 2_000];

let folder: string;
let held: HeldToken | undefined;
let store: IdentifiedStore & { readonly hold: StoreHold };
const databases: SqliteDatabase[] = [];
const holds: Hold[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'commonplace-hold-'));
  held = undefined;
  const file = openMarkFile({
    kind: 'files',
    place: 'the bucket',
    file: join(folder, 'mark.json'),
    isEmpty: async () => false,
  });
  store = {
    ...file,
    hold: {
      read: async () => held,
      async write(token, before) {
        await new Promise((resolve) => setTimeout(resolve, 1));
        if (held?.tag !== before?.tag) return false;
        held = { token, tag: newId() };
        return true;
      },
    },
  };
});
afterEach(async () => {
  for (const hold of holds.splice(0)) await hold.close();
  for (const database of databases.splice(0)) await database.close();
  rmSync(folder, { recursive: true });
});

async function open(name: string): Promise<InstallationRecords> {
  const database = await openSqliteDatabase({ file: join(folder, name) });
  databases.push(database);
  return database.installation();
}

/** Returns the records of the installation that owns the store. */
async function original(): Promise<InstallationRecords> {
  const records = await open('original.db');
  await agree(records, [store], { adopt: ['files'], log: silentLog });
  return records;
}

/** Returns a copy of the database in its present state. */
async function copyOf(name: string): Promise<InstallationRecords> {
  await databases.pop()?.close();
  for (const file of readdirSync(folder).filter((one) => one.startsWith('original.db'))) {
    copyFileSync(join(folder, file), join(folder, file.replace('original.db', name)));
  }
  return open(name);
}

const start = async (records: InstallationRecords, adopt: Adoptable[] = [], onLost = () => {}) => {
  const hold = await holdStore(records, store, {
    adopt,
    onLost,
    log: silentLog,
    renewMs: RENEW_MS,
    leaseMs: LEASE_MS,
  });
  holds.push(hold);
  return hold;
};

async function changed(): Promise<void> {
  const before = held?.token;
  while (held?.token === before) await new Promise((resolve) => setTimeout(resolve, 5));
}

describe('a store that several databases can access', () => {
  test('is held by a database that restarts repeatedly, at once and after a crash', async () => {
    const records = await original();
    for (let times = 0; times < 3; times++) {
      const hold = await start(records);
      await changed();
      expect(await hold.isHeld()).toBe(true);
      await hold.close();
    }
    // The state between the two writes of a renewal.
    await records.update((before) => ({ ...before, tokens: { files: [...(before.tokens?.files ?? []), newId()] } }));
    expect(await (await start(records)).isHeld()).toBe(true);
  });

  test('is held by all processes of one database together', async () => {
    const records = await original();
    let lost = 0;
    const all = await Promise.all(Array.from({ length: 5 }, () => start(records, [], () => lost++)));
    for (let times = 0; times < 10; times++) await changed();
    expect(await Promise.all(all.map((hold) => hold.isHeld()))).toEqual(all.map(() => true));
    expect(lost).toBe(0);
  });

  test('refuses a copy of a running database, and says what to do', async () => {
    await original();
    const copy = await copyOf('copy.db');
    const live = await open('original.db');
    const hold = await start(live);
    await changed();
    const refusal = await start(copy).catch((error) => error);
    expect(refusal).toBeInstanceOf(ConfigError);
    expect(String(refusal.problems ?? refusal.message)).toMatch(
      /the bucket is in use by another running system .*--same-installation.*COMMONPLACE_ADOPT=files/s,
    );
    expect(await hold.isHeld()).toBe(true);
  });

  test('goes to one of two copies that start at the same moment', async () => {
    const first = await original();
    await (await start(first)).close();
    const copy = await copyOf('copy.db');
    const again = await open('original.db');
    const outcomes = await Promise.allSettled([start(again), start(copy)]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  test('goes to a copy once its holder has been silent for the whole lease', async () => {
    await original();
    const copy = await copyOf('copy.db');
    const live = await start(await open('original.db'));
    await changed();
    await live.close();
    expect(await (await start(copy)).isHeld()).toBe(true);
  });

  test('goes to all processes of a database that start together once the holder is gone', async () => {
    await original();
    const copy = await copyOf('copy.db');
    const live = await start(await open('original.db'));
    await changed();
    await live.close();
    const all = await Promise.all(Array.from({ length: 5 }, () => start(copy)));
    expect(await Promise.all(all.map((hold) => hold.isHeld()))).toEqual(all.map(() => true));
  });

  test('is taken over at once on request, and the former holder ends and deletes nothing', async () => {
    await original();
    const copy = await copyOf('copy.db');
    let lost = 0;
    const live = await start(await open('original.db'), [], () => lost++);
    await changed();
    const taken = await start(copy, ['files']);
    expect(await taken.isHeld()).toBe(true);
    expect(await live.isHeld()).toBe(false);
    while (lost === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(await taken.isHeld()).toBe(true);
  });
});

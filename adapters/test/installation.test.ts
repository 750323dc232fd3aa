import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newId } from '@commonplace/kit/id';
import {
  type Adoptable,
  agree,
  createOwnIds,
  type IdentifiedStore,
  type InstallationRecords,
  openMarkFile,
  requireKeys,
  type StoreKind,
} from '@commonplace/kit/installation';
import { silentLog } from '@commonplace/kit/log';
import { installationContract } from '@commonplace/kit/testing';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { openSqliteDatabase, type SqliteDatabase } from '../src/sqlite/index.js';

function markIn(folder: string, kind: StoreKind = 'files'): IdentifiedStore {
  const content = join(folder, `${kind}.content`);
  const file = join(folder, `${kind}.json`);
  return openMarkFile({ kind, place: `the ${kind}`, file, isEmpty: async () => !existsSync(content) });
}

installationContract('a file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'commonplace-mark-'));
  return {
    open: async () => markIn(folder),
    fill: async () => writeFileSync(join(folder, 'files.content'), 'x'),
    close: async () => rmSync(folder, { recursive: true }),
  };
});

describe('a start', () => {
  let folder: string;
  let database: SqliteDatabase;
  let records: InstallationRecords;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'commonplace-agree-'));
    database = await openSqliteDatabase({ file: join(folder, 'test.db') });
    records = database.installation();
  });
  afterEach(async () => {
    await database.close();
    rmSync(folder, { recursive: true });
  });

  const start = (stores: readonly IdentifiedStore[], adopt: Adoptable[] = [], strayKeys: string[] = []) =>
    agree(records, stores, { adopt, strayKeys, log: silentLog });
  const fill = (kind: StoreKind) => writeFileSync(join(folder, `${kind}.content`), 'x');
  const bothStores = () => [markIn(folder), markIn(folder, 'index')];

  /** Stores a record as a service does. */
  async function writeRecord(): Promise<void> {
    const store = database.store('files');
    const things = await store.collection({ name: 'things', indexes: [] });
    const work = store.begin();
    work.insert(things, { id: newId() });
    await work.commit();
  }

  test('without any data creates an installation and claims the stores beside it', async () => {
    const { installationId, origin } = await start(bothStores());
    expect(origin).toBe('new');
    for (const store of bothStores()) expect(await store.readId()).toBe(installationId);
    expect(await start(bothStores())).toMatchObject({ installationId, bound: ['files', 'index'] });
  });

  test('on data of a release without ids claims all of it, also after an interruption', async () => {
    await writeRecord();
    fill('files');
    fill('index');
    const { installationId, origin } = await start([markIn(folder)]);
    expect(origin).toBe('upgrade');
    await start(bothStores());
    for (const store of bothStores()) expect(await store.readId()).toBe(installationId);
  });

  test('with a new database beside files, or beside those of another installation, is refused', async () => {
    fill('files');
    await expect(start(bothStores())).rejects.toThrow('COMMONPLACE_ADOPT=files');
    expect(await records.read()).toBeUndefined();
    await markIn(folder).claim(newId());
    await expect(start(bothStores())).rejects.toThrow('missing or empty');
    expect(await start(bothStores(), ['files'])).toMatchObject({ origin: 'new' });
  });

  test('with an older database beside a store of another installation is refused', async () => {
    await writeRecord();
    await markIn(folder).claim(newId());
    await expect(start(bothStores())).rejects.toThrow('belongs to installation');
    expect(await records.read()).toBeUndefined();
  });

  test('on a store of another installation is refused, unless it is to be adopted', async () => {
    const { installationId } = await start([]);
    const other = newId();
    await markIn(folder).claim(other);
    await expect(start(bothStores())).rejects.toThrow(other);
    expect(await markIn(folder).readId()).toBe(other);
    await start(bothStores(), ['files']);
    expect(await markIn(folder).readId()).toBe(installationId);
  });

  test('on a store that is not empty and was not there before is refused', async () => {
    await start(bothStores());
    rmSync(join(folder, 'files.json'));
    fill('files');
    await expect(start(bothStores())).rejects.toThrow('does not say to which installation it belongs');
  });

  test('on a store that was emptied and filled again by running processes claims it, if it is held', async () => {
    const { installationId } = await start(bothStores());
    fill('index');
    rmSync(join(folder, 'index.json'));
    await records.update((before) => ({ ...before, tokens: { index: ['own'] } }));
    const heldBy = (token: string | undefined): IdentifiedStore => {
      const read = async () => (token === undefined ? undefined : { token, tag: '1' });
      return { ...markIn(folder, 'index'), hold: { read, write: async () => false } };
    };
    for (const token of ['of another database', undefined]) {
      await expect(start([heldBy(token)])).rejects.toThrow('COMMONPLACE_ADOPT=index');
    }
    await start([heldBy('own')]);
    expect(await markIn(folder, 'index').readId()).toBe(installationId);
  });

  test('with an empty database beside keys is refused', async () => {
    await expect(start([], [], ['secret.key'])).rejects.toThrow('COMMONPLACE_ADOPT=keys');
    expect(await start([], ['keys'], ['secret.key'])).toMatchObject({ origin: 'new' });
  });

  test('beside a process that claims and fills a store meanwhile continues', async () => {
    const { installationId } = await start([]);
    const mark = markIn(folder);
    let reads = 0;
    const store = {
      ...mark,
      async readId() {
        if (reads++ > 0) return mark.readId();
        await mark.claim(installationId);
        fill('files');
        return undefined;
      },
    };
    expect(await start([store])).toMatchObject({ installationId });
  });

  test('with others at the same moment agrees with them', async () => {
    const started = await Promise.all(Array.from({ length: 4 }, () => start(bothStores())));
    expect(new Set(started.map(({ installationId }) => installationId)).size).toBe(1);
  });

  test('needs one of the former keys, so that a rotation is accepted', async () => {
    await start([]);
    const [first, second, third] = ['1', '2', '3'].map((digit) => Buffer.alloc(32, digit)) as [Buffer, Buffer, Buffer];
    const given = (...keys: Buffer[]) => new Map([['COMMONPLACE_SECRET_KEY', keys]]);
    const nameOf = (variable: string) => variable;
    const check = (keys: Buffer[], adopt = false) => requireKeys(records, given(...keys), { adopt, nameOf });
    await check([first]);
    await expect(check([second])).rejects.toThrow('COMMONPLACE_SECRET_KEY is not the key');
    await check([second, first]);
    await check([second]);
    await expect(check([first])).rejects.toThrow('is not the key');
    await check([third], true);
    await check([third]);
    const text = JSON.stringify(await records.read());
    for (const key of [first, second, third]) expect(text).not.toContain(key.toString('hex').slice(0, 12));
  });
});

test('an id proves which installation has created it', () => {
  const [mine, other] = [createOwnIds(newId()), createOwnIds(newId())];
  const made = [mine.create(), mine.create(), mine.derive('a'), mine.derive('b')];
  expect(new Set(made).size).toBe(4);
  expect(mine.derive('a')).toBe(made[2]);
  for (const id of made) {
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect([mine.owns(id), other.owns(id)]).toEqual([true, false]);
  }
  for (const id of [newId(), '', 'x'.repeat(36)]) expect(mine.owns(id)).toBe(false);
});

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Collection, CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import { countTurns } from '@commonplace/kit/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createCollection } from '../src/sqlite/collection.js';
import { encodeInPieces, hasLongText } from '../src/sqlite/encode-record.js';
import { openConnection } from '../src/sqlite/file/index.js';
import { portionsOf } from '../src/sqlite/file/portions.js';
import type { Step } from '../src/sqlite/file/writer-protocol.js';
import { openSqliteDatabase, type SqliteDatabase } from '../src/sqlite/index.js';
import { NO_RECORD_CACHE } from '../src/sqlite/record-cache.js';
import { tableShape } from '../src/sqlite/schema.js';

interface Page extends StoredRecord {
  readonly name: string;
  readonly text?: string;
  readonly files?: readonly { readonly path: string; readonly text: string }[];
}

const PAGES: CollectionSpec<Page> = { name: 'pages', indexes: [] };
const LISTED: CollectionSpec<Page> = { name: 'listed', indexes: [{ fields: ['name', 'id'] }] };
const LONG = `"Häuser" \\ \u2028 \u0000 \ud800 😀 ${'One heron.\n'.repeat(400_000)}`;

let folder: string;
let database: SqliteDatabase;
let pages: Collection<Page>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'commonplace-long-'));
  database = await openSqliteDatabase({ file: join(folder, 'long.db') });
  pages = await database.store('long').collection(PAGES);
});

/** Opens the collection of lists once more, and collects the statements that it runs in another thread. */
function observe() {
  const elsewhere: string[] = [];
  const reader = openConnection(join(folder, 'long.db'), { readOnly: true });
  const scanner = {
    all: async (_group: string, ...query: Parameters<typeof reader.all>) => {
      elsewhere.push(query[0]);
      return reader.all(...query);
    },
    close: async () => {},
  };
  const context = { reader, scanner, cache: NO_RECORD_CACHE };
  const observed = createCollection<Page>(context, tableShape('long', LISTED), LISTED);
  return { observed, elsewhere, close: () => reader.close() };
}

afterAll(async () => {
  await database.close();
  await rm(folder, { recursive: true });
});

describe('the JSON of a record with long texts', () => {
  test.each([
    ['a text', { id: 'a', text: LONG, none: undefined, list: [undefined, 1] }],
    ['texts in a list', { id: 'a', files: [{ path: 'x', text: LONG }, { path: 'y' }, { path: 'z', text: LONG }] }],
    ['two-byte text', { id: 'a', text: 'дом "у" реки 😀'.repeat(100_000), after: true }],
  ])('is that of JSON.stringify: %s', async (_, record) => {
    expect(hasLongText(record)).toBe(true);
    expect((await encodeInPieces(record)).join('') === JSON.stringify(record)).toBe(true);
  });

  test('is written with pauses', async () => {
    expect(await countTurns(() => encodeInPieces({ id: 'a', text: LONG }))).toBeGreaterThan(1);
  });

  test('is written at once without a long text', () => {
    expect(hasLongText({ id: 'a', text: 'One heron.', files: [{ path: 'x', text: '' }], none: null })).toBe(false);
  });
});

describe('a record with long texts', () => {
  const files = [{ path: 'x', text: LONG }];

  test('is stored and read as it is', async () => {
    const unit = database.store('long').begin();
    const made = unit.insert(pages, { id: 'made', name: 'Made', text: LONG });
    expect(await unit.get(pages, 'made')).toEqual(made);
    unit.insert(pages, { id: 'short', name: 'Short' });
    await unit.commit();
    expect(await pages.get('made')).toEqual({ id: 'made', version: 1, name: 'Made', text: LONG });
    const next = database.store('long').begin();
    next.replace(pages, made, { ...made, files });
    await next.commit();
    expect(await pages.get('made')).toEqual({ id: 'made', version: 2, name: 'Made', text: LONG, files });
    expect(await pages.getMany(['made', 'short'])).toHaveLength(2);
  });

  test('is not written if another unit was faster', async () => {
    const before = (await pages.get('made')) as Page;
    const late = database.store('long').begin();
    late.replace(pages, before, { ...before, name: 'Late', text: `${LONG}late` });
    const first = database.store('long').begin();
    first.replace(pages, before, { ...before, name: 'First' });
    await first.commit();
    await expect(late.commit()).rejects.toMatchObject({ name: 'LostRace' });
    expect((await pages.get('made'))?.name).toBe('First');
  });

  test('is parsed in a later turn than it arrives in', async () => {
    expect(await countTurns(() => pages.get('made'))).toBeGreaterThan(1);
    expect(await countTurns(() => pages.getMany(['made']))).toBeGreaterThan(1);
    expect(await countTurns(() => pages.get('short'))).toBe(0);
  });

  test('is read in another thread, by itself and as one of several', async () => {
    const listed = await database.store('long').collection(LISTED);
    const unit = database.store('long').begin();
    // The text of `c` is large as one of several alone.
    const texts = { a: LONG, b: 'Short', c: 'One heron.'.repeat(10_000), d: LONG };
    const written = Object.entries(texts).map(([id, text]) => unit.insert(listed, { id, name: 'Listed', text }));
    await unit.commit();
    const [a, b, c, d] = written as [Page, Page, Page, Page];
    const { observed, elsewhere, close } = observe();
    const reads: [() => Promise<unknown>, unknown, number][] = [
      [() => observed.get('b'), b, 0],
      [() => observed.get('c'), c, 0],
      [() => observed.get('d'), d, 1],
      [() => observed.getMany(['c', 'b']), [c, b], 1],
      // Two large records are sent by themselves.
      [() => observed.getMany(['d', 'none', 'b', 'a']), [d, b, a], 2],
      [() => observed.find({ where: { name: 'Listed' }, limit: 10, sort: ['id'] }), [a, b, c, d], 1],
      [() => observed.find({ where: { name: { in: ['Listed', 'No'] } }, limit: 10, sort: ['id'] }), [a, b, c, d], 1],
      [() => observed.find({ where: { name: 'Listed' }, limit: 1000, sort: ['id'] }), [a, b, c, d], 1],
      [() => observed.find({ where: { name: 'Listed' }, limit: 1, sort: ['-id'] }), [d], 1],
      [() => observed.find({ where: { name: 'Listed', id: { lt: 'd', gt: 'a' } }, limit: 1, sort: ['-id'] }), [c], 0],
      [
        () => observed.findAndCount({ where: { name: 'Listed' }, limit: 2, sort: ['id'] }, 9),
        { found: [a, b], count: 4 },
        1,
      ],
    ];
    try {
      for (const [read, records, count] of reads) {
        elsewhere.length = 0;
        expect(await read()).toEqual(records);
        expect(elsewhere).toHaveLength(count);
      }
    } finally {
      close();
    }
  });
});

describe('a large unit', () => {
  const TEXT = 'One heron. '.repeat(2000);
  const begin = (prefix: string) => {
    const unit = database.store('long').begin();
    for (let i = 0; i < 200; i++) unit.insert(pages, { id: `${prefix}${i}`, name: 'Many', text: TEXT });
    return unit;
  };
  const count = (prefix: string) => pages.count({ id: { gte: prefix, lt: `${prefix}~` } });

  test('is sent to the writer in portions of some megabytes', () => {
    const steps = Array.from({ length: 200 }, (_, i): Step => ['', [`${i}`, [TEXT, TEXT], TEXT], 'change']);
    const charsOf = ([, params]: Step) => String(params).length;
    const portions = portionsOf(steps, charsOf);
    expect(portions.flat()).toEqual(steps);
    expect(portions.length).toBeGreaterThan(10);
    expect(portionsOf(steps.slice(0, 3), charsOf)).toEqual([steps.slice(0, 3)]);
    expect(portionsOf([], charsOf)).toEqual([[]]);
  });

  test('takes effect as a whole', async () => {
    await begin('a').commit();
    expect(await count('a')).toBe(200);
    const doubled = begin('b');
    doubled.insert(pages, { id: 'a7', name: 'There is one' });
    await expect(doubled.commit()).rejects.toMatchObject({ name: 'LostRace' });
    const refused = begin('c');
    refused.insert(pages, { id: 'c\0', name: 'NUL' });
    await expect(refused.commit()).rejects.toMatchObject({ reason: 'invalid_value' });
    expect([await count('b'), await count('c')]).toEqual([0, 0]);
    await Promise.all([begin('b').commit(), begin('c').commit()]);
    expect([await count('b'), await count('c')]).toEqual([200, 200]);
  });

  test('that was submitted before the database is closed is committed', async () => {
    const file = join(folder, 'closed.db');
    const first = await openSqliteDatabase({ file });
    const there = await first.store('long').collection(PAGES);
    const unit = first.store('long').begin();
    for (let i = 0; i < 200; i++) unit.insert(there, { id: `${i}`, name: 'Many', text: TEXT });
    await Promise.all([unit.commit(), first.close()]);
    const second = await openSqliteDatabase({ file });
    expect(await (await second.store('long').collection(PAGES)).count({})).toBe(200);
    await second.close();
  });
});

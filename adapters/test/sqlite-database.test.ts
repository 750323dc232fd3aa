import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Collection, CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import { createEvent } from '@commonplace/kit/testing';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { openConnection } from '../src/sqlite/file/index.js';
import { openWriteQueue } from '../src/sqlite/file/write-queue.js';
import { plainStep } from '../src/sqlite/file/writer-protocol.js';
import { openSqliteDatabase, type SqliteDatabase } from '../src/sqlite/index.js';

interface Note extends StoredRecord {
  readonly title: string;
  readonly tags?: readonly string[];
}

const NOTES: CollectionSpec<Note> = { name: 'notes', indexes: [{ fields: ['title'] }] };
const DAY = 24 * 3600 * 1000;

let folder: string;
let database: SqliteDatabase;
let notes: Collection<Note>;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'commonplace-database-'));
  database = await openSqliteDatabase({ file: join(folder, 'new', 'a.db') });
  notes = await database.store('unit').collection(NOTES);
});

afterEach(async () => {
  await database.close();
  await rm(folder, { recursive: true });
});

async function insert(id: string, publish = false): Promise<void> {
  const unit = database.store('unit').begin();
  unit.insert(notes, { id, title: id });
  if (publish) unit.publish(createEvent(id));
  await unit.commit();
}

describe('the database', () => {
  test('is readable by its owner only', async () => {
    await insert('a');
    for (const name of await readdir(join(folder, 'new'))) {
      expect((await stat(join(folder, 'new', name))).mode & 0o077).toBe(0);
    }
  });

  test('opens a collection that another process has created meanwhile', async () => {
    const other = await openSqliteDatabase({ file: join(folder, 'new', 'a.db') });
    const later: CollectionSpec<Note> = { name: 'later', indexes: [{ fields: ['title'] }] };
    await other.store('unit').collection(later);
    const records = await database.store('unit').collection(later);
    const unit = database.store('unit').begin();
    unit.insert(records, { id: 'a', title: 'a' });
    await unit.commit();
    expect(await (await other.store('unit').collection(later)).get('a')).toMatchObject({ title: 'a' });
    await other.close();
  });

  test('completes a collection of which another process has created a part meanwhile', async () => {
    const other = await openSqliteDatabase({ file: join(folder, 'new', 'a.db') });
    const part: CollectionSpec<Note> = { name: 'later', indexes: [] };
    const whole: CollectionSpec<Note> = {
      name: 'later',
      indexes: [{ fields: ['title'] }, { fields: ['tags'], many: true }],
    };
    const before = await other.store('unit').collection(part);
    const unit = other.store('unit').begin();
    unit.insert(before, { id: 'a', title: 'a', tags: ['x'] });
    await unit.commit();
    const records = await database.store('unit').collection(whole);
    for (const where of [{ title: 'a' }, { tags: { contains: 'x' } }]) {
      expect((await records.find({ where, limit: 10 })).map(({ id }) => id)).toEqual(['a']);
    }
    await other.close();
    const reader = openConnection(join(folder, 'new', 'a.db'), { readOnly: true });
    const names = reader.all("SELECT name FROM sqlite_master WHERE tbl_name = 'unit__later'").map(([name]) => name);
    reader.close();
    expect(names).toEqual(expect.arrayContaining(['unit__later__index__title', 'unit__later__tags__insert']));
  });

  test('searches for a text in another thread, and finds what was just committed', async () => {
    await insert('abc');
    // A thread answers by a message, which no microtask brings; what this thread reads is there after a few of them.
    const read = async <R>(found: Promise<R>) => {
      let isThere = false;
      void found.then(() => {
        isThere = true;
      });
      for (let tick = 0; tick < 100; tick++) await undefined;
      return { isAtOnce: isThere, result: await found };
    };
    const where = { title: { substring: 'b' } };
    const found = [expect.objectContaining({ id: 'abc' })];
    expect(await read(notes.find({ where, limit: 9 }))).toEqual({ isAtOnce: false, result: found });
    expect(await read(notes.count({ or: [where] }))).toEqual({ isAtOnce: false, result: 1 });
    const same = { title: 'abc' };
    expect(await read(notes.find({ where: same, limit: 9 }))).toEqual({ isAtOnce: true, result: found });
  });

  test('creates a collection once although many callers open it concurrently', async () => {
    const spec: CollectionSpec<Note> = {
      name: 'many',
      indexes: [{ fields: ['title'] }, { fields: ['tags'], many: true }],
    };
    const all = await Promise.all([1, 2, 3, 4].map(() => database.store('unit').collection(spec)));
    expect(await Promise.all(all.map((one) => one.count({})))).toEqual([0, 0, 0, 0]);
  });

  test('fills a new index of elements from existing records', async () => {
    const unit = database.store('unit').begin();
    unit.insert(notes, { id: 'a', title: 'a', tags: ['x', 'y', 'x'] });
    unit.insert(notes, { id: 'b', title: 'b' });
    await unit.commit();
    const tagged = await database
      .store('unit')
      .collection<Note>({ ...NOTES, indexes: [...NOTES.indexes, { fields: ['tags'], many: true }] });
    const query = { where: { tags: { contains: 'x' } }, limit: 9 };
    expect((await tagged.find(query)).map(({ id }) => id)).toEqual(['a']);
    expect(await tagged.explain(query)).toMatchObject({ indexed: true });
  });

  test('drops the indexes of an earlier version, and keeps the records', async () => {
    await insert('a');
    await database.close();
    const file = join(folder, 'new', 'a.db');
    database = await openSqliteDatabase({ file });
    const later: CollectionSpec<Note> = { name: 'notes', indexes: [{ fields: ['title', 'tags'] }] };
    notes = await database.store('unit').collection(later);
    const reader = openConnection(file, { readOnly: true });
    const indexes = reader.all(
      "SELECT name FROM sqlite_master WHERE tbl_name = 'unit__notes' AND sql LIKE '%INDEX%'",
      [],
    );
    expect(indexes).toEqual([['unit__notes__index__title_tags']]);
    reader.close();
    expect(await notes.find({ where: { title: 'a' }, sort: ['title'], limit: 2 })).toMatchObject([{ id: 'a' }]);
  });

  test('refuses names that are not names', async () => {
    const store = database.store('unit');
    const field = 'a"b' as 'title';
    await expect(store.collection({ name: 'x; DROP TABLE y', indexes: [] })).rejects.toThrow(TypeError);
    await expect(store.collection<Note>({ name: 'x', indexes: [{ fields: [field] }] })).rejects.toThrow(TypeError);
    await expect(notes.find({ where: { [field]: 1 }, limit: 1 })).rejects.toThrow(TypeError);
    await expect(notes.find({ where: {}, sort: [field], limit: 1 })).rejects.toThrow(TypeError);
    await expect(notes.sum(field, {})).rejects.toThrow(TypeError);
  });

  test('finds prefixes at the ends of the Unicode range', async () => {
    const titles = ['a\ud7ff', 'a\ud7ff!', 'a\ue000', '\u{10ffff}', '\u{10ffff}\u{10ffff}x', 'b\u{10ffff}y', 'c'];
    const unit = database.store('unit').begin();
    for (const [at, title] of titles.entries()) unit.insert(notes, { id: `${at}`, title });
    await unit.commit();
    const having = async (prefix: string) => {
      const found = await notes.find({ where: { title: { prefix } }, limit: 99 });
      return found.map(({ id }) => id).join('');
    };
    expect(await having('a\ud7ff')).toBe('01');
    expect(await having('a')).toBe('012');
    expect(await having('\u{10ffff}')).toBe('34');
    expect(await having('\u{10ffff}\u{10ffff}')).toBe('4');
    expect(await having('b\u{10ffff}')).toBe('5');
  });

  test('a cursor of another list is refused as INVALID_ARGUMENT', async () => {
    const other = notes.find({ where: {}, sort: ['title'], limit: 1, after: ['a', 'b', 'c'] });
    await expect(other).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', reason: 'invalid_pagination' });
  });

  test('notifies watchers of a commit before its author', async () => {
    const order: string[] = [];
    await database.bus().watch(['commonplace.>'], ({ subject }) => order.push(`watch ${subject}`));
    await Promise.all(['a', 'b', 'c'].map((id) => insert(id, true).then(() => order.push(`done ${id}`))));
    for (const id of ['a', 'b', 'c']) expect(order.indexOf(`watch ${id}`)).toBeLessThan(order.indexOf(`done ${id}`));
    expect(order).toHaveLength(6);
  });

  test('a unit that fails does not affect another one that is committed at the same time', async () => {
    await insert('taken');
    const results = await Promise.allSettled(['a', 'taken', 'b', 'taken', 'c'].map((id) => insert(id)));
    expect(results.map(({ status }) => status === 'fulfilled')).toEqual([true, false, true, false, true]);
    expect(await notes.count({})).toBe(4);
  });

  test('closing commits pending units', async () => {
    const pending = Promise.all(['a', 'b', 'c'].map((id) => insert(id)));
    await database.close();
    await pending;
    await expect(insert('late')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    database = await openSqliteDatabase({ file: join(folder, 'new', 'a.db') });
    notes = await database.store('unit').collection(NOTES);
    expect(await notes.count({})).toBe(3);
  });

  test('backs up a complete copy during writes', async () => {
    await insert('a', true);
    const copy = join(folder, 'copy.db');
    await Promise.all([database.backup(copy), insert('b')]);
    const opened = openConnection(copy);
    expect(opened.get('PRAGMA integrity_check')).toEqual(['ok']);
    expect(opened.get('SELECT id FROM unit__notes ORDER BY id')).toEqual(['a']);
    expect(opened.get('SELECT count(*) FROM events')).toEqual([1]);
    opened.close();
    expect(await readdir(folder)).not.toContain('copy.db.part');
    expect((await stat(copy)).mode & 0o077).toBe(0);
    await expect(database.backup(copy)).rejects.toThrow('exists already');
  });
});

describe('pruning', () => {
  test('deletes old events that all consumers have handled, and nothing else', async () => {
    const bus = database.bus();
    const done: string[] = [];
    const all = await bus.subscribe({ consumer: 'all', types: ['commonplace.>'] }, async ([event]) => {
      if (event !== undefined) done.push(event.subject);
    });
    await bus.subscribe({ consumer: 'others', types: ['elsewhere.>'] }, async () => {});
    await insert('a', true);
    await insert('b', true);
    while (done.length < 2) await new Promise(setImmediate);
    await all.close();
    await insert('c', true);
    expect(await database.prune()).toBe(0);
    expect(await database.prune(Date.now() + 8 * DAY)).toBe(2);
    expect(await bus.lag('all')).toBe(1);
    // The consumer has been inactive for so long that it no longer prevents deletions.
    expect(await database.prune(Date.now() + 40 * DAY)).toBe(1);
  });
});

describe('a writer that dies', () => {
  test('fails pending and later commits, and is reported', async () => {
    const deaths: unknown[] = [];
    const queue = await openWriteQueue(join(folder, 'b.db'), (cause) => deaths.push(cause));
    await queue.commit([plainStep('CREATE TABLE t (a)')]);
    const waiting = queue.commit([['INSERT INTO t VALUES (?)', [1], 'change']]);
    const ended = queue.thread.terminate();
    await expect(waiting).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await ended;
    await expect(queue.commit([plainStep('DELETE FROM t')])).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(queue.alive).toBe(false);
    expect(deaths).toHaveLength(1);
    await queue.close();
  });

  test('a file that is not a database is refused with a message', async () => {
    await expect(openSqliteDatabase({ file: folder })).rejects.toThrow();
    await expect(openWriteQueue(join(folder, 'none', 'c.db'), () => {})).rejects.toThrow('c.db can');
  });
});

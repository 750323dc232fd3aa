import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Collection, CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import { LostRace } from '@commonplace/kit/store';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { openConnection } from '../src/sqlite/file/binding.js';
import { openSqliteDatabase, type SqliteDatabase } from '../src/sqlite/index.js';
import { createQueryCache } from '../src/sqlite/query-cache.js';
import { createRecordCache } from '../src/sqlite/record-cache.js';

interface Note extends StoredRecord {
  readonly title: string;
  readonly count?: number;
  readonly tags?: readonly string[];
}

const NOTES: CollectionSpec<Note> = { name: 'notes', indexes: [{ fields: ['title'] }], cachesQueries: true };
const CACHE_CHARS = 2 ** 20;

let folder: string;
let file: string;
let owner: SqliteDatabase;
let notes: Collection<Note>;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'commonplace-cache-'));
  file = join(folder, 'a.db');
  owner = await openSqliteDatabase({ file, cacheChars: CACHE_CHARS });
  notes = await owner.store('unit').collection(NOTES);
});

afterEach(async () => {
  await owner.close();
  await rm(folder, { recursive: true });
});

async function insert(id: string): Promise<Note> {
  const unit = owner.store('unit').begin();
  const note = unit.insert(notes, { id, title: id, tags: ['x'] });
  await unit.commit();
  return note;
}

async function retitle(database: SqliteDatabase, before: Note, title: string): Promise<Note> {
  const unit = database.store('unit').begin();
  const after = unit.replace(await database.store('unit').collection(NOTES), before, { ...before, title });
  await unit.commit();
  return after;
}

describe('records in memory', () => {
  test('never exceed the size of the cache, even if one is larger than all of it', () => {
    const cache = createRecordCache(100, () => 0);
    const ids = Array.from({ length: 20 }, (_, i) => `n${i}`);
    for (const [i, id] of ids.entries()) {
      cache.get('notes', id);
      cache.put('notes', { id, version: 1 }, i < 10 ? 500 : 40);
    }
    expect(ids.filter((id) => cache.get('notes', id) !== undefined)).toEqual(['n18', 'n19']);
  });

  test('are evicted in the order of their last use, which a test of a candidate is not', () => {
    const cache = createRecordCache(100, () => 0);
    const put = (id: string) => {
      cache.get('notes', id);
      cache.put('notes', { id, version: 1 }, 40);
    };
    put('a');
    put('b');
    expect(cache.peek('notes', 'a')).toMatchObject({ id: 'a' });
    put('c');
    expect(cache.peek('notes', 'a')).toBeUndefined();
    cache.get('notes', 'b');
    put('d');
    expect(cache.peek('notes', 'b')).toMatchObject({ id: 'b' });
    expect(cache.peek('notes', 'c')).toBeUndefined();
  });

  test('count as used when a filtered page returns them, not when it only tests them', async () => {
    await owner.close();
    const chars = 1000;
    owner = await openSqliteDatabase({ file, cacheChars: chars });
    notes = await owner.store('unit').collection(NOTES);
    const unit = owner.store('unit').begin();
    const padding = 'x'.repeat(chars / 4);
    for (const id of ['a', 'b', 'c', 'd']) {
      unit.insert(notes, { id, title: id === 'd' ? 'other' : 'same', tags: [id, padding] });
    }
    await unit.commit();
    const [a, b] = [await notes.get('a'), await notes.get('b')];
    await notes.get('c');
    const page = { where: { title: 'same', tags: { contains: 'a' } }, limit: 10 };
    expect(await notes.find(page)).toEqual([a]);
    await notes.get('d');
    expect(await notes.get('a')).toBe(a);
    expect(await notes.get('b')).not.toBe(b);
  });

  test('are the same object for all readers, which cannot change it', async () => {
    await insert('a');
    const first = await notes.get('a');
    expect(await notes.get('a')).toBe(first);
    expect(await notes.getMany(['a', 'b'])).toEqual([first]);
    expect(() => (first as { tags: string[] } | undefined)?.tags.push('y')).toThrow(TypeError);
  });

  test('show each commit of their own process at once', async () => {
    let note = await insert('a');
    for (let i = 0; i < 20; i++) {
      await notes.get('a');
      note = await retitle(owner, note, `title ${i}`);
      expect(await notes.get('a')).toEqual(note);
    }
    const unit = owner.store('unit').begin();
    unit.increment(notes, 'a', 'count', 3, {});
    await unit.commit();
    expect(await notes.get('a')).toMatchObject({ count: 3 });
    const removal = owner.store('unit').begin();
    removal.remove(notes, note);
    await removal.commit();
    expect(await notes.get('a')).toBeUndefined();
  });

  test('never go back to an older version while a unit is being committed', async () => {
    let note = await insert('a');
    const seen: number[] = [];
    for (let i = 0; i < 50; i++) {
      await notes.get('a');
      let committed = false;
      const written = retitle(owner, note, `title ${i}`).then((after) => {
        committed = true;
        return after;
      });
      while (!committed) {
        for (const limit of [1, 5]) {
          seen.push((await notes.find({ where: { title: { prefix: '' } }, limit }))[0]?.version ?? 0);
        }
        seen.push((await notes.get('a'))?.version ?? 0);
        await nextTurn();
      }
      note = await written;
    }
    expect(seen).toEqual([...seen].sort((a, b) => a - b));
  });

  test('stay readable after a unit that failed', async () => {
    const note = await insert('a');
    await retitle(owner, note, 'second');
    await expect(retitle(owner, note, 'third')).rejects.toBeInstanceOf(LostRace);
    const found = await notes.get('a');
    expect(found).toMatchObject({ title: 'second' });
    expect(await notes.get('a')).toBe(found);
  });

  test('show commits of another process in the next turn of the event loop', async () => {
    const note = await insert('a');
    const beside = await openSqliteDatabase({ file });
    try {
      let before = note;
      for (let i = 0; i < 5; i++) {
        expect(await notes.get('a')).toEqual(before);
        before = await retitle(beside, before, `beside ${i}`);
        await nextTurn();
        expect(await notes.get('a')).toEqual(before);
        expect((await notes.getMany(['a', 'none']))[0]).toEqual(before);
      }
    } finally {
      await beside.close();
    }
  });
});

describe('answers in memory', () => {
  const found = async (title: string) => (await notes.find({ where: { title }, limit: 1000 })).map(({ id }) => id);

  test('need no file until the next write to their collection', async () => {
    await insert('a');
    expect([await found('a'), await found('b')]).toEqual([['a'], []]);
    const tool = openConnection(file);
    tool.run("UPDATE unit__notes SET doc = json_set(doc, '$.title', 'b')");
    tool.close();
    expect([await found('a'), await found('b')]).toEqual([['a'], []]);
    await insert('c');
    expect([await found('a'), await found('b')]).toEqual([[], ['a']]);
  });

  test('show each commit of their own process at once', async () => {
    let note = await insert('a');
    for (let i = 0; i < 20; i++) {
      const title = `title ${i}`;
      expect(await found(title)).toEqual([]);
      note = await retitle(owner, note, title);
      expect(await found(title)).toEqual(['a']);
    }
  });

  test('never go back while a unit is being committed', async () => {
    for (let i = 0; i < 20; i++) {
      let committed = false;
      const written = insert(`n${i}`).then(() => {
        committed = true;
      });
      const seen: number[] = [];
      while (!committed) {
        seen.push((await notes.find({ where: { title: { prefix: 'n' } }, limit: 100 })).length);
        await nextTurn();
      }
      await written;
      expect(seen).toEqual([...seen].sort((a, b) => a - b));
      expect(await notes.find({ where: { title: { prefix: 'n' } }, limit: 100 })).toHaveLength(i + 1);
    }
  });

  test('show commits of another process in the next turn of the event loop', async () => {
    const note = await insert('a');
    const beside = await openSqliteDatabase({ file });
    try {
      expect(await found('other')).toEqual([]);
      await retitle(beside, note, 'other');
      await nextTurn();
      expect(await found('other')).toEqual(['a']);
    } finally {
      await beside.close();
    }
  });

  test('are not kept while a unit is writing to the table, nor beyond the size', () => {
    const answers = createQueryCache(60);
    const include = answers.exclude(new Set(['notes']));
    answers.put('notes', 'q', ['a']);
    expect(answers.get('notes', 'q')).toBeUndefined();
    include();
    answers.put('notes', 'q', ['a']);
    answers.put('others', 'q', ['b']);
    expect([answers.get('notes', 'q'), answers.get('others', 'q')]).toEqual([['a'], ['b']]);
    answers.put('notes', 'r', ['x'.repeat(57)]);
    expect([answers.get('notes', 'q'), answers.get('notes', 'r')]).toEqual([undefined, ['x'.repeat(57)]]);
    answers.put('notes', 's', ['x'.repeat(61)]);
    expect(answers.get('notes', 's')).toBeUndefined();
  });
});

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import { countTurns } from '@commonplace/kit/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openSqliteDatabase, type SqliteDatabase } from '../src/sqlite/index.js';
import { createPace } from '../src/sqlite/paced-reads.js';

interface Note extends StoredRecord {
  readonly owner: string;
}

const NOTES: CollectionSpec<Note> = { name: 'notes', indexes: [{ fields: ['owner'] }] };

let folder: string;
let database: SqliteDatabase;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'commonplace-paced-'));
  database = await openSqliteDatabase({ file: join(folder, 'paced.db'), cacheChars: 1_000_000 });
});

afterAll(async () => {
  await database.close();
  await rm(folder, { recursive: true });
});

test('other work runs during a loop of reads, each of which is done when its call returns', async () => {
  const store = database.store('paced');
  const notes = await store.collection(NOTES);
  const unit = store.begin();
  unit.insert(notes, { id: 'a', owner: 'ann' });
  await unit.commit();
  const turns = await countTurns(async () => {
    for (let i = 0; i < 6_000; i++) {
      expect(await notes.find({ where: { owner: i % 2 === 0 ? 'ann' : 'ben' }, limit: 10 })).toHaveLength(1 - (i % 2));
    }
  });
  expect(turns).toBeGreaterThan(2);
});

describe('the pace', () => {
  const spend = (ms: number) => {
    for (const until = performance.now() + ms; performance.now() < until; );
  };

  test('lets all reads of a row wait together, and none of another row', async () => {
    const pace = createPace();
    const first = await Promise.resolve().then(() => {
      expect(pace()).toBeUndefined();
      spend(11);
      const pause = pace();
      expect(pause).toBeInstanceOf(Promise);
      expect(pace()).toBe(pause);
      // As an object, so that the promise is not awaited.
      return { pause };
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(pace()).toBeUndefined();
    await first.pause;
    expect(pace()).toBeUndefined();
  });

  test('lets reads that belong to no row go on', async () => {
    const pace = createPace();
    for (let i = 0; i < 3; i++) {
      await new Promise((resolve) => setImmediate(resolve));
      expect(pace()).toBeUndefined();
      spend(11);
    }
  });
});

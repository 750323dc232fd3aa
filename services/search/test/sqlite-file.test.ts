import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openConnection } from '@commonplace/adapters/sqlite/file';
import { afterAll, describe, expect, test } from '@jest/globals';
import { chunk, createBench, entry, MODEL, unit } from '../src/index/contract/harness.js';
import { IndexFailure } from '../src/index/port.js';
import { openSqliteIndex } from '../src/index/sqlite/index.js';
import { openIndexThread } from '../src/index/sqlite/thread.js';

const folder = mkdtempSync(join(tmpdir(), 'search-file-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Creates a complete index with one entry at a path. */
async function filled(name: string): Promise<string> {
  const path = join(folder, name);
  const index = await openSqliteIndex({ path });
  const rebuild = await index.rebuild();
  await rebuild.add([entry('a', { text: 'word' })]);
  await rebuild.commit();
  await index.close();
  return path;
}

async function reopen(path: string): Promise<{ needsRebuild: boolean; ids: string[] }> {
  const index = await openSqliteIndex({ path });
  const answer = { needsRebuild: await index.needsRebuild(), ids: await createBench(index).ids('word') };
  await index.close();
  return answer;
}

describe('index file', () => {
  test('survives a restart', async () => {
    expect(await reopen(await filled('kept.db'))).toEqual({ needsRebuild: false, ids: ['a'] });
  });

  test('is incomplete when new', async () => {
    expect(await reopen(join(folder, 'new.db'))).toEqual({ needsRebuild: true, ids: [] });
  });

  test('contains after a restart what was acknowledged before an unfinished rebuild', async () => {
    const path = join(folder, 'young.db');
    const index = await openSqliteIndex({ path });
    await index.upsert([entry('a', { text: 'word' })]);
    await index.close();
    expect(await reopen(path)).toEqual({ needsRebuild: true, ids: ['a'] });
  });

  test('is created anew when it has another version', async () => {
    const path = await filled('old.db');
    const db = openConnection(path);
    db.run('UPDATE facts SET value = ? WHERE name = ?', ['0', 'stamp']);
    db.close();
    expect(await reopen(path)).toEqual({ needsRebuild: true, ids: [] });
  });

  test('takes the vectors of unchanged texts from a file of another version', async () => {
    const path = join(folder, 'former.db');
    const before = await openSqliteIndex({ path });
    const entries = ['a', 'b', 'c'].map((id) => entry(id, { text: `text of ${id}` }));
    const rebuild = await before.rebuild();
    await rebuild.add(entries);
    await rebuild.commit();
    await createBench(before).embed({ a: [chunk(unit(1, 0, 0, 0))], b: [chunk(unit(0, 1, 0, 0))] });
    await before.close();
    const db = openConnection(path);
    db.run('UPDATE facts SET value = ? WHERE name = ?', ['0', 'stamp']);
    db.close();

    // After an aborted first attempt the second one still finds what it can reuse.
    const young = await openSqliteIndex({ path });
    expect(await young.needsRebuild()).toBe(true);
    await (await young.rebuild()).abort();
    await young.close();
    const after = await openSqliteIndex({ path });
    const anew = await after.rebuild();
    await anew.add(entries.map((one) => (one.id === 'b' ? { ...one, text: 'another text' } : one)));
    await anew.commit();
    expect((await createBench(after).near(unit(1, 0, 0, 0))).map(({ id }) => id)).toEqual(['a']);
    expect(await after.vectorStats(MODEL.id)).toEqual({ embedded: 1, pending: 2, chunks: 1 });
    expect(existsSync(`${path}.former`)).toBe(false);
    await after.close();
  });

  test('is created anew when it is damaged', async () => {
    const path = await filled('damaged.db');
    writeFileSync(path, 'this is no database at all, but it is longer than a header would be'.repeat(100));
    expect(await reopen(path)).toEqual({ needsRebuild: true, ids: [] });
  });

  test('drops the remains of an interrupted rebuild', async () => {
    const path = await filled('left.db');
    writeFileSync(`${path}.next`, 'half');
    expect(await reopen(path)).toEqual({ needsRebuild: false, ids: ['a'] });
    expect(existsSync(`${path}.next`)).toBe(false);
  });

  test('completes accepted writes before it closes', async () => {
    const path = await filled('closing.db');
    const index = await openSqliteIndex({ path });
    const writing = index.upsert(Array.from({ length: 200 }, (_, i) => entry(`n${i}`, { text: 'word' })));
    await index.close();
    await writing;
    expect((await reopen(path)).ids.length).toBe(50);
    await expect(index.stats()).rejects.toThrow(IndexFailure);
  });

  test('fails with a readable message when the folder is missing', async () => {
    await expect(openSqliteIndex({ path: join(folder, 'no', 'such', 'folder', 'search.db') })).rejects.toThrow(
      IndexFailure,
    );
  });

  test('starts a new thread for the next task when the old one has ended', async () => {
    const path = join(folder, 'later', 'search.db');
    const thread = openIndexThread({ path });
    await expect(thread.do({ kind: 'stats' })).rejects.toThrow(IndexFailure);
    mkdirSync(join(folder, 'later'));
    expect(await thread.do({ kind: 'stats' })).toMatchObject({ entries: 0 });
    await thread.close();
  });

  test('fails only the invalid change of a group', async () => {
    const index = await openSqliteIndex({ path: await filled('poison.db') });
    const poison = index.upsert([entry('p', { metadataJson: 'no JSON' })]);
    const good = index.upsert([entry('g', { text: 'word' })]);
    await expect(poison).rejects.toThrow(IndexFailure);
    await good;
    expect((await createBench(index).ids('word')).sort()).toEqual(['a', 'g']);
    await index.close();
  });

  test('does not return cached answers from before a write', async () => {
    const index = await openSqliteIndex({ path: await filled('answers.db') });
    const { ids } = createBench(index);
    for (let i = 0; i < 20; i++) {
      const before = ids('word');
      await index.upsert([entry(`n${i}`, { text: 'word' })]);
      await before;
      expect((await ids('word')).length).toBe(i + 2);
    }
    await index.close();
  });
});

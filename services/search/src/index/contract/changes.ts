import { expect, test } from '@jest/globals';
import { entry, everythingIn, type Use } from './harness.js';

export function changeDuties(use: Use): void {
  test('removes entries with their words', async () => {
    const { hold, ids, index } = use();
    await hold(entry('a', { text: 'word' }), entry('b', { text: 'word' }));
    await index.remove(['a', 'unknown']);
    expect(await ids('word')).toEqual(['b']);
    await index.remove(['b']);
    expect(await ids('word')).toEqual([]);
  });

  test('replaces the old text by the new one', async () => {
    const { hold, ids, index } = use();
    await hold(entry('a', { name: 'Before', text: 'old words' }), entry('b', { text: 'other' }));
    expect(await ids('old')).toEqual(['a']);
    await index.upsert([entry('a', { name: 'After', text: 'new words', version: 2, contentVersion: 2 })]);
    expect(await ids('old')).toEqual([]);
    expect(await ids('before')).toEqual([]);
    expect(await ids('new')).toEqual(['a']);
    expect(await ids('"new words"')).toEqual(['a']);
    expect(await ids('wor')).toEqual(['a']);
  });

  test('ignores an older state, but not an equally old one', async () => {
    const { hold, ids, index } = use();
    const at = (version: number, contentVersion: number, updatedAt: string, text: string) =>
      entry('a', { version, contentVersion, updatedAt, text });
    await hold(at(5, 3, '2026-02-01T00:00:00.000Z', 'present'));
    await index.upsert([at(4, 9, '2026-09-01T00:00:00.000Z', 'stale')]);
    await index.upsert([at(5, 2, '2026-09-01T00:00:00.000Z', 'stale')]);
    await index.upsert([at(5, 3, '2026-01-01T00:00:00.000Z', 'stale')]);
    expect(await ids('stale')).toEqual([]);
    expect(await ids('present')).toEqual(['a']);
    await index.upsert([{ ...at(5, 3, '2026-02-01T00:00:00.000Z', 'present'), boundaryId: 'moved' }]);
    const filter = { ...everythingIn('ws-1'), openWorkspaceIds: [], boundaryIds: ['moved'] };
    expect(await ids('present', { filter })).toEqual(['a']);
  });

  test('applies the changes of one call in order', async () => {
    const { hold, ids, index } = use();
    await hold();
    await index.upsert([entry('a', { text: 'first' }), entry('a', { text: 'second', version: 2 })]);
    expect(await ids('first')).toEqual([]);
    expect(await ids('second')).toEqual(['a']);
    const done = Promise.all([index.remove(['a']), index.upsert([entry('a', { text: 'third' })]), index.remove(['b'])]);
    await done;
    expect(await ids('third')).toEqual(['a']);
    await index.remove(['a']);
  });

  test('moves an entry to another workspace and tenant', async () => {
    const { hold, ids, index } = use();
    await hold(entry('a', { text: 'word' }), entry('b', { text: 'word' }));
    await index.upsert([entry('a', { text: 'word', tenant: 'org-2', workspaceId: 'ws-9', version: 2 })]);
    expect(await ids('word')).toEqual(['b']);
    expect(await ids('word', { filter: everythingIn('ws-9') })).toEqual(['a']);
  });

  test('applies a long call completely', async () => {
    const { hold, ask } = use();
    await hold(...Array.from({ length: 300 }, (_, i) => entry(`n${i}`, { text: `word number ${i}` })));
    expect((await ask('word')).total).toBe(300);
    expect((await ask('number 299')).hits[0]?.id).toBe('n299');
  });

  test('replaces everything in a rebuild, accepts changes meanwhile, and does not restore removed entries', async () => {
    const { hold, ids, index } = use();
    await hold(entry('gone', { text: 'word' }), entry('kept', { text: 'word' }), entry('removed', { text: 'word' }));
    const rebuild = await index.rebuild();
    await rebuild.add([entry('kept', { text: 'word' })]);
    await index.remove(['removed']);
    await index.upsert([entry('fresh', { text: 'word now', version: 2 })]);
    expect((await ids('word')).sort()).toEqual(['fresh', 'gone', 'kept']);
    await rebuild.add([entry('removed', { text: 'word' }), entry('fresh', { text: 'word before' })]);
    await rebuild.commit();
    expect((await ids('word')).sort()).toEqual(['fresh', 'kept']);
    expect(await ids('now')).toEqual(['fresh']);
    expect(await index.needsRebuild()).toBe(false);
    await index.remove(['fresh', 'kept']);
  });

  test('leaves everything unchanged when a rebuild is aborted', async () => {
    const { hold, ids, index } = use();
    await hold(entry('a', { text: 'word' }));
    const rebuild = await index.rebuild();
    await rebuild.add([entry('b', { text: 'word' })]);
    await rebuild.abort();
    expect(await ids('word')).toEqual(['a']);
  });

  test('counts the entries in the stats', async () => {
    const { hold, index } = use();
    await hold(entry('a'), entry('b'));
    const stats = await index.stats();
    expect(stats.entries).toBe(2);
    expect(stats.bytes).toBeGreaterThan(0);
  });
}

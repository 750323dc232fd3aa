import { expect, test } from '@jest/globals';
import { entry, type Use } from './harness.js';

export function inspectionDuties(use: Use): void {
  test('counts entries by workspace', async () => {
    const { hold, index } = use();
    await hold(entry('a'), entry('b'), entry('c', { workspaceId: 'ws-9', tenant: 'org-2' }));
    expect([...(await index.counts())].sort()).toEqual([
      ['ws-1', 2],
      ['ws-9', 1],
    ]);
    await index.upsert([entry('b', { workspaceId: 'ws-9', tenant: 'org-2', version: 2 })]);
    await index.remove(['a']);
    expect([...(await index.counts())]).toEqual([['ws-9', 2]]);
    expect([...(await index.idsOf('ws-9'))].sort()).toEqual(['b', 'c']);
    expect(await index.idsOf('ws-1')).toEqual([]);
    expect(await index.idsOf("'); --")).toEqual([]);
  });

  test('returns the stored states', async () => {
    const { hold, index } = use();
    const updatedAt = '2026-03-01T10:20:30.456Z';
    await hold(entry('a', { boundaryId: 'b1', version: 7, contentVersion: 3, updatedAt }), entry('b'));
    await index.upsert([entry('a', { version: 6 })]);
    const states = await index.states(['a', 'unknown', 'b', 'x\0']);
    expect([...states.keys()].sort()).toEqual(['a', 'b']);
    expect(states.get('a')).toEqual({
      workspaceId: 'ws-1',
      boundaryId: 'b1',
      version: 7,
      contentVersion: 3,
      updatedAt,
    });
    expect((await index.states([])).size).toBe(0);
  });

  test('samples entries at random', async () => {
    const { hold, index } = use();
    await hold(...Array.from({ length: 200 }, (_, i) => entry(`n${i}`, i % 4 === 0 ? { tenant: 'org-2' } : {})));
    const seen = new Set<string>();
    for (let round = 0; round < 10; round++) {
      const ids = await index.sample(20);
      expect(new Set(ids).size).toBe(20);
      for (const id of ids) seen.add(id);
    }
    expect(seen.size).toBeGreaterThan(60);
    await hold(entry('a'), entry('b'));
    expect([...(await index.sample(20))].sort()).toEqual(['a', 'b']);
    await hold();
    expect(await index.sample(20)).toEqual([]);
  });

  test('describes the current index while a rebuild is running', async () => {
    const { hold, index } = use();
    await hold(entry('a'), entry('b'));
    const rebuild = await index.rebuild();
    await rebuild.add([entry('c')]);
    await index.remove(['b']);
    expect([...(await index.counts())]).toEqual([['ws-1', 1]]);
    expect(await index.sample(5)).toEqual(['a']);
    await rebuild.commit();
    expect([...(await index.counts())]).toEqual([['ws-1', 1]]);
    expect(await index.idsOf('ws-1')).toEqual(['c']);
    await index.remove(['a', 'c']);
  });
}

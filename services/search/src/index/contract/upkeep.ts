import { expect, test } from '@jest/globals';
import { chunk, entry, MODEL, modelOf, type Use, unit } from './harness.js';

const EAST = unit(1, 0, 0, 0);
const NORTH = unit(0, 1, 0, 0);

export function upkeepDuties(use: Use): void {
  const needy = async (model = MODEL.id, limit = 100): Promise<string[]> =>
    (await use().index.unembedded(model, limit)).map(({ id }) => id);
  const nearby = async (model = MODEL.id): Promise<string[]> => (await use().near(EAST, { model })).map(({ id }) => id);

  test('lists entries without vectors, latest changes first', async () => {
    const { hold, embed, index } = use();
    await hold(entry('a', { text: 'first' }), entry('b', { text: 'second' }), entry('c', { text: '' }));
    await index.upsert([entry('a', { text: 'first again', version: 2 })]);
    expect((await needy())[0]).toBe('a');
    expect((await needy()).sort()).toEqual(['a', 'b', 'c']);
    expect((await needy(MODEL.id, 2)).length).toBe(2);
    const [a] = await index.unembedded(MODEL.id, 1);
    expect(a).toMatchObject({ id: 'a', name: 'a', text: 'first again', type: entry('a').type });
    await embed({ a: [chunk(EAST), chunk(NORTH)], c: [] });
    expect(await needy()).toEqual(['b']);
    expect(await index.vectorStats(MODEL.id)).toEqual({ embedded: 2, pending: 1, chunks: 2 });
    expect(await nearby()).toEqual(['a']);
  });

  test('requires new vectors for a new text or name, and uses the old ones until then', async () => {
    const { hold, embed, index, near } = use();
    await hold(entry('a', { text: 'old text' }), entry('b', { text: 'other' }));
    await embed({ a: [chunk(EAST, 0, 8)], b: [chunk(NORTH, 0, 5)] });
    expect(await needy()).toEqual([]);
    await index.upsert([entry('a', { text: 'new', version: 2, contentVersion: 2 })]);
    expect(await needy()).toEqual(['a']);
    expect((await near(EAST))[0]).toMatchObject({ id: 'a', chunk: { text: 'new' } });
    await index.upsert([entry('b', { name: 'Renamed', text: 'other', version: 2 })]);
    expect((await needy())[0]).toBe('b');
    await embed({ a: [chunk(NORTH, 0, 3)], b: [chunk(EAST, 0, 5)] });
    expect((await near(EAST)).map(({ id }) => id)).toEqual(['b', 'a']);
    expect(await index.vectorStats(MODEL.id)).toEqual({ embedded: 2, pending: 0, chunks: 2 });
  });

  test('requires no new vectors for other changes', async () => {
    const { hold, embed, index } = use();
    const one = entry('a', { text: 'text' });
    await hold(one);
    await embed({ a: [chunk(EAST)] });
    await index.upsert([{ ...one, tags: ['t'], ancestorIds: ['top'], version: 2 }]);
    expect(await needy()).toEqual([]);
    expect(await nearby()).toEqual(['a']);
  });

  test('refuses vectors of a changed text or a deleted entry', async () => {
    const { hold, index } = use();
    await hold(entry('a', { text: 'before' }), entry('b', { text: 'gone soon' }));
    const stale = await index.unembedded(MODEL.id, 10);
    await index.upsert([entry('a', { text: 'after', version: 2, contentVersion: 2 })]);
    await index.remove(['b']);
    await index.putVectors(
      MODEL,
      stale.map(({ id, textHash }) => ({ id, textHash, chunks: [chunk(EAST)] })),
    );
    expect(await nearby()).toEqual([]);
    expect(await needy()).toEqual(['a']);
    expect(await index.vectorStats(MODEL.id)).toEqual({ embedded: 0, pending: 1, chunks: 0 });
  });

  test('deletes vectors with their entry', async () => {
    const { hold, embed, index } = use();
    await hold(entry('a', { text: 'text' }), entry('b', { text: 'text' }));
    await embed({ a: [chunk(EAST)], b: [chunk(NORTH)] });
    await index.remove(['a']);
    expect(await nearby()).toEqual(['b']);
    await index.upsert([entry('a', { text: 'text' })]);
    expect(await nearby()).toEqual(['b']);
    expect(await needy()).toEqual(['a']);
  });

  test('keeps separate vectors for each model', async () => {
    const { hold, embed, index } = use();
    const other = modelOf('contract-other', 4);
    await hold(entry('a', { text: 'text' }), entry('b', { text: 'text' }));
    await embed({ a: [chunk(EAST)] });
    await embed({ b: [chunk(EAST)] }, other);
    expect(await nearby()).toEqual(['a']);
    expect(await nearby(other.id)).toEqual(['b']);
    expect(await needy(other.id)).toEqual(['a']);
    expect((await index.models()).filter(({ id }) => [MODEL.id, other.id].includes(id))).toEqual(
      expect.arrayContaining([MODEL, other]),
    );
    await index.dropVectors(other.id);
    expect(await nearby(other.id)).toEqual([]);
    expect(await nearby()).toEqual(['a']);
    expect((await index.models()).map(({ id }) => id)).not.toContain(other.id);
    expect((await needy(other.id)).sort()).toEqual(['a', 'b']);
    expect(await index.vectorStats(other.id)).toEqual({ embedded: 0, pending: 2, chunks: 0 });
  });

  test('keeps the vectors of unchanged texts in a rebuild, and accepts new ones meanwhile', async () => {
    const { hold, embed, index } = use();
    const kept = entry('kept', { text: 'text of kept' });
    const changed = entry('changed', { text: 'text of changed' });
    const gone = entry('gone', { text: 'text of gone' });
    const touched = entry('touched', { text: 'touched meanwhile' });
    const late = entry('late', { text: 'embedded meanwhile' });
    await hold(kept, changed, gone, touched, late);
    await embed({
      kept: [chunk(EAST, 0, 7)],
      changed: [chunk(EAST)],
      gone: [chunk(EAST)],
      touched: [chunk(unit(1, 0.3, 0, 0))],
    });
    const rebuild = await index.rebuild();
    await rebuild.add([kept, { ...changed, text: 'changed text', version: 2 }, late]);
    await index.upsert([{ ...touched, tags: ['t'], version: 2 }]);
    await embed({ late: [chunk(unit(1, 0.5, 0, 0))] });
    expect((await nearby()).sort()).toEqual(['changed', 'gone', 'kept', 'late', 'touched']);
    await rebuild.commit();
    expect(await nearby()).toEqual(['kept', 'touched', 'late']);
    expect(await needy()).toEqual(['changed']);
    expect((await use().near(EAST))[0]?.chunk).toMatchObject({ start: 0, end: 7, text: 'text of' });
    expect(await index.vectorStats(MODEL.id)).toEqual({ embedded: 3, pending: 1, chunks: 3 });
    await index.remove(['kept', 'changed', 'touched', 'late']);
  });

  test('handles hostile texts and numbers', async () => {
    const { hold, embed, index, near } = use();
    await hold(entry('a', { name: 'nul\0', text: 'half \ud800 and \0' }), entry('empty', { name: '', text: '' }));
    const found = await index.unembedded(MODEL.id, 10);
    expect(found.map(({ id }) => id).sort()).toEqual(['a', 'empty']);
    await embed({ a: [chunk(EAST, 3, 2), chunk(NORTH, 900, 901)], empty: [] });
    expect((await near(EAST))[0]).toMatchObject({ id: 'a', chunk: { text: '' } });
    await index.putVectors(MODEL, []);
    expect(await index.unembedded("x'; --", 1)).toHaveLength(1);
    await index.dropVectors("x'; --");
  });
}

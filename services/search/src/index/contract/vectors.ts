import { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { expect, test } from '@jest/globals';
import type { NearHit } from '../port.js';
import { admitting, chunk, entry, everythingIn, modelOf, type Use, unit, WORKSPACE } from './harness.js';

const ids = (hits: readonly NearHit[]): string[] => hits.map(({ id }) => id);
const EAST = unit(1, 0, 0, 0);
const NORTH = unit(0, 1, 0, 0);
const WEST = unit(-1, 0, 0, 0);

/** Returns a deterministic generator of numbers between -1 and 1. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state / 2 ** 31 - 1;
  };
}

export function vectorDuties(use: Use): void {
  test('returns the most similar entries first, with their similarity', async () => {
    const { hold, embed, near } = use();
    await hold(entry('east'), entry('northeast'), entry('north'), entry('west'), entry('none'));
    await embed({
      east: [chunk(EAST)],
      northeast: [chunk(unit(1, 1, 0, 0))],
      north: [chunk(NORTH)],
      west: [chunk(WEST)],
    });
    const hits = await near(EAST);
    expect(ids(hits)).toEqual(['east', 'northeast', 'north', 'west']);
    for (const [i, cosine] of [1, Math.SQRT1_2, 0, -1].entries()) expect(hits[i]?.similarity).toBeCloseTo(cosine, 1);
    expect(hits[0]?.type).toBe(ResourceType.DOCUMENT);
    expect(ids(await near(EAST, { limit: 2 }))).toEqual(['east', 'northeast']);
    expect(ids(await near(EAST, { minSimilarity: 0.5 }))).toEqual(['east', 'northeast']);
    expect(await near(EAST, { model: 'unknown' })).toEqual([]);
  });

  test('ranks an entry by its best chunk, or each chunk separately', async () => {
    const { hold, embed, near } = use();
    await hold(entry('two', { text: 'first half. second half.' }), entry('one', { text: 'whole 🎉' }));
    await embed({
      two: [chunk(unit(1, 0.2, 0, 0), 0, 11), chunk(NORTH, 12, 24)],
      one: [chunk(unit(1, 1, 0, 0), 0, 8)],
    });
    const byEntry = await near(NORTH);
    expect(byEntry.map(({ id, chunk: { text } }) => [id, text])).toEqual([
      ['two', 'second half.'],
      ['one', 'whole 🎉'],
    ]);
    expect(byEntry[0]?.chunk).toMatchObject({ start: 12, end: 24 });
    const byChunk = await near(NORTH, { groupBy: 'chunk' });
    expect(byChunk.map(({ chunk: { text } }) => text)).toEqual(['second half.', 'whole 🎉', 'first half.']);
    expect((await near(NORTH, { groupBy: 'chunk', limit: 2 })).length).toBe(2);
    const bare = await near(NORTH, { bare: true });
    expect(bare.map(({ id, chunk: { start, end, text } }) => [id, start, end, text])).toEqual([
      ['two', 12, 24, ''],
      ['one', 0, 8, ''],
    ]);
  });

  test('returns only admitted entries', async () => {
    const { hold, embed, near } = use();
    const all = [
      entry('plain'),
      entry('secret', { boundaryId: 'secret' }),
      entry('below', { boundaryId: 'secret', ancestorIds: ['secret'] }),
      entry('cut', { boundaryId: 'deeper', ancestorIds: ['secret'] }),
      entry('mine', { boundaryId: 'b', directPrincipals: ['user:1'] }),
      entry('elsewhere', { workspaceId: 'ws-2' }),
      entry('foreign', { workspaceId: 'ws-9', tenant: 'org-2' }),
    ];
    await hold(...all);
    await embed(Object.fromEntries(all.map(({ id }) => [id, [chunk(EAST)]])));
    const seen = async (filter: Parameters<typeof admitting>[0]) =>
      ids(await near(EAST, { filter: admitting(filter) })).sort();
    expect(await seen({})).toEqual([]);
    expect(await seen({ boundaryIds: [WORKSPACE] })).toEqual(['plain']);
    expect(await seen({ boundaryIds: ['secret'] })).toEqual(['below', 'secret']);
    expect(await seen({ principals: ['user:1'] })).toEqual(['mine']);
    expect(await seen({ granted: [{ resourceId: 'secret', boundaryId: 'secret' }] })).toEqual(['below', 'secret']);
    expect(ids(await near(EAST)).sort()).toEqual(['below', 'cut', 'mine', 'plain', 'secret']);
    expect(ids(await near(EAST, { filter: everythingIn('ws-9') }))).toEqual(['foreign']);
    expect(await near(EAST, { filter: everythingIn('ws-unknown') })).toEqual([]);
  });

  test('applies changes of entries to the filter at once', async () => {
    const { hold, embed, near, index } = use();
    const shared = entry('shared', { boundaryId: 'b' });
    await hold(shared, entry('stays', { boundaryId: 'c' }));
    await embed({ shared: [chunk(EAST)], stays: [chunk(NORTH)] });
    const filter = admitting({ boundaryIds: ['c'] });
    expect(ids(await near(EAST, { filter }))).toEqual(['stays']);
    await index.upsert([{ ...shared, boundaryId: 'c' }]);
    expect(ids(await near(EAST, { filter }))).toEqual(['shared', 'stays']);
    await index.remove(['stays']);
    expect(ids(await near(EAST, { filter }))).toEqual(['shared']);
  });

  test('narrows, also by ids', async () => {
    const { hold, embed, near, ask, ids: found } = use();
    await hold(
      entry('a', { type: ResourceType.TABLE, tags: ['t1'], metadataJson: '{"n":3}', text: 'word' }),
      entry('b', { ancestorIds: ['top'], updatedAt: '2026-03-01T00:00:00.000Z', text: 'word' }),
      entry('c', { text: 'other' }),
    );
    await embed({ a: [chunk(EAST)], b: [chunk(unit(1, 0.1, 0, 0))], c: [chunk(NORTH)] });
    const narrow = async (narrowing: object) => ids(await near(EAST, { narrowing }));
    expect(await narrow({ types: [ResourceType.TABLE] })).toEqual(['a']);
    expect(await narrow({ excludedTypes: [ResourceType.TABLE] })).toEqual(['b', 'c']);
    expect(await narrow({ parentId: 'top' })).toEqual(['b']);
    expect(await narrow({ updatedAfter: '2026-02-01T00:00:00.000Z' })).toEqual(['b']);
    expect(await narrow({ metadata: { n: 3 } })).toEqual(['a']);
    expect(await narrow({ tags: [['t1']] })).toEqual(['a']);
    expect(await narrow({ ids: ['c', 'b', 'unknown'] })).toEqual(['b', 'c']);
    expect(await narrow({ ids: [] })).toEqual([]);
    expect(await found('word', { narrowing: { ids: ['b', 'c'] } })).toEqual(['b']);
    const named = await ask('', { narrowing: { ids: ['c', 'a'] }, facets: ['type'] });
    expect(named.hits.map(({ id }) => id).sort()).toEqual(['a', 'c']);
    expect(named).toMatchObject({ total: 2, more: false });
    expect(named.facets.type?.length).toBe(2);
  });

  test('returns the same hits in the same order when they are bare', async () => {
    const { hold, ask } = use();
    await hold(entry('a', { text: 'word' }), entry('b', { text: 'word word' }), entry('c', { name: 'word' }));
    const plain = (await ask('word')).hits.map(({ id, type, score }) => ({ id, type, score }));
    const { hits, total } = await ask('word', { bare: true });
    expect(hits.map(({ id, type, score }) => ({ id, type, score }))).toEqual(plain);
    expect(hits[0]).toMatchObject({ matchedIn: [], snippets: {} });
    expect(total).toBe(3);
  });

  test('returns the requested number of nearest vectors among many', async () => {
    const { hold, embed, near, index } = use();
    const random = createRandom(11);
    const model = modelOf('contract-32', 32);
    const direction = () => unit(...Array.from({ length: 32 }, random));
    const vectors = Array.from({ length: 400 }, direction);
    await hold(...vectors.map((_, i) => entry(`n${i}`, { boundaryId: i % 50 === 0 ? 'few' : WORKSPACE })));
    await embed(Object.fromEntries(vectors.map((vector, i) => [`n${i}`, [chunk(vector)]])), model);
    let met = 0;
    for (let round = 0; round < 20; round++) {
      const vector = direction();
      const cosine = (i: number) => (vectors[i] as Float32Array).reduce((sum, x, d) => sum + x * (vector[d] ?? 0), 0);
      const nearest = vectors.map((_, i) => i).sort((a, b) => cosine(b) - cosine(a));
      const given = new Set(ids(await near(vector, { model: model.id, limit: 10 })));
      expect(given.size).toBe(10);
      met += nearest.slice(0, 10).filter((i) => given.has(`n${i}`)).length;
      const few = await near(vector, {
        model: model.id,
        limit: 8,
        filter: { ...everythingIn(WORKSPACE), openWorkspaceIds: [], boundaryIds: ['few'] },
      });
      expect(few.length).toBe(8);
    }
    expect(met).toBeGreaterThanOrEqual(190);
    await index.dropVectors(model.id);
  });
}

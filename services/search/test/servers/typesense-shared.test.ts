import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import {
  admitting,
  chunk,
  createBench,
  entry,
  everythingIn,
  MODEL,
  unit,
  WORKSPACE,
} from '../../src/index/contract/harness.js';
import { IndexFailure, IndexUnavailable, type SearchIndex } from '../../src/index/port.js';
import { openServer } from '../../src/index/typesense/client.js';
import { openTypesenseIndex } from '../../src/index/typesense/index.js';
import { namingFor } from '../../src/index/typesense/names.js';
import { dropCollections, typesense } from './typesense-server.js';

const base = `shared${process.pid}`;
let count = 0;
const opened: SearchIndex[] = [];

/** Opens one index in several simulated processes. */
function processes(many: number): { prefix: string; indexes: SearchIndex[] } {
  const prefix = `${base}n${count++}`;
  const indexes = Array.from({ length: many }, () => openTypesenseIndex({ ...typesense(), prefix }));
  opened.push(...indexes);
  return { prefix, indexes };
}

afterEach(async () => {
  await Promise.all(opened.splice(0).map((index) => index.close()));
});
afterAll(async () => {
  for (let i = 0; i < count; i++) await dropCollections(`${base}n${i}`);
});

describe('several processes with one index', () => {
  test('start at the same time and see the writes of others', async () => {
    const { indexes } = processes(3);
    const [a, b, c] = indexes as [SearchIndex, SearchIndex, SearchIndex];
    expect(await Promise.all(indexes.map((index) => index.needsRebuild()))).toEqual([true, true, true]);
    await Promise.all(indexes.map((index, i) => index.upsert([entry(`n${i}`, { text: 'word' })])));
    for (const index of [a, b, c]) {
      expect((await createBench(index).ids('word')).sort()).toEqual(['n0', 'n1', 'n2']);
    }
    await a.remove(['n1']);
    expect((await createBench(c).ids('word')).sort()).toEqual(['n0', 'n2']);
    await b.upsert([entry('n0', { text: 'older', version: 1 })]);
    await a.upsert([entry('n0', { text: 'word newer', version: 3 })]);
    await b.upsert([entry('n0', { text: 'word stale', version: 2 })]);
    expect(await createBench(c).ids('newer')).toEqual(['n0']);
  });

  test('include writes of others in a rebuild', async () => {
    const { indexes } = processes(2);
    const [a, b] = indexes as [SearchIndex, SearchIndex];
    await b.upsert([
      entry('kept', { text: 'word' }),
      entry('removed', { text: 'word' }),
      entry('gone', { text: 'word' }),
    ]);
    const rebuild = await a.rebuild();
    await expect(b.rebuild()).rejects.toThrow(IndexFailure);
    await rebuild.add([entry('kept', { text: 'word' })]);
    await b.remove(['removed']);
    await b.upsert([entry('fresh', { text: 'word', version: 2 })]);
    await rebuild.add([entry('removed', { text: 'word' }), entry('fresh', { text: 'before' })]);
    await rebuild.commit();
    for (const index of [a, b]) {
      expect((await createBench(index).ids('word')).sort()).toEqual(['fresh', 'kept']);
      expect(await index.needsRebuild()).toBe(false);
      expect(await index.stats()).toMatchObject({ entries: 2, complete: true });
    }
    await (await b.rebuild()).abort();
  });

  test('share vectors, and remove them with their entry', async () => {
    const { indexes } = processes(2);
    const [a, b] = indexes as [SearchIndex, SearchIndex];
    const [first, second] = [createBench(a), createBench(b)];
    await a.upsert([entry('x', { text: 'one' }), entry('y', { text: 'two' })]);
    await first.embed({ x: [chunk(unit(1, 0, 0, 0))] });
    await second.embed({ y: [chunk(unit(1, 1, 0, 0))] });
    expect((await second.near(unit(1, 0, 0, 0))).map(({ id }) => id)).toEqual(['x', 'y']);
    await b.remove(['x']);
    expect((await first.near(unit(1, 0, 0, 0))).map(({ id }) => id)).toEqual(['y']);
    await b.dropVectors(MODEL.id);
    expect(await first.near(unit(1, 0, 0, 0))).toEqual([]);
  });

  test('fail once when the index was deleted, then create it anew', async () => {
    const { prefix, indexes } = processes(1);
    const [a] = indexes as [SearchIndex];
    await (await a.rebuild()).commit();
    expect(await a.needsRebuild()).toBe(false);
    expect((await createBench(a).ask('word')).complete).toBe(true);
    const server = openServer(typesense());
    for (const name of (await server.collections()).keys()) if (name.startsWith(`${prefix}-`)) await server.drop(name);
    server.close();
    await expect(a.upsert([entry('lost', { text: 'word' })])).rejects.toThrow(IndexFailure);
    expect(await a.needsRebuild()).toBe(true);
    await a.upsert([entry('a', { text: 'word' })]);
    expect(await createBench(a).ids('word')).toEqual(['a']);
    expect((await createBench(a).ask('word')).complete).toBe(false);
  });

  test('are not blocked for long by a process that ended during a rebuild', async () => {
    const { prefix, indexes } = processes(2);
    const [a, b] = indexes as [SearchIndex, SearchIndex];
    const lost = await a.rebuild();
    const server = openServer(typesense());
    await server.write(namingFor(prefix).locks, 'update', [{ id: 'rebuild', until: Date.now() - 1 }]);
    const rebuild = await b.rebuild();
    await rebuild.add([entry('new', { text: 'word' })]);
    await rebuild.commit();
    await lost.abort();
    expect(await createBench(a).ids('word')).toEqual(['new']);
    // Nothing of the aborted rebuild is left.
    const names = [...(await server.collections()).keys()].filter((name) => name.startsWith(`${prefix}-`));
    expect(names.filter((name) => namingFor(prefix).isGeneration(name))).toHaveLength(2);
    server.close();
  });
});

describe('matches beyond the limit of weighed ones', () => {
  test('are counted, and paged without gaps or repetitions', async () => {
    const { indexes } = processes(1);
    const bench = createBench(indexes[0] as SearchIndex);
    const hidden = { boundaryId: 'hidden' };
    const all = Array.from({ length: 1300 }, (_, i) =>
      entry(`n${i}`, { text: `word ${i % 7 === 0 ? 'rare' : ''}`, ...(i % 13 === 0 ? hidden : {}) }),
    );
    await bench.index.upsert(all);
    const filter = admitting({ boundaryIds: [WORKSPACE] });
    const found: string[] = [];
    let last = 1;
    for (let offset = 0; offset < 1300; offset += 100) {
      const { hits, total, totalIsEstimate, more } = await bench.ask('word rare', {
        filter,
        offset,
        limit: 100,
        bare: true,
      });
      expect([total, totalIsEstimate, more]).toEqual([1200, true, offset + 100 < 1200]);
      for (const { id, score } of hits) {
        expect(score).toBeLessThanOrEqual(last);
        last = score;
        found.push(id);
      }
    }
    expect(found.length).toBe(1200);
    expect(new Set(found).size).toBe(1200);
    expect(found.some((id) => Number(id.slice(1)) % 13 === 0)).toBe(false);
    const rare = all.filter((_, i) => i % 7 === 0 && i % 13 !== 0).length;
    expect(found.slice(0, rare).every((id) => Number(id.slice(1)) % 7 === 0)).toBe(true);
    const { facets } = await bench.ask('word', { filter, facets: ['workspace'], limit: 1 });
    expect(facets).toEqual({ workspace: [[WORKSPACE, 1200]] });
    const browsed = await bench.ask('-rare', { filter, offset: 995, limit: 50, bare: true });
    expect([browsed.hits.length, browsed.total]).toEqual([Math.min(1200 - rare - 995, 50), 1200 - rare]);
  }, 120_000);
});

describe('hostile values', () => {
  test('are treated as data in every filter and returned unchanged', async () => {
    const { indexes } = processes(1);
    const bench = createBench(indexes[0] as SearchIndex);
    const hostile = [
      'a` || workspace:!=`x',
      '`',
      '``) || (',
      'b\\`c',
      '[a,b]',
      'x && gone:=false',
      ':=',
      '>0',
      'A',
      'ä',
      '语',
      '🎉',
      ' ',
      'a b',
      'a,b',
      '*',
      'z',
      'zz',
      'z002d',
      `${'long '.repeat(50)}end`,
    ];
    await bench.index.upsert([entry('other', { text: 'word', tags: ['t'] })]);
    for (const value of hostile) {
      const id = `id ${value}`;
      await bench.index.upsert([
        entry(id, { text: 'word', workspaceId: value, boundaryId: value, tags: [value], directPrincipals: [value] }),
      ]);
      const filter = everythingIn(value);
      const { hits, facets } = await bench.ask('word', {
        filter,
        facets: ['tag', 'workspace'],
        narrowing: { tags: [[value]] },
      });
      expect([value, hits.map((hit) => hit.id)]).toEqual([value, [id]]);
      if (value.length < 60) expect(facets).toEqual({ tag: [[value, 1]], workspace: [[value, 1]] });
      const closed = { ...everythingIn(value), openWorkspaceIds: [] };
      for (const way of [
        { boundaryIds: [value] },
        { principals: [value] },
        { granted: [{ resourceId: id, boundaryId: value }] },
      ]) {
        expect([value, await bench.ids('word', { filter: { ...closed, ...way } })]).toEqual([value, [id]]);
      }
      expect([value, await bench.ids('word', { filter: { ...closed, boundaryIds: ['other'] } })]).toEqual([value, []]);
      expect(await bench.index.idsOf(value)).toEqual([id]);
      await bench.index.remove([id]);
      expect([value, await bench.ids('word', { filter })]).toEqual([value, []]);
    }
    expect(await bench.ids('word')).toEqual(['other']);
  }, 120_000);
});

describe('failing Typesense server', () => {
  const question = {
    highlight: false,
    plan: undefined as never,
    filter: everythingIn(WORKSPACE),
    narrowing: {},
    offset: 0,
    limit: 1,
  };
  const failing = async (index: SearchIndex): Promise<void> => {
    await expect(index.upsert([entry('a')])).rejects.toThrow(IndexFailure);
    await expect(index.search(question)).rejects.toThrow(IndexFailure);
    await expect(index.stats()).rejects.toThrow(IndexFailure);
    await expect(index.rebuild()).rejects.toThrow(IndexFailure);
    await index.close();
  };

  test('fails when it cannot be reached', async () => {
    const away = { urls: ['http://127.0.0.1:9'], apiKey: 'k', prefix: 'none', timeoutMs: 500 };
    await expect(openTypesenseIndex(away).stats()).rejects.toThrow(IndexUnavailable);
    await failing(openTypesenseIndex(away));
  });

  test('fails when it refuses the key', async () => {
    const refused = { ...typesense(), apiKey: 'wrong', prefix: 'none' };
    await expect(openTypesenseIndex(refused).stats()).rejects.toThrow(IndexUnavailable);
    await failing(openTypesenseIndex(refused));
  });

  test('fails when it does not answer in time; the next call succeeds', async () => {
    const { urls } = typesense();
    const silent: Server = createServer(() => {});
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const slow = openTypesenseIndex({ ...typesense(), urls: [url], prefix: 'none', timeoutMs: 50 });
    await failing(slow);
    silent.closeAllConnections();
    silent.close();
    const prefix = `${base}n${count++}`;
    const first = openTypesenseIndex({ ...typesense(), urls: ['http://127.0.0.1:9', ...urls], prefix });
    opened.push(first);
    await first.upsert([entry('a', { text: 'word' })]);
    expect(await createBench(first).ids('word')).toEqual(['a']);
  });
});

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SearchFilter } from '@commonplace/proto/resources/v1/index_service.js';
import { afterAll, describe, expect, test } from '@jest/globals';
import type { Field } from '../src/domain/narrowing.js';
import { parseQuery } from '../src/domain/query.js';
import { admitting, chunk, entry, everythingIn, MODEL, unit } from '../src/index/contract/harness.js';
import type { IndexAnswer } from '../src/index/port.js';
import { type Engine, openEngine } from '../src/index/sqlite/engine.js';
import { DEFAULT_LIMITS } from '../src/index/sqlite/file.js';
import type { Change } from '../src/index/sqlite/write.js';

const folder = mkdtempSync(join(tmpdir(), 'search-memory-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const WORDS = ['apple', 'banana', 'cherry', 'deploy', 'engine', 'files', 'grape', '数据', '训练数据', 'kubernetes'];
const QUERIES = [
  'apple',
  'banana cherry',
  'dep',
  '"apple banana"',
  'engine -files',
  '数',
  '训练数据',
  'kubernets',
  'gra files',
];
const FILTER = everythingIn('ws-1');
const FILTERS: SearchFilter[] = [
  everythingIn('w1', 'w2'),
  everythingIn('w1'),
  admitting({ workspaceIds: ['w1', 'w2'], boundaryIds: ['w1', 'b1'], principals: ['user:1'] }),
  admitting({ workspaceIds: ['w1', 'w2'], granted: [{ resourceId: 'top', boundaryId: 'w2' }] }),
];

/** Creates a generator that returns the same numbers in each run. */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function randomChange(random: (below: number) => number, version: number): Change {
  const id = `r${random(60)}`;
  if (random(4) === 0) return { remove: id };
  const words = Array.from({ length: 1 + random(6) }, () => WORDS[random(WORDS.length)]);
  const workspaceId = `w${1 + random(2)}`;
  const parts = {
    version,
    workspaceId,
    tenant: 'org',
    boundaryId: random(3) === 0 ? 'b1' : workspaceId,
    text: words.join(' '),
    ancestorIds: random(2) === 0 ? ['top'] : [],
    directPrincipals: random(5) === 0 ? ['user:1'] : [],
  };
  return { upsert: entry(id, parts) };
}

function everything(engine: Engine): unknown[] {
  return QUERIES.flatMap((query) =>
    FILTERS.map((filter) => {
      const ask = { plan: parseQuery(query), filter, narrowing: {}, offset: 0, limit: 100, highlight: true };
      const { hits, total }: IndexAnswer = engine.search(ask);
      // Cached weights may be slightly older than the last change, so orders may differ.
      const found = hits.map(({ id, matchedIn, snippets }) => JSON.stringify([id, matchedIn, snippets])).sort();
      return { query, filter, found, total };
    }),
  );
}

describe('caches of the SQLite index', () => {
  test('equal the file after any change', () => {
    const random = createRandom(7);
    const usual = openEngine(join(folder, 'usual.db'));
    const alone = openEngine(join(folder, 'alone.db'), { ...DEFAULT_LIMITS, listed: 0, scope: -1, vectors: 0 });
    for (let round = 1; round <= 60; round++) {
      const changes = new Map<string, Change>();
      for (let i = random(5); i >= 0; i--) {
        const change = randomChange(random, round);
        changes.set('remove' in change ? change.remove : change.upsert.id, change);
      }
      for (const engine of [usual, alone]) engine.change([...changes.values()]);
      expect(everything(usual)).toEqual(everything(alone));
    }
    usual.close();
    alone.close();
  });

  test('contain names in the lists of frequent words', () => {
    const engine = openEngine(join(folder, 'common.db'), DEFAULT_LIMITS);
    const others = Array.from({ length: 20 }, (_, i) => entry(`text-${i}`, { text: 'apple and banana' }));
    const named = [entry('first', { name: 'apple' }), entry('second', { text: 'banana' })];
    engine.change([...others, ...named].map((upsert) => ({ upsert })));
    const ids = (query: string, field?: Field) => {
      const ask = {
        plan: parseQuery(query),
        filter: FILTER,
        narrowing: {},
        fields: field && [field],
        offset: 0,
        limit: 100,
      };
      return engine.search({ ...ask, highlight: false }).hits.map(({ id }) => id);
    };
    expect(ids('apple')).toEqual(['first', ...others.map(({ id }) => id)]);
    expect(ids('apple', 'name')).toEqual(['first']);
    expect(ids('apple', 'text')).toEqual(others.map(({ id }) => id));
    expect(ids('banana')).toHaveLength(21);
    expect(ids('apple banana ').slice(-2)).toEqual(['first', 'second']);
    engine.close();
  });

  test('weigh terms by their current frequency', () => {
    const engine = openEngine(join(folder, 'grown.db'));
    const ids = (query: string) => {
      const ask = { plan: parseQuery(query), filter: FILTER, narrowing: {}, offset: 0, limit: 10, highlight: false };
      return engine.search(ask).hits.map(({ id }) => id);
    };
    const hold = (name: string, text: string, count: number) =>
      engine.change(Array.from({ length: count }, (_, i) => ({ upsert: entry(`${name}-${i}`, { name: 'x', text }) })));
    hold('apple', 'apple tree', 3);
    expect(ids('apple ')).toHaveLength(3);
    hold('cherry', 'cherry tree', 10);
    hold('other', 'nothing more', 60);
    expect(ids('apple cherry ').slice(0, 3)).toEqual(['apple-0', 'apple-1', 'apple-2']);
    engine.close();
  });

  test('contain the vectors of the file after any change and after being freed', () => {
    const random = createRandom(13);
    const usual = openEngine(join(folder, 'vectors-usual.db'));
    const alone = openEngine(join(folder, 'vectors-alone.db'), { ...DEFAULT_LIMITS, listed: 0, scope: -1, vectors: 0 });
    const direction = () => unit(...Array.from({ length: 4 }, () => random(2000) - 1000.5));
    for (let round = 1; round <= 60; round++) {
      const changes = new Map<string, Change>();
      for (let i = random(5); i >= 0; i--) {
        const change = randomChange(random, round);
        changes.set('remove' in change ? change.remove : change.upsert.id, change);
      }
      for (const engine of [usual, alone]) engine.change([...changes.values()]);
      const needy = usual.unembedded(MODEL.id, 1 + random(6));
      const put = needy.map(({ id, textHash }) => {
        const chunks = Array.from({ length: random(4) }, (_, i) => chunk(direction(), 3 * i, 3 * i + 3));
        return { id, textHash, chunks };
      });
      for (const engine of [usual, alone]) engine.putVectors(MODEL, put);
      if (round === 40) usual.rest();
      const shared = { model: MODEL.id, vector: direction(), narrowing: {}, limit: 10 };
      for (const filter of FILTERS) {
        for (const groupBy of ['resource', 'chunk'] as const) {
          const question = { ...shared, filter, groupBy };
          expect(usual.nearest(question)).toEqual(alone.nearest(question));
        }
      }
      expect(usual.vectorStats(MODEL.id)).toEqual(alone.vectorStats(MODEL.id));
      const lacking = alone.unembedded(MODEL.id, 1000).map(({ id }) => id);
      expect(lacking.length).toBe(alone.vectorStats(MODEL.id).pending);
      expect(
        usual
          .unembedded(MODEL.id, 1000)
          .map(({ id }) => id)
          .sort(),
      ).toEqual(lacking.sort());
    }
    usual.close();
    alone.close();
  });
});

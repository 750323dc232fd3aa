import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLog } from '@commonplace/kit/log';
import { eventually } from '@commonplace/kit/testing';
import { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import {
  SearchFacet,
  SearchField,
  SearchGrouping,
  SearchMode,
  SearchRequest,
  type SearchResponse,
} from '@commonplace/proto/search/v1/search_service.js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { EmbedderFailure } from '../src/embedding/port.js';
import { createSearchHandlers, type SearchParts } from '../src/handlers/search.js';
import { entry, everythingIn, marked, WORKSPACE } from '../src/index/contract/harness.js';
import { HOSTILE } from '../src/index/contract/hostile.js';
import { IndexFailure, type SearchIndex } from '../src/index/port.js';
import { openSqliteIndex } from '../src/index/sqlite/index.js';
import { type EmbeddingWork, startEmbedding } from '../src/vectors/background.js';
import { createQueryEmbedder } from '../src/vectors/query-vector.js';
import { createFakeEmbedder } from './embedder.js';
import { createContext, createFakeResources } from './fakes.js';

const folder = mkdtempSync(join(tmpdir(), 'search-meaning-'));
const resources = createFakeResources(everythingIn(WORKSPACE));
// With this many dimensions different words hardly ever share one.
const embedder = createFakeEmbedder('fake', 1024);
let index: SearchIndex;
let work: EmbeddingWork;

const FILLER = 'plain words that say little of anything in particular here. '.repeat(12);
const ENTRIES = [
  entry('leave', { name: 'Leave', text: 'How much vacation people take each year.', tags: ['t1'] }),
  entry('cars', { name: 'Cars', text: 'An automobile for the road.', tags: ['t2'] }),
  entry('long', {
    name: 'Handbook',
    text: `# Intro\n\n${FILLER}\n\n# Rest\n\nTake a vacation.\n\n# End\n\n${FILLER.replaceAll('here', 'there')}`,
  }),
  entry('coupe', { name: 'Coupe', text: 'A vehicle with a fast engine and a gearbox.' }),
  entry('engine', { name: 'Motors', text: 'The fast engine and its gearbox.' }),
  entry('table', { name: 'Costs', text: 'Item · Price\nfunds · 100', type: ResourceType.TABLE }),
  entry('folder', { name: 'Money', text: '', type: ResourceType.FOLDER }),
  ...Array.from({ length: 60 }, (_, i) => entry(`page-${i}`, { name: `Page ${i}`, text: `wombat number ${i}` })),
];

beforeAll(async () => {
  index = await openSqliteIndex({ path: join(folder, 'search.db') });
  const rebuild = await index.rebuild();
  await rebuild.add(ENTRIES);
  await rebuild.commit();
  for (const one of ENTRIES) resources.entries.set(one.id, one);
  work = startEmbedding({ index, embedder, chunkTokens: 100, log: silentLog });
  await eventually(() => expect(work.stats()).toMatchObject({ embedded: ENTRIES.length, pending: 0 }));
});
afterAll(async () => {
  await work.close();
  await index.close();
  rmSync(folder, { recursive: true, force: true });
});

type SearchInput = Parameters<typeof SearchRequest.fromPartial>[0];

function find(
  request: SearchInput,
  context = createContext(),
  parts: Partial<SearchParts> = {},
): Promise<SearchResponse> {
  const embedQuery = createQueryEmbedder(() => work.serving(), 5000);
  const handlers = createSearchHandlers({ index, resources, embedQuery, ...parts });
  return handlers.search(SearchRequest.fromPartial(request), context);
}

const semantic = (query: string, more: SearchInput = {}) => find({ query, mode: SearchMode.SEMANTIC, ...more });
const ids = ({ items }: SearchResponse): string[] => items.map(({ resource }) => resource?.id ?? '');

describe('semantic search', () => {
  test('finds texts with the same meaning in other words, with their passages', async () => {
    const answer = await semantic('holiday', { page: { limit: 2, offset: 0, cursor: '' } });
    expect(answer).toMatchObject({ mode: SearchMode.SEMANTIC, degraded: false });
    expect(ids(answer)).toEqual(['leave', 'long']);
    const [leave, long] = answer.items;
    expect(leave).toMatchObject({
      matchedIn: [SearchField.CONTENT],
      chunk: { text: 'How much vacation people take each year.' },
    });
    expect(leave?.scores?.semantic).toBe(leave?.score);
    expect(leave?.scores?.keyword).toBeUndefined();
    expect(leave?.score).toBeGreaterThan(0.2);
    expect(leave?.score).toBeLessThanOrEqual(1);
    expect(long?.chunk?.text).toContain('Take a vacation.');
    expect(long?.chunk?.text).not.toContain('# Intro');
  });

  test('shows the words of the query in passages', async () => {
    const { items } = await semantic('vacation people', { page: { limit: 1, offset: 0, cursor: '' } });
    const [highlight] = items[0]?.highlights ?? [];
    expect(highlight?.field).toBe(SearchField.CONTENT);
    const ranges = highlight?.ranges.map(({ bounds }) => bounds as [number, number]) ?? [];
    expect(marked({ text: highlight?.snippet ?? '', ranges })).toEqual(['vacation', 'people']);
    expect((await semantic('holiday')).items[0]?.highlights[0]).toMatchObject({ ranges: [] });
    expect((await semantic('holiday', { highlight: false })).items[0]?.highlights).toEqual([]);
  });

  test('returns rows of a table, and a name for an entry without text', async () => {
    const { items } = await semantic('cash', { page: { limit: 2, offset: 0, cursor: '' } });
    expect(items.map(({ resource, matchedIn }) => [resource?.id, matchedIn])).toEqual([
      ['folder', [SearchField.NAME]],
      ['table', [SearchField.ROWS]],
    ]);
    expect(ids(await semantic('cash', { in: [SearchField.ROWS] }))).toEqual(['table']);
  });

  test('returns each passage separately when grouped by chunk', async () => {
    const groupBy = SearchGrouping.CHUNK;
    const { items, page } = await semantic('plain words', { groupBy, page: { limit: 5, offset: 0, cursor: '' } });
    expect(items.filter(({ resource }) => resource?.id === 'long').length).toBeGreaterThan(1);
    expect(new Set(items.map(({ chunk }) => chunk?.text)).size).toBe(5);
    // Of the overview of a text and the passages that it covers only the nearer counts.
    expect(page?.total).toBeLessThan(work.stats().chunks);
    const hybrid = await find({ query: 'plain words', groupBy, page: { limit: 3, offset: 0, cursor: '' } });
    expect(hybrid.items.every(({ chunk }) => (chunk?.text ?? '').length > 0)).toBe(true);
    expect(hybrid.items[0]).toMatchObject({ resource: { id: 'long' }, scores: { keyword: expect.any(Number) } });
  });

  test('returns full consecutive pages and the total of all', async () => {
    for (let i = 0; i < 60; i += 2) resources.refused.add(`page-${i}`);
    for (const mode of [SearchMode.SEMANTIC, SearchMode.HYBRID]) {
      const found: string[] = [];
      const sizes: number[] = [];
      let offset: number | undefined = 0;
      while (offset !== undefined) {
        const answer: SearchResponse = await find({ query: 'wombat', mode, page: { limit: 8, offset, cursor: '' } });
        found.push(...ids(answer));
        sizes.push(answer.items.length);
        offset = answer.page?.nextOffset;
        expect(answer.page?.hasMore).toBe(offset !== undefined);
      }
      expect(new Set(found).size).toBe(37);
      expect(found.length).toBe(37);
      expect(sizes.slice(0, 4)).toEqual([8, 8, 8, 8]);
    }
    resources.refused.clear();
    expect((await semantic('wombat')).page).toMatchObject({ total: 67, totalIsEstimate: false });
    expect((await semantic('wombat', { page: { limit: 5, offset: 500, cursor: '' } })).page?.total).toBe(67);
  });

  test('applies phrases and exclusions', async () => {
    expect(ids(await semantic('holiday -automobile -wombat'))).not.toContain('cars');
    expect(ids(await semantic('holiday -vacation', { page: { limit: 50, offset: 0, cursor: '' } }))).not.toContain(
      'leave',
    );
    expect(ids(await semantic('holiday "vacation people"'))).toEqual(['leave']);
    expect(ids(await semantic('holiday "nobody says this"'))).not.toEqual([]);
    expect(ids(await find({ query: '"automobile for" money' })).sort()).toEqual(['cars', 'folder']);
    expect(ids(await semantic('holiday type:table'))).toEqual(['table']);
    expect(ids(await semantic('holiday', { tagIds: ['t2'] }))).toEqual(['cars']);
  });

  test('leaves out results below a minimum score', async () => {
    const { items, page } = await semantic('holiday', { minScore: 0.15 });
    expect(items.length).toBeGreaterThan(0);
    expect(items.length).toBeLessThan(5);
    expect(page?.total).toBe(items.length);
    for (const { score } of items) expect(score).toBeGreaterThanOrEqual(0.15);
  });

  test('counts facets of the results', async () => {
    const { facets, page } = await semantic('cash', { facets: [SearchFacet.TYPE], types: [ResourceType.TABLE] });
    expect([facets, page?.total]).toEqual([{ type: { values: [{ value: 'table', count: 1 }] } }, 1]);
    const hybrid = await find({ query: 'wombat', facets: [SearchFacet.TYPE] });
    expect(hybrid.facets.type?.values).toContainEqual({ value: 'document', count: 65 });
    expect(hybrid.page?.total).toBe(67);
  });
});

describe('hybrid search', () => {
  test('returns keyword and semantic results together', async () => {
    const answer = await find({
      query: 'vacation',
      mode: SearchMode.HYBRID,
      page: { limit: 3, offset: 0, cursor: '' },
    });
    expect(answer).toMatchObject({ mode: SearchMode.HYBRID, degraded: false });
    expect(ids(answer).slice(0, 2).sort()).toEqual(['leave', 'long']);
    const [first] = answer.items;
    expect(first?.score).toBeLessThanOrEqual(1);
    expect(first?.scores).toEqual({ keyword: expect.any(Number), semantic: expect.any(Number) });
    const scores = answer.items.map(({ score }) => score);
    expect([...scores].sort((a, b) => b - a)).toEqual(scores);
    expect(ids(await find({ query: 'holiday', page: { limit: 1, offset: 0, cursor: '' } }))).toEqual(['leave']);
  });

  test('shifts from keyword to semantic search with alpha', async () => {
    const words = await find({ query: 'automobile holiday', alpha: 0 });
    const keyword = await find({ query: 'automobile holiday', mode: SearchMode.KEYWORD });
    expect(ids(words)).toEqual(ids(keyword));
    expect(words).toMatchObject({ mode: SearchMode.HYBRID, degraded: false });
    const meaning = await find({ query: 'automobile holiday', alpha: 1 });
    expect(ids(meaning)).toEqual(ids(await semantic('automobile holiday')));
  });

  test('returns passages also for results found only by keywords', async () => {
    const { items } = await find({ query: 'vacation', alpha: 0.01 });
    const hit = items.find(({ resource }) => resource?.id === 'long');
    expect(hit?.chunk?.text).toContain('Take a vacation.');
    expect(hit?.matchedIn).toContain(SearchField.CONTENT);
  });
});

describe('hostile queries', () => {
  test('are answered in every mode', async () => {
    const long = ['"a ', '-a ', 'type:', '训练', '🎉', '(', 'word '].map((piece) => piece.repeat(1000 / piece.length));
    for (const query of [...HOSTILE.filter((one) => one.trim() !== ''), ...long]) {
      for (const mode of [SearchMode.KEYWORD, SearchMode.SEMANTIC, SearchMode.HYBRID]) {
        for (const groupBy of [SearchGrouping.RESOURCE, SearchGrouping.CHUNK]) {
          const facets = [SearchFacet.TYPE];
          const { items } = await find({ query, mode, groupBy, facets, page: { limit: 3, offset: 0, cursor: '' } });
          expect([query, mode, Array.isArray(items)]).toEqual([query, mode, true]);
        }
      }
    }
  });
});

describe('search without vectors', () => {
  const codes = (context: ReturnType<typeof createContext>) => context.reply.warnings?.map(({ code }) => code);

  test.each([
    ['off', { embedQuery: createQueryEmbedder(undefined, 10) }],
    ['not there yet', { embedQuery: createQueryEmbedder(() => undefined, 10) }],
    ['failing', { embedQuery: async () => 'no answer' as const }],
  ])('falls back to keywords when embeddings are %s', async (_why, parts) => {
    for (const mode of [SearchMode.SEMANTIC, SearchMode.HYBRID]) {
      const context = createContext();
      const answer = await find({ query: 'vacation', mode }, context, parts);
      expect(answer).toMatchObject({ mode: SearchMode.KEYWORD, degraded: true });
      expect(ids(answer).sort()).toEqual(['leave', 'long']);
      expect(codes(context)).toEqual(['embeddings_unavailable']);
    }
  });

  test('falls back to keywords when vectors cannot be searched', async () => {
    const broken = { ...index, rank: () => Promise.reject(new IndexFailure('disk I/O error')) };
    const context = createContext();
    const answer = await find({ query: 'vacation' }, context, { index: broken });
    expect(answer).toMatchObject({ mode: SearchMode.KEYWORD, degraded: true });
    expect(codes(context)).toEqual(['embeddings_unavailable']);
  });

  test('succeeds when the model fails during a query', async () => {
    embedder.failure = new EmbedderFailure('gone', true);
    expect(await find({ query: 'unheard of' })).toMatchObject({ mode: SearchMode.KEYWORD, degraded: true });
    embedder.failure = undefined;
  });

  test('warns of entries that are not embedded yet', async () => {
    const context = createContext();
    const embedQuery: SearchParts['embedQuery'] = async (words) => {
      const vector = await createQueryEmbedder(() => work.serving(), 5000)(words);
      return typeof vector === 'string' ? vector : { ...vector, complete: false };
    };
    expect(await find({ query: 'vacation' }, context, { embedQuery })).toMatchObject({ degraded: false });
    expect(codes(context)).toEqual(['embeddings_incomplete']);
  });

  test('falls back to keywords when no candidate is embedded', async () => {
    const context = createContext();
    const embedQuery: SearchParts['embedQuery'] = async () => {
      return { model: 'another', vector: new Float32Array(4), complete: false };
    };
    const answer = await find({ query: 'vacation', mode: SearchMode.SEMANTIC }, context, { embedQuery });
    expect(answer).toMatchObject({ mode: SearchMode.KEYWORD, degraded: true });
    expect(ids(answer).sort()).toEqual(['leave', 'long']);
    expect(codes(context)).toEqual(['embeddings_unavailable']);
  });

  test.each([SearchMode.SEMANTIC, SearchMode.HYBRID])('is not degraded where nothing matches (%s)', async (mode) => {
    const context = createContext();
    const embedQuery: SearchParts['embedQuery'] = async () => {
      return { model: 'another', vector: new Float32Array(4), complete: false };
    };
    const answer = await find({ query: 'vacation', mode, updatedAfter: '2100-01-01T00:00:00Z' }, context, {
      embedQuery,
    });
    expect(answer).toMatchObject({ mode, degraded: false, items: [], page: { total: 0 } });
    expect(codes(context)).toEqual(['embeddings_incomplete']);
  });

  test('searches names by their words', async () => {
    const context = createContext();
    const answer = await find({ query: 'leave', in: [SearchField.NAME] }, context);
    expect([ids(answer), answer.mode, answer.degraded]).toEqual([['leave'], SearchMode.KEYWORD, true]);
    expect(codes(context)).toEqual(['embeddings_unavailable']);
  });

  test('searches operators alone without a warning', async () => {
    const context = createContext();
    const answer = await find({ query: 'type:table', mode: SearchMode.SEMANTIC }, context);
    expect([ids(answer), answer.degraded, codes(context)]).toEqual([['table'], false, undefined]);
  });
});

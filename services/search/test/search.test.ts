import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AppError } from '@commonplace/kit/errors';
import { ResourceRole, ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import {
  SearchFacet,
  SearchField,
  SearchMode,
  SearchRequest,
  type SearchResponse,
} from '@commonplace/proto/search/v1/search_service.js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { WITHOUT_WORDS } from '../src/domain/query.js';
import { createSearchHandlers } from '../src/handlers/search.js';
import { entry, everythingIn, WORKSPACE } from '../src/index/contract/harness.js';
import { IndexFailure, type SearchIndex } from '../src/index/port.js';
import { openSqliteIndex } from '../src/index/sqlite/index.js';
import { disclosed } from '../src/ranking/disclosed.js';
import { createContext, createFakeResources } from './fakes.js';

const folder = mkdtempSync(join(tmpdir(), 'search-handler-'));
const resources = createFakeResources(everythingIn(WORKSPACE));
let index: SearchIndex;

beforeAll(async () => {
  index = await openSqliteIndex({ path: join(folder, 'search.db') });
  await (await index.rebuild()).commit();
  const entries = [
    ...Array.from({ length: 60 }, (_, i) => entry(`page-${i}`, { name: `Page ${i}`, text: `common text ${i}` })),
    entry('table', {
      name: 'Costs',
      text: 'rows of travel',
      type: ResourceType.TABLE,
      tags: ['t1'],
      metadataJson: '{"a":1}',
    }),
    entry('file', { name: 'Scan', text: 'travel by train', type: ResourceType.FILE }),
  ];
  for (const one of entries) resources.entries.set(one.id, one);
  await index.upsert(entries);
});
afterAll(async () => {
  await index.close();
  rmSync(folder, { recursive: true, force: true });
});

type SearchInput = Parameters<typeof SearchRequest.fromPartial>[0];

function find(request: SearchInput, context = createContext()): Promise<SearchResponse> {
  return createSearchHandlers({ index, resources }).search(SearchRequest.fromPartial(request), context);
}

async function faultOf(request: SearchInput): Promise<[string, string | undefined]> {
  const error = await find(request).catch((thrown: unknown) => thrown);
  if (!(error instanceof AppError)) throw new Error('no fault');
  return [error.reason, error.param];
}

const ids = ({ items }: SearchResponse): (string | undefined)[] => items.map(({ resource }) => resource?.id);

describe('places of matches', () => {
  const request = { query: 'travel', mode: SearchMode.KEYWORD };

  test('are returned by the owner of the text', async () => {
    const { items } = await find(request);
    const table = items.find(({ resource }) => resource?.id === 'table');
    expect(table?.highlights).toMatchObject([{ field: SearchField.ROWS, blockId: 'table at 8', page: 7 }]);
    const named = (await find({ query: 'Costs', mode: SearchMode.KEYWORD })).items[0];
    expect(named?.highlights[0]).toMatchObject({ field: SearchField.NAME, blockId: undefined, page: undefined });
  });

  test('are left out when the owner does not return them, and not requested when nothing is shown', async () => {
    const silent = { ...resources, locatePlaces: () => Promise.reject(new Error('not now')) };
    const handlers = createSearchHandlers({ index, resources: silent });
    const { items } = await handlers.search(SearchRequest.fromPartial(request), createContext());
    expect(items.length).toBe(2);
    expect(items.flatMap(({ highlights }) => highlights.map(({ blockId }) => blockId))).toEqual([undefined, undefined]);
    resources.calls.length = 0;
    await find({ ...request, highlight: false });
    expect(resources.calls.map(({ method }) => method)).not.toContain('locatePlaces');
  });
});

describe('names of resources that are hidden from the caller', () => {
  const text = `We discussed [Project Quetzalcoatl](resource:x) today, and travelling.`;
  const shownText = 'We discussed [No access](resource:x) today, and travelling.';
  const comments = ['See Quetzalcoatl'];
  const change = { start: 14, end: 14 + 'No access'.length, formerEnd: 14 + 'Project Quetzalcoatl'.length };

  beforeAll(async () => {
    const one = entry('notes', { name: 'Weekly notes', text, comments });
    resources.entries.set(one.id, one);
    resources.shown.set('notes', { resourceId: 'notes', text: shownText, ...change, comments: ['See No access'] });
    await index.upsert([one]);
  });
  afterAll(async () => {
    resources.entries.delete('notes');
    resources.shown.clear();
    await index.remove(['notes']);
  });

  test('are in no snippet, and matches in them are not stated', async () => {
    const { items } = await find({ query: 'quetzalcoatl', mode: SearchMode.KEYWORD });
    expect(items).toMatchObject([{ resource: { id: 'notes' }, highlights: [], matchedIn: [] }]);
    expect(JSON.stringify(items)).not.toMatch(/quetzalcoatl/i);
    const asked = resources.calls.filter(({ method }) => method === 'getShownTexts');
    expect(asked.at(-1)?.request).toEqual({ ids: ['notes'], textOnlyIds: ['notes'] });
  });

  test('are replaced in the snippets of other matches', async () => {
    const { items } = await find({ query: 'travelling', mode: SearchMode.KEYWORD });
    const notes = items.find(({ resource }) => resource?.id === 'notes');
    expect(notes?.matchedIn).toEqual([SearchField.CONTENT]);
    const snippet = 'We discussed No access today, and travelling.';
    expect(notes?.highlights).toMatchObject([{ snippet, ranges: [{ bounds: [34, 44] }] }]);
  });

  test('are replaced in passages, wherever these are cut', () => {
    const placeAt = (start: number, end: number) =>
      ({
        resource: { id: 'notes', type: ResourceType.DOCUMENT },
        chunk: { start, end, text: text.slice(start, end) },
      }) as never;
    const passage = async (start: number, end: number) =>
      (await disclosed(resources, [placeAt(start, end)], { plan: WITHOUT_WORDS }, createContext()))[0]?.chunk?.text;
    return Promise.all([
      expect(passage(0, text.length)).resolves.toBe(shownText),
      expect(passage(13, text.length)).resolves.toBe(shownText.slice(13)),
      expect(passage(text.length - 12, text.length)).resolves.toBe('travelling.'.padStart(12)),
      ...Array.from({ length: text.length }, async (_, at) => {
        expect(await passage(at, text.length)).not.toMatch(/quetz|coatl/i);
        expect(await passage(0, at)).not.toMatch(/quetz|proj/i);
      }),
    ]);
  });
});

describe('search', () => {
  test('returns the current resource, the match and its highlights', async () => {
    const { items, mode, degraded, page } = await find({ query: 'travel rows', mode: SearchMode.KEYWORD });
    expect(items.length).toBe(2);
    expect(items[0]).toMatchObject({
      resource: {
        id: 'table',
        type: ResourceType.TABLE,
        name: 'Costs now',
        workspaceId: WORKSPACE,
        icon: '📄',
        tags: ['t1'],
      },
      matchedIn: [SearchField.ROWS],
      highlights: [
        { field: SearchField.ROWS, snippet: 'rows of travel', ranges: [{ bounds: [0, 4] }, { bounds: [8, 14] }] },
      ],
      access: { role: ResourceRole.VIEWER },
    });
    expect(items[0]?.scores?.keyword).toBe(items[0]?.score);
    expect(items[1]?.matchedIn).toEqual([SearchField.FILES]);
    expect({ mode, degraded }).toEqual({ mode: SearchMode.KEYWORD, degraded: false });
    expect(page).toMatchObject({ limit: 20, offset: 0, total: 2, totalIsEstimate: false, hasMore: false });
    expect(page?.nextOffset).toBeUndefined();
  });

  test.each([SearchMode.HYBRID, SearchMode.SEMANTIC, SearchMode.UNSPECIFIED])(
    'falls back to keywords in %s mode',
    async (mode) => {
      const context = createContext();
      const answer = await find({ query: 'travel', mode }, context);
      expect(answer).toMatchObject({ mode: SearchMode.KEYWORD, degraded: true });
      expect(context.reply.warnings?.map(({ code }) => code)).toEqual(['embeddings_unavailable']);
    },
  );

  test('calls the owner of the tree on behalf of the caller', async () => {
    resources.calls.length = 0;
    await find({ query: 'travel', workspaceIds: ['w'], includeArchived: true, parentId: 'p' });
    await find({ query: 'travel', mode: SearchMode.KEYWORD });
    const [filter, , access] = resources.calls;
    expect(filter).toMatchObject({
      method: 'getSearchFilter',
      request: { workspaceIds: ['w'], includeArchived: true, parentId: 'p' },
      options: { metadata: { token: 'token' } },
    });
    expect(access?.method).toBe('checkAccess');
  });

  test('fills pages although hits are refused, and continues where they ended', async () => {
    for (let i = 0; i < 60; i += 2) resources.refused.add(`page-${i}`);
    const found: (string | undefined)[] = [];
    let offset: number | undefined = 0;
    const sizes: number[] = [];
    while (offset !== undefined) {
      const answer: SearchResponse = await find({ query: 'common', page: { limit: 8, offset, cursor: '' } });
      found.push(...ids(answer));
      sizes.push(answer.items.length);
      offset = answer.page?.nextOffset;
      expect(answer.page?.hasMore).toBe(offset !== undefined);
    }
    resources.refused.clear();
    expect(sizes).toEqual([8, 8, 8, 6]);
    expect(new Set(found).size).toBe(30);
    expect(found.every((id) => Number(id?.slice(5)) % 2 === 1)).toBe(true);
  });

  test('does not count refused hits in the total', async () => {
    resources.refused.add('table');
    const { page, items } = await find({ query: 'travel' });
    resources.refused.clear();
    expect({ total: page?.total, shown: items.length }).toEqual({ total: 1, shown: 1 });
  });

  test('counts no refused hits, and says that it has not seen all', async () => {
    const facets = [SearchFacet.TYPE, SearchFacet.TAG];
    for (const mode of [SearchMode.KEYWORD, SearchMode.HYBRID]) {
      resources.refused.add('table');
      const few = await find({ query: 'travel', mode, facets });
      resources.refused.clear();
      expect(few.page).toMatchObject({ total: 1, totalIsEstimate: false });
      expect(few.facets).toMatchObject({ type: { values: [{ value: 'file', count: 1 }] }, tag: { values: [] } });
    }
    for (let i = 0; i < 60; i++) resources.refused.add(`page-${i}`);
    const none = await find({ query: 'common', mode: SearchMode.KEYWORD, facets });
    expect([none.items, none.page?.total, none.page?.totalIsEstimate]).toEqual([[], 0, false]);
    expect(none.facets.type?.values).toEqual([]);
    const part = await find({ query: 'common', facets, page: { limit: 1, offset: 0, cursor: '' } });
    resources.refused.clear();
    const left = part.page?.total ?? -1;
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThan(60);
    expect(part.page?.totalIsEstimate).toBe(true);
    expect(part.facets.type?.values).toEqual([{ value: 'document', count: left }]);
  });

  test('combines filters and operators', async () => {
    expect(ids(await find({ query: 'travel type:table' }))).toEqual(['table']);
    expect(ids(await find({ query: 'travel type:table', types: [ResourceType.FILE] }))).toEqual([]);
    expect(ids(await find({ query: 'travel -type:table' }))).toEqual(['file']);
    resources.tagNames.set('Trips', ['t1', 't7']);
    expect(ids(await find({ query: 'travel tag:Trips' }))).toEqual(['table']);
    expect(ids(await find({ query: 'travel tag:t1' }))).toEqual([]);
    expect(ids(await find({ query: 'travel -tag:Trips' }))).toEqual(['file']);
    expect(ids(await find({ query: 'travel', tagIds: ['t1'] }))).toEqual(['table']);
    expect(ids(await find({ query: 'travel', tagIds: ['t1', 't2'] }))).toEqual(['table']);
    expect(ids(await find({ query: 'travel', metadata: Buffer.from('{"a":1}') }))).toEqual(['table']);
    expect(ids(await find({ query: 'travel', in: [SearchField.ROWS] }))).toEqual(['table']);
    expect(ids(await find({ query: 'travel', in: [SearchField.FILES] }))).toEqual(['file']);
    expect(ids(await find({ query: 'travel', in: [SearchField.NAME] }))).toEqual([]);
    expect(ids(await find({ query: 'costs', in: [SearchField.NAME, SearchField.CONTENT] }))).toEqual(['table']);
  });

  test('searches only the named kind of text', async () => {
    const page = entry('page', { text: 'travel', comments: ['who pays for travel?', 'nobody'] });
    resources.entries.set(page.id, page);
    await index.upsert([page]);
    const where = async (...fields: SearchField[]) => ids(await find({ query: 'travel', in: fields })).sort();
    expect(await where(SearchField.CONTENT)).toEqual(['page']);
    expect(await where(SearchField.CONTENT, SearchField.ROWS)).toEqual(['page', 'table']);
    expect(await where(SearchField.CONTENT, SearchField.ROWS, SearchField.FILES)).toEqual(['file', 'page', 'table']);
    expect(ids(await find({ query: 'pays' }))).toEqual([]);
    const { items } = await find({ query: 'pays', in: [SearchField.COMMENTS] });
    expect(items[0]).toMatchObject({
      matchedIn: [SearchField.COMMENTS],
      highlights: [{ field: SearchField.COMMENTS, ranges: [{ bounds: [4, 8] }] }],
    });
    await index.remove([page.id]);
  });

  test('refuses a cursor', async () => {
    const page = { limit: 0, offset: 0, cursor: 'abc' };
    expect(await faultOf({ query: 'travel', page })).toEqual(['invalid_pagination', 'cursor']);
  });

  test('applies facets, minimum score and highlights', async () => {
    const { facets } = await find({ query: 'travel', facets: [SearchFacet.TYPE, SearchFacet.TAG] });
    expect(facets).toEqual({
      type: {
        values: [
          { value: 'file', count: 1 },
          { value: 'table', count: 1 },
        ],
      },
      tag: { values: [{ value: 't1', count: 1 }] },
    });
    expect((await find({ query: 'travel' })).facets).toEqual({});
    expect((await find({ query: 'travel', minScore: 1 })).items).toEqual([]);
    expect((await find({ query: 'travel', highlight: false })).items[0]?.highlights).toEqual([]);
  });

  test('reports all faults of a request', async () => {
    expect(await faultOf({ query: '  ' })).toEqual(['query_required', 'query']);
    expect(await faultOf({ query: 'x'.repeat(1001) })).toEqual(['invalid_value', 'query']);
    expect((await find({ query: '😀'.repeat(1000) })).items).toEqual([]);
    expect(await faultOf({ query: 'x', types: [ResourceType.UNSPECIFIED] })).toEqual(['invalid_value', 'types[0]']);
    expect(await faultOf({ query: 'x', metadata: Buffer.from('{"a":[1]}') })).toEqual(['invalid_value', 'metadata.a']);
    const metadata = (count: number, value = '') =>
      Buffer.from(JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, value]))));
    expect((await find({ query: 'x', metadata: metadata(50) })).items).toEqual([]);
    expect(await faultOf({ query: 'x', metadata: metadata(51) })).toEqual(['too_many_items', 'metadata']);
    expect(await faultOf({ query: 'x', metadata: metadata(1, 'x'.repeat(16_384)) })).toEqual([
      'invalid_value',
      'metadata',
    ]);
    expect(await faultOf({ query: 'x', page: { limit: 20, offset: 9990, cursor: '' } })).toEqual([
      'offset_too_deep',
      'offset',
    ]);
  });

  test('is unavailable without its index', async () => {
    const broken = { ...index, search: () => Promise.reject(new IndexFailure('disk I/O error')) };
    const handlers = createSearchHandlers({ index: broken, resources });
    const error = await handlers.search(SearchRequest.fromPartial({ query: 'x' }), createContext()).catch((e) => e);
    expect(error).toMatchObject({ code: 'UNAVAILABLE', reason: 'dependency_unavailable', retryAfter: 1 });
  });

  test('warns of an incomplete index', async () => {
    const young = await openSqliteIndex({ path: join(folder, 'young.db') });
    const context = createContext();
    const handlers = createSearchHandlers({ index: young, resources });
    await handlers.search(SearchRequest.fromPartial({ query: 'x', mode: SearchMode.KEYWORD }), context);
    await young.close();
    expect(context.reply.warnings?.map(({ code }) => code)).toEqual(['index_incomplete']);
  });
});

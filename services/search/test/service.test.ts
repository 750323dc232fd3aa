import { createEvent, eventually } from '@commonplace/kit/testing';
import { contracts } from '@commonplace/platform/contracts';
import { fake, openStage, personCalled, type Stage } from '@commonplace/platform/testing';
import type { IndexEntry } from '@commonplace/proto/resources/v1/index_service.js';
import { FindEntriesRequest } from '@commonplace/proto/search/v1/entry_service.js';
import { SearchMode, SearchRequest, type SearchResponse } from '@commonplace/proto/search/v1/search_service.js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { entry, everythingIn, WORKSPACE } from '../src/index/contract/harness.js';
import { search } from '../src/service.js';
import { createFakeResources } from './fakes.js';

const resources = createFakeResources(everythingIn(WORKSPACE));
let stage: Stage;

beforeAll(async () => {
  resources.entries.set('old', entry('old', { text: 'was there before' }));
  const { getIndexEntries, getSearchFilter, checkAccess, getShownTexts, locatePlaces, streamIndexEntries } = resources;
  const handlers = {
    ...{ getIndexEntries, getSearchFilter, checkAccess, getShownTexts, locatePlaces, streamIndexEntries },
  } as object;
  stage = await openStage(search, [fake(contracts.index, handlers)]);
});
afterAll(() => stage.close());

async function find(query: string): Promise<SearchResponse> {
  const request = SearchRequest.fromPartial({ query, mode: SearchMode.KEYWORD });
  return stage.host.client(contracts.search).search(request, await stage.as(personCalled('Ann', ['search:read'])));
}

const names = async (query: string): Promise<(string | undefined)[]> =>
  (await find(query)).items.map(({ resource }) => resource?.id);

describe('search service', () => {
  test('finds resources created before its start once the index is built', async () => {
    await eventually(async () => expect(await names('before')).toEqual(['old']));
  });

  test('finds resources of events, but not deleted ones', async () => {
    resources.entries.set('new', entry('new', { text: 'fresh' }));
    const about = (verb: string) =>
      createEvent('new', { resourceIds: ['new'] }, `commonplace.resources.resource.${verb}`);
    await stage.host.bus.publish([about('created')]);
    await eventually(async () => expect(await names('fresh')).toEqual(['new']));
    await stage.host.bus.publish([about('trashed')]);
    await eventually(async () => expect((await find('fresh')).page?.total).toBe(0));
  });
});

describe('other services', () => {
  const entries = (words: string[], fields: Partial<FindEntriesRequest> = {}) =>
    stage.host
      .client(contracts.entries)
      .findEntries(
        FindEntriesRequest.fromPartial({ workspaceId: WORKSPACE, boundaryId: WORKSPACE, words, limit: 10, ...fields }),
        stage.host.systemCall(),
      );
  const ids = async (words: string[], fields: Partial<FindEntriesRequest> = {}) => (await entries(words, fields)).ids;

  beforeAll(async () => {
    const texts: Record<string, Partial<IndexEntry>> = {
      inside: { text: 'knots and type:rope', ancestorIds: ['home'] },
      deeper: { text: 'knotted rope', name: 'knots', ancestorIds: ['home', 'inside'] },
      some: { text: 'a rope and nothing else', ancestorIds: ['home'] },
      beside: { text: 'knots with a rope' },
      closed: { text: 'knots with a rope', ancestorIds: ['home'], boundaryId: 'closed' },
      elsewhere: { text: 'knots with a rope', ancestorIds: ['home'], workspaceId: 'ws-2' },
    };
    for (const [id, fields] of Object.entries(texts)) resources.entries.set(id, entry(id, fields));
    const resourceIds = Object.keys(texts);
    await stage.host.bus.publish([createEvent('home', { resourceIds }, 'commonplace.resources.resource.created')]);
    await eventually(async () => expect((await ids(['knots'])).length).toBe(3));
  });

  test('find entries with all words in one part of the tree', async () => {
    expect((await ids(['knots', 'rope'], { parentId: 'home' })).sort()).toEqual(['deeper', 'inside']);
    expect((await ids(['knots', 'rop'])).sort()).toEqual(['beside', 'deeper', 'inside']);
    expect(await ids(['knots', 'rope'], { boundaryId: 'closed' })).toEqual(['closed']);
    expect(await ids(['knots', 'absent'])).toEqual([]);
    const first = await entries(['rope'], { limit: 1 });
    expect([first.ids.length, first.more, first.complete]).toEqual([1, true, true]);
    const rest = await entries(['rope'], { offset: 1 });
    expect([rest.ids.length, rest.more]).toEqual([3, false]);
  });

  test('cannot pass operators of the query language', async () => {
    expect(await ids(['type:rope'])).toContain('inside');
    expect(await ids(['knots', '-rope'], { parentId: 'home' })).toHaveLength(2);
    expect(await ids(['"rope', 'nothing"'])).toEqual(['some']);
    expect(await ids(['-', '"'])).toEqual([]);
  });
});

import { contracts } from '@commonplace/kit/contracts';
import { createEvent, eventually, fake, openStage, personCalled, type Stage } from '@commonplace/kit/testing';
import { SearchMode, SearchRequest, type SearchResponse } from '@commonplace/proto/search/v1/search_service.js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { entry, everythingIn, WORKSPACE } from '../src/index/contract/harness.js';
import { search } from '../src/service.js';
import { createFakeResources } from './fakes.js';

const resources = createFakeResources(everythingIn(WORKSPACE));
let stage: Stage;

beforeAll(async () => {
  resources.entries.set('old', entry('old', { text: 'was there before' }));
  const { getIndexEntries, getSearchFilter, checkAccess, locatePlaces, streamIndexEntries } = resources;
  const handlers = { getIndexEntries, getSearchFilter, checkAccess, locatePlaces, streamIndexEntries } as object;
  stage = await openStage(search, [fake(contracts.index, handlers)]);
});
afterAll(() => stage.close());

async function find(query: string): Promise<SearchResponse> {
  const request = SearchRequest.fromPartial({ query, mode: SearchMode.KEYWORD });
  return stage.host.client(contracts.search).search(request, await stage.as(personCalled('Ann', ['search:read'])));
}

const names = async (query: string): Promise<(string | undefined)[]> =>
  (await find(query)).items.map(({ resource }) => resource?.id);

describe('the service', () => {
  test('finds what was there before it, once its index is built', async () => {
    await eventually(async () => expect(await names('before')).toEqual(['old']));
  });

  test('finds what an event tells of, and not what one says is gone', async () => {
    resources.entries.set('new', entry('new', { text: 'fresh' }));
    const about = (verb: string) =>
      createEvent('new', { resourceIds: ['new'] }, `commonplace.resources.resource.${verb}`);
    await stage.host.bus.publish([about('created')]);
    await eventually(async () => expect(await names('fresh')).toEqual(['new']));
    await stage.host.bus.publish([about('trashed')]);
    await eventually(async () => expect((await find('fresh')).page?.total).toBe(0));
  });
});

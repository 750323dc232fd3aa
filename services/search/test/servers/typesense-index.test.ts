import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { indexContract } from '../../src/index/contract/suite.js';
import { openTypesenseIndex } from '../../src/index/typesense/index.js';
import { type CheckingProxy, openCheckingProxy } from '../checking-proxy.js';
import { readDescription } from '../openapi.js';
import { DESCRIPTION, dropCollections, typesense } from './typesense-server.js';

const prefix = `contract${process.pid}`;
let proxy: CheckingProxy | undefined;

beforeAll(async () => {
  const [url = ''] = typesense().urls;
  const check = existsSync(DESCRIPTION) ? readDescription(DESCRIPTION) : () => [];
  proxy = await openCheckingProxy(url, check);
});
afterAll(async () => {
  await proxy?.close();
  await dropCollections(prefix);
});

indexContract('typesense', async () => {
  return openTypesenseIndex({ ...typesense(), urls: [proxy?.url ?? ''], prefix });
});

/** The description is not part of the project. */
const described = existsSync(DESCRIPTION) ? test : test.skip;

describe('requests to Typesense', () => {
  described('all follow the OpenAPI description', () => {
    expect(proxy?.faults).toEqual([]);
    const requested = new Set(
      proxy?.requests.map(({ method, url }) => `${method} ${url.replace(/[a-z]+\d+-[^/?]+|\?.*/g, '')}`),
    );
    expect([...requested].sort()).toEqual([
      'DELETE /aliases/',
      'DELETE /collections/',
      'DELETE /collections//documents',
      'GET /aliases',
      'GET /collections',
      'GET /metrics.json',
      'POST /collections',
      'POST /collections//documents/import',
      'POST /multi_search',
      'PUT /aliases/',
    ]);
  });

  described('are reported when they do not follow the description', () => {
    const check = readDescription(DESCRIPTION);
    const headers = { 'x-typesense-api-key': 'k' };
    const faultsOf = (method: string, url: string, body: unknown = ''): string[] =>
      check({ method, url, headers, body: typeof body === 'string' ? body : JSON.stringify(body) });
    const search = (more: object): string[] =>
      faultsOf('POST', '/multi_search', { searches: [{ collection: 'c', q: '*', ...more }] });
    expect(search({ filter_by: 'a:[`b`]', per_page: 3 })).toEqual([]);
    expect(search({ filterby: 'a:[`b`]' })).toEqual(['body/searches/0/filterby is unknown']);
    expect(search({ per_page: 'three' })).toEqual([expect.stringContaining('must be integer')]);
    expect(faultsOf('POST', '/multi_search', {})).toEqual([expect.stringContaining("'searches'")]);
    expect(faultsOf('POST', '/multisearch', {})).toEqual(['POST /multisearch is no operation']);
    expect(faultsOf('POST', '/collections', { name: 'c' })).toEqual([expect.stringContaining("'fields'")]);
    expect(
      faultsOf('POST', '/collections', { name: 'c', fields: [{ name: 'a', type: 'string', facets: true }] }),
    ).toEqual(['body/fields/0/facets is unknown']);
    expect(faultsOf('POST', '/collections/c/documents/import?action=upsert', '{"id":"1"}\n{"id":"2"}')).toEqual([]);
    expect(faultsOf('POST', '/collections/c/documents/import?action=replace', '{}')).toHaveLength(1);
    expect(faultsOf('POST', '/collections/c/documents/import?act=upsert', '{}')).toEqual(['query/act is unknown']);
    expect(faultsOf('POST', '/collections/c/documents/import', '{}\nnull')).toEqual(['line 1 is no object']);
    expect(faultsOf('DELETE', '/collections/c/documents')).toEqual([expect.stringContaining("'filter_by'")]);
    expect(faultsOf('PUT', '/aliases/a', {})).toEqual([expect.stringContaining("'collection_name'")]);
    expect(faultsOf('PUT', '/aliases/', { collection_name: 'c' })).toEqual(['PUT /aliases/ is no operation']);
    expect(check({ method: 'GET', url: '/aliases', headers: {}, body: '' })).toEqual(['there is no key']);
  });
});

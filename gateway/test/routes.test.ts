import { factsOf } from '@commonplace/kit/rpc';
import { describe, expect, test } from '@jest/globals';
import { createRoutes, type Route } from '../src/routes.js';
import { field, fixtureContract, MESSAGES, rpc } from './fixture.js';

const build = (...rpcs: ReturnType<typeof rpc>[]) => createRoutes(fixtureContract(MESSAGES, rpcs));
const types: [string, string] = ['Selector', 'Things'];

const UNSCOPED = {
  '[google.api.http]': { get: '/api/v1/x' },
  '[commonplace.api.v1.access]': { success: 201 },
};

describe('createRoutes', () => {
  test('returns everything that the contract specifies about an endpoint', () => {
    const route = createRoutes().find(({ rpc: name }) => name === 'UpdateResource');
    expect(route).toMatchObject({
      method: 'PATCH',
      path: '/api/v1/resources/{resource_id}',
      koaPath: '/api/v1/resources/:resource_id',
      scope: 'resource:write',
      also: [],
      success: 200,
      preview: false,
      limits: ['write'],
      content: false,
      maxAgeSeconds: undefined,
      fullMethod: '/commonplace.resources.v1.ResourceService/UpdateResource',
      service: 'commonplace.resources.v1.ResourceService',
    });
  });

  test('reads limits, statuses and ages from the contract', () => {
    const of = (name: string) => createRoutes().find((route) => route.rpc === name);
    expect(of('Search')?.limits).toEqual(['search']);
    expect(of('GetResource')?.limits).toEqual([]);
    expect(of('CreateResource')?.success).toBe(201);
    expect(of('GetCapabilities')?.maxAgeSeconds).toBe(60);
    expect(of('GetContent')?.content).toBe(true);
  });

  test('creates a route for every binding', () => {
    const routes = build(
      rpc('Get', { get: '/api/v1/a', additionalBindings: [{ get: '/api/v1/b' }] }, ['Ids', 'Things'], 'thing:read'),
    ).filter(({ service }) => service === 'test.v1.ThingService');
    expect(routes.map(({ path }) => path)).toEqual(['/api/v1/a', '/api/v1/b']);
  });

  test('prefers words to parameters', () => {
    const routes = build(
      rpc('One', { delete: '/api/v1/things/{thing_id}' }, types),
      rpc('Two', { delete: '/api/v1/things/all' }, types),
      rpc('Three', { delete: '/api/v1/things/{thing_id}/pins' }, types),
    );
    const paths = routes.filter(({ service }) => service.startsWith('test.')).map(({ path }) => path);
    expect(paths).toEqual(['/api/v1/things/all', '/api/v1/things/{thing_id}', '/api/v1/things/{thing_id}/pins']);
  });

  test.each([
    ['no scope', rpc('X', { get: '/api/v1/x' }, ['Ids', 'Things'], ''), /has no scope/],
    ['an empty scope', { ...rpc('X', { get: '/api/v1/x' }, types), options: UNSCOPED }, /has no scope/],
    ['streams', { ...rpc('X', { get: '/api/v1/x' }, ['Ids', 'Things']), serverStreaming: true }, /streams/],
    ['a parameter that is no field', rpc('X', { get: '/api/v1/x/{y_id}' }, ['Ids', 'Things']), /no field for \{y_id\}/],
    ['a body in a DELETE', rpc('X', { delete: '/api/v1/x', body: '*' }, types), /body of DELETE must be ""/],
    ['no body in a POST', rpc('X', { post: '/api/v1/x' }, types), /body of POST must be "\*"/],
    ['a pattern in its path', rpc('X', { get: '/api/v1/{thing_id=a/*}' }, types), /is no path/],
    ['what a query can not bring', rpc('X', { get: '/api/v1/x/{thing_id}' }, ['NewThing', 'Things']), /come by query/],
    ['a path without a method', rpc('X', { custom: { kind: 'HEAD', path: '/x' } }, types), /without a path/],
  ])('refuses a method with %s', (_, method, message) => {
    expect(() => build(method)).toThrow(message);
  });

  test('refuses two methods with one route, whatever the names of their parameters', () => {
    expect(() =>
      build(rpc('One', { delete: '/api/v1/x/{thing_id}' }, types), rpc('Two', { delete: '/api/v1/x/{pin_id}' }, types)),
    ).toThrow(/there is another method for DELETE/);
  });

  test.each([
    ['bytes without a kind', field('raw', 1, 'TYPE_BYTES'), /needs a `json` rule/],
    [
      'a message of Google',
      field('any', 1, 'TYPE_MESSAGE', {}, { typeName: '.google.protobuf.Any' }),
      /of the product/,
    ],
    [
      'a wrapper of more than a list',
      field('part', 1, 'TYPE_MESSAGE', { unwrap: true }, { typeName: '.test.v1.Part' }),
      /one repeated field/,
    ],
  ])('refuses %s', (_, bad, message) => {
    const messages = [...MESSAGES, { name: 'Bad', field: [bad] }];
    const rpcs = [rpc('X', { post: '/api/v1/x', body: '*' }, ['Bad', 'Things'])];
    expect(() => createRoutes(fixtureContract(messages, rpcs))).toThrow(message);
  });
});

const isRead = ({ fullMethod }: Route) => factsOf(fullMethod).isRead;

test('the calls that the mesh retries if a peer is unavailable are reads: every GET, and the search', () => {
  const tried = createRoutes().filter(isRead);
  expect(tried.filter(({ method }) => method !== 'GET').map(({ rpc: name }) => name)).toEqual(['Search']);
  const reads = createRoutes().filter(({ method }) => method === 'GET');
  expect(reads.filter((route) => !isRead(route))).toEqual([]);
});

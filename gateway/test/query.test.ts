import { describe, expect, test } from '@jest/globals';
import { createRoutes } from '../src/routes.js';
import { fixtureContract } from './fixture.js';
import { faultsOf, ID, OTHER, parserOf } from './request-helpers.js';

const routes = createRoutes(fixtureContract());
const list = parserOf(routes, 'ListThings');
const find = parserOf(routes, 'FindThings');
const get = parserOf(routes, 'GetResource');
const page = (query: Record<string, string | string[]>) => list({ query }).message.page;

describe('a GET', () => {
  test('parses its query', () => {
    const query = {
      colours: ['red', 'dark_blue,red'],
      isActive: '1',
      count: '-12',
      ratio: '2.5e-1',
      filter: '{"a":{"$gt":[1]}}',
      since: '2024-01-31T10:00:00+01:00',
      ids: `${ID},${OTHER}`,
      q: ' a,b ',
    };
    const { message, fields, baseVersion } = list({ query: { ...query, active: 'true' } });
    expect(message).toStrictEqual({
      page: { limit: 50, offset: 0, cursor: '' },
      colours: ['COLOUR_RED', 'COLOUR_DARK_BLUE', 'COLOUR_RED'],
      active: true,
      count: -12,
      ratio: 0.25,
      filter: Buffer.from('{"a":{"$gt":[1]}}'),
      since: '2024-01-31T09:00:00.000Z',
      ids: { values: [ID, OTHER] },
      q: ' a,b ',
    });
    expect([fields, baseVersion]).toEqual([undefined, undefined]);
  });

  test('takes a blank q, which finds everything, like an absent one', () => {
    for (const q of ['', ' ', ' \t\u3000']) expect(list({ query: { q } }).message).toMatchObject({ q: '' });
    expect(list({ query: { q: ' a ' } }).message).toMatchObject({ q: ' a ' });
  });

  test('ignores unknown parameters and its body', () => {
    const query = { nope: '1', ['__proto__']: 'x', base_version: 'x', constructor: 'y' };
    expect(list({ query, body: { nope: 1, q: 5 } }).message).toMatchObject({ q: '', count: 0 });
    expect(get({ params: { resource_id: ID }, query: { resource_id: OTHER } }).message.resourceId).toBe(ID);
  });

  test.each<[string, Record<string, string | string[]>, string, string]>([
    ['a boolean in other words', { active: 'yes' }, 'active', 'invalid_value'],
    ['an empty boolean', { active: '' }, 'active', 'invalid_value'],
    ['a fraction', { count: '1.5' }, 'count', 'invalid_value'],
    ['a hexadecimal number', { count: '0x10' }, 'count', 'invalid_value'],
    ['a number that is too large', { count: '99999999999' }, 'count', 'invalid_value'],
    ['no number', { ratio: 'Infinity' }, 'ratio', 'invalid_value'],
    ['one value twice', { q: ['a', 'b'] }, 'q', 'invalid_value'],
    ['a text that is too long', { q: 'x'.repeat(11) }, 'q', 'invalid_value'],
    ['NUL', { q: '\0' }, 'q', 'invalid_value'],
    ['an unknown choice', { colours: 'red,green' }, 'colours', 'invalid_value'],
    ['a bad id', { ids: `${ID},x` }, 'ids', 'invalid_value'],
    ['a date for a time', { since: '2024-01-31' }, 'since', 'invalid_value'],
    ['broken JSON', { filter: '{"a":' }, 'filter', 'invalid_value'],
    ['an include that the list does not have', { include: 'nope' }, 'include', 'invalid_value'],
    ['JSON of another kind', { filter: '[]' }, 'filter', 'invalid_type'],
    ['JSON with a key twice', { filter: '{"a":1,"a":2}' }, 'filter', 'invalid_value'],
    ['deep JSON', { filter: `{"a":${'['.repeat(9999)}${']'.repeat(9999)}}` }, 'filter', 'invalid_value'],
  ])('refuses %s', (_, query, param, code) => {
    expect(faultsOf(() => list({ query }))).toEqual([[param, code]]);
  });

  test('refuses an include that a single record does not have', () => {
    const query = { include: 'nope' };
    expect(faultsOf(() => get({ params: { resource_id: ID }, query }))).toEqual([['include', 'invalid_value']]);
  });

  test.each(['x', ID.toUpperCase(), `${ID} `, `req_${'a'.repeat(26)}`, '', '../x'])('refuses the id %p', (id) => {
    expect(faultsOf(() => get({ params: { resource_id: id } }))).toEqual([['resource_id', 'invalid_id']]);
  });
});

describe('pages', () => {
  test.each([
    [{}, { limit: 50, offset: 0, cursor: '' }],
    [{ limit: '200' }, { limit: 200, offset: 0, cursor: '' }],
    [{ limit: '5000' }, { limit: 200, offset: 0, cursor: '' }],
    [{ limit: '99999999999999999999' }, { limit: 200, offset: 0, cursor: '' }],
    [
      { limit: '2', offset: '9998' },
      { limit: 2, offset: 9998, cursor: '' },
    ],
    [
      { cursor: 'abc', limit: '3' },
      { limit: 3, offset: 0, cursor: 'abc' },
    ],
  ])('%p', (query, expected) => {
    expect(page(query)).toStrictEqual(expected);
  });

  test.each<[Record<string, string | string[]>, string, string]>([
    [{ limit: '0' }, 'limit', 'invalid_pagination'],
    [{ limit: '-5' }, 'limit', 'invalid_pagination'],
    [{ limit: '1.5' }, 'limit', 'invalid_pagination'],
    [{ limit: 'ten' }, 'limit', 'invalid_pagination'],
    [{ limit: '' }, 'limit', 'invalid_pagination'],
    [{ limit: ['1', '2'] }, 'limit', 'invalid_pagination'],
    [{ offset: '-1' }, 'offset', 'invalid_pagination'],
    [{ offset: '1e3' }, 'offset', 'invalid_pagination'],
    [{ cursor: 'abc', offset: '0' }, 'cursor', 'invalid_pagination'],
    [{ cursor: 'x'.repeat(5000) }, 'cursor', 'invalid_pagination'],
    [{ offset: '9951' }, 'offset', 'offset_too_deep'],
    [{ offset: '9999', limit: '2' }, 'offset', 'offset_too_deep'],
  ])('refuses %p', (query, param, code) => {
    expect(faultsOf(() => page(query))).toEqual([[param, code]]);
  });

  test('of a POST are requested in its body, by numbers', () => {
    expect(find({ body: { limit: 7, offset: 3 } }).message.page).toStrictEqual({ limit: 7, offset: 3, cursor: '' });
    expect(find({ body: { limit: null, cursor: 'x' } }).message.page).toMatchObject({ limit: 50, cursor: 'x' });
    expect(faultsOf(() => find({ body: { limit: '7' } }))).toEqual([['limit', 'invalid_pagination']]);
    expect(faultsOf(() => find({ body: { cursor: 7 } }))).toEqual([['cursor', 'invalid_pagination']]);
    expect(faultsOf(() => find({ query: { limit: '7' } }))).toEqual([['limit', 'unknown_parameter']]);
    expect(faultsOf(() => find({ body: { page: { limit: 7 } } }))).toEqual([['page', 'unknown_field']]);
  });

  test('have the limits of the contract', () => {
    const search = parserOf(routes, 'Search');
    expect(search({ body: { query: 'x' } }).message.page).toMatchObject({ limit: 20 });
    expect(search({ body: { query: 'x', limit: 100 } }).message.page).toMatchObject({ limit: 50 });
  });
});

describe('fields', () => {
  test('select the fields of a record, or of the items of a list', () => {
    const one = get({ params: { resource_id: ID }, query: { fields: 'id,name' } });
    expect(one.fields).toEqual(new Set(['id', 'name']));
    expect(list({ query: { fields: ['id', 'colour'] } }).fields).toEqual(new Set(['id', 'colour']));
  });

  test.each(['nope', 'id,nope', 'items', ',', ''])('refuses %p', (fields) => {
    expect(faultsOf(() => list({ query: { fields } }))).toEqual([['fields', 'invalid_value']]);
  });

  test('are for GET only', () => {
    expect(faultsOf(() => find({ query: { fields: 'id' } }))).toEqual([['fields', 'unknown_parameter']]);
  });
});

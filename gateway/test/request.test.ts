import { createFaults } from '@commonplace/kit/errors';
import { Json } from '@commonplace/proto/api/v1/access.js';
import { describe, expect, test } from '@jest/globals';
import { compileFreeForm } from '../src/request/free-form.js';
import type { ParsedRequest } from '../src/request/reading.js';
import { createRoutes } from '../src/routes.js';
import { fixtureContract } from './fixture.js';
import { faultsOf, ID, OTHER, parserOf, type RequestParts } from './request-helpers.js';

const routes = createRoutes(fixtureContract());
const parser = (rpc: string) => parserOf(routes, rpc);
const create = parser('CreateThing');
const update = parser('UpdateThing');
const replace = parser('ReplaceThing');
const withBody = (body: Record<string, unknown>): RequestParts => ({ params: { thing_id: ID }, body });

/** Returns objects that together have more names of fields than free-form JSON may have. */
const manyNames = () => Array.from({ length: 5001 }, (_, i) => ({ [`a${i}`]: 1, [`b${i}`]: 1 }));

describe('values in a body', () => {
  test.each<[string, Record<string, unknown>, string, string]>([
    ['an unknown field', { nope: 1 }, 'nope', 'unknown_field'],
    ['camelCase', { colourS: [] }, 'colourS', 'unknown_field'],
    ['the generated name', { updateMask: [] }, 'updateMask', 'unknown_field'],
    ['an operator of a database', { $gt: '' }, '$gt', 'unknown_field'],
    ['an operator as a value', { name: { $gt: '' } }, 'name', 'invalid_type'],
    ['__proto__', JSON.parse('{"__proto__":{"name":"x"}}'), '__proto__', 'unknown_field'],
    ['constructor', { constructor: { prototype: {} } }, 'constructor', 'unknown_field'],
    ['hasOwnProperty', { hasOwnProperty: 1 }, 'hasOwnProperty', 'unknown_field'],
    ['base_version in a POST', { base_version: 1 }, 'base_version', 'unknown_field'],
    ['limit where there is no list', { limit: 1 }, 'limit', 'unknown_field'],
    ['a number for a string', { name: 5 }, 'name', 'invalid_type'],
    ['a list for a string', { name: ['a'] }, 'name', 'invalid_type'],
    ['a string for a boolean', { is_active: 'true' }, 'is_active', 'invalid_type'],
    ['a string for a number', { small: '5' }, 'small', 'invalid_type'],
    ['a boolean for a number', { ratio: true }, 'ratio', 'invalid_type'],
    ['a number for an enum', { colour: 1 }, 'colour', 'invalid_type'],
    ['a string for a list', { colours: 'red' }, 'colours', 'invalid_type'],
    ['null in a list', { colours: [null] }, 'colours[0]', 'invalid_type'],
    ['a number for a time', { at: 1700000000 }, 'at', 'invalid_type'],
    ['a list for an object', { part: [] }, 'part', 'invalid_type'],
    ['a list for a map', { labels: [] }, 'labels', 'invalid_type'],
    ['a fraction', { small: 1.5 }, 'small', 'invalid_value'],
    ['less than the minimum', { small: 0 }, 'small', 'invalid_value'],
    ['more than the maximum', { small: 11 }, 'small', 'invalid_value'],
    ['an integer beyond 2^53', { big: 2 ** 53 }, 'big', 'invalid_value'],
    ['a number below its minimum', { ratio: -0.1 }, 'ratio', 'invalid_value'],
    ['an infinite number', JSON.parse('{"ratio":1e999}'), 'ratio', 'invalid_value'],
    ['an enum in upper case', { colour: 'RED' }, 'colour', 'invalid_value'],
    ['an enum with its prefix', { colour: 'colour_red' }, 'colour', 'invalid_value'],
    ['an unspecified enum', { colour: 'unspecified' }, 'colour', 'invalid_value'],
    ['an enum that names a method of objects', { colour: 'toString' }, 'colour', 'invalid_value'],
    ['a list with a bad item', { colours: ['red', 'nope'] }, 'colours[1]', 'invalid_value'],
    ['too many items', { colours: ['red', 'red', 'red'] }, 'colours', 'too_many_items'],
    ['too many items in a wrapped list', { ids: [ID, ID, ID] }, 'ids', 'too_many_items'],
    ['an object for a wrapped list', { ids: { values: [ID] } }, 'ids', 'invalid_type'],
    ['a bad id in a wrapped list', { ids: [ID, 'x'] }, 'ids[1]', 'invalid_value'],
    ['too few items for the list in a wrapper', { ids: [] }, 'ids', 'invalid_value'],
    ['a bad value in a map', { labels: { a: 'x' } }, 'labels.a', 'invalid_type'],
    ['__proto__ in a map', { labels: JSON.parse('{"__proto__":1}') }, 'labels.__proto__', 'unknown_field'],
    ['an address without @', { email: 'ada.example.org' }, 'email', 'invalid_value'],
    ['an address with two @', { email: 'a@b@c' }, 'email', 'invalid_value'],
    ['an address with a space', { email: 'a b@c' }, 'email', 'invalid_value'],
    ['an address without a host', { email: 'a@' }, 'email', 'invalid_value'],
    ['an address with a host that can not be', { email: 'a@i.com*' }, 'email', 'invalid_value'],
    ['an address with a dot behind its host', { email: 'a@i.com.' }, 'email', 'invalid_value'],
    ['an address with an empty label', { email: 'a@i..com' }, 'email', 'invalid_value'],
    ['an address with a space that nobody sees', { email: 'a\u200bda@i.com' }, 'email', 'invalid_value'],
    ['an address that turns the direction of text', { email: 'a\u202eda@i.com' }, 'email', 'invalid_value'],
    ['an address with a letter that nobody sees', { email: 'ada\u3164@i.com' }, 'email', 'invalid_value'],
    ['a choice that there is not', { sort: 'size' }, 'sort', 'invalid_value'],
    ['a line that is too short', { name: ' a ' }, 'name', 'invalid_value'],
    ['a line that is too long', { name: 'abcdef' }, 'name', 'invalid_value'],
    ['a line of which nothing can be seen', { name: '\u200b\u3164\u2800' }, 'name', 'invalid_value'],
    ['a line with a tab', { name: 'a\tb' }, 'name', 'invalid_value'],
    ['a line with a line separator', { name: 'a\u2028b' }, 'name', 'invalid_value'],
    ['a line with DEL', { name: 'a\u007fb' }, 'name', 'invalid_value'],
    ['NUL', { secret: 'a\0b' }, 'secret', 'invalid_value'],
    ['half a surrogate pair', { secret: 'a\ud800' }, 'secret', 'invalid_value'],
    ['NUL in free-form JSON', { any: { a: ['b\0'] } }, 'any', 'invalid_value'],
    ['NUL in a key of free-form JSON', { object: { 'a\0': 1 } }, 'object', 'invalid_value'],
    ['half a pair in free-form JSON', { any: ['\udc00x'] }, 'any', 'invalid_value'],
    ['free-form JSON above 256 KiB', { any: 'ü'.repeat(131_072) }, 'any', 'invalid_value'],
    ['free-form JSON with thousands of names', { object: { list: manyNames() } }, 'object', 'invalid_value'],
    ['an infinite number in free-form JSON', JSON.parse('{"any":{"a":[null,-1e400]}}'), 'any', 'invalid_value'],
    ['a list for an object of free form', { object: [] }, 'object', 'invalid_type'],
    ['an object for a list of free form', { array: {} }, 'array', 'invalid_type'],
    ['a number for a text or an object', { text: 1 }, 'text', 'invalid_type'],
    ['an unknown field further down', { part: { title: 'a', nope: 1 } }, 'part.nope', 'unknown_field'],
    ['a missing field further down', { part: {} }, 'part.title', 'missing_field'],
    ['a null field further down', { part: { title: null } }, 'part.title', 'missing_field'],
    ['an empty field that must be', { part: { title: '' } }, 'part.title', 'missing_field'],
    ['a fault in an item', { parts: [{ title: 'a' }, { title: 'abcd' }] }, 'parts[1].title', 'invalid_value'],
    ['a fault far below', { part: { title: 'a', part: { title: 1 } } }, 'part.part.title', 'invalid_type'],
    ['two spellings', { is_active: true, isActive: false }, 'isActive', 'conflicting_alias'],
    ['two spellings, one null', { isActive: true, is_active: null }, 'isActive', 'conflicting_alias'],
    ['a path parameter that differs', { thing_id: OTHER }, 'thing_id', 'unknown_field'],
    ['an id that differs', { id: OTHER }, 'id', 'unknown_field'],
  ])('refuses %s', (_, body, param, code) => {
    expect(faultsOf(() => create(withBody(body)))).toEqual([[param, code]]);
  });

  test.each([
    '2024-01-31',
    '2024-01-31T10:00:00',
    '2024-01-31 10:00:00Z',
    '2024-02-30T10:00:00Z',
    '2023-02-29T10:00:00Z',
    '2024-13-01T10:00:00Z',
    '2024-01-31T24:00:00Z',
    '2024-01-31T10:60:00Z',
    '2024-01-31T10:00:00+24:00',
    '2024-01-31T10:00:00Zoo',
    '0000-01-01T00:00:00Z',
    '0001-01-01T00:00:00+01:00',
    'now',
    '',
  ])('refuses the time %p', (at) => {
    expect(faultsOf(() => create(withBody({ at })))).toEqual([['at', 'invalid_value']]);
  });

  test.each([
    ['2024-02-29T10:00:00Z', '2024-02-29T10:00:00.000Z'],
    ['2024-01-31t10:00:00.5z', '2024-01-31T10:00:00.500Z'],
    ['2024-01-31T10:00:00.123999+05:30', '2024-01-31T04:30:00.123Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  ])('accepts the time %p', (at, expected) => {
    expect(create(withBody({ at })).message.at).toBe(expected);
  });

  test('reports all errors at once, at most 100 of them', () => {
    const body = { colour: 'no', small: 'x', name: 1 };
    const all = faultsOf(() => create({ params: { thing_id: 'x' }, query: { a: '1' }, body }));
    expect(all).toEqual([
      ['thing_id', 'invalid_id'],
      ['colour', 'invalid_value'],
      ['small', 'invalid_type'],
      ['name', 'invalid_type'],
      ['a', 'unknown_parameter'],
    ]);
    const many = Object.fromEntries(Array.from({ length: 150 }, (_, i) => [`f${i}`, i]));
    expect(faultsOf(() => create(withBody(many)))).toHaveLength(100);
  });

  test('a single error determines the code, and lists the choices', () => {
    expect(() => create(withBody({ colour: 'no' }))).toThrow(
      expect.objectContaining({
        reason: 'invalid_value',
        param: 'colour',
        message: 'colour must be one of red, dark_blue.',
      }),
    );
    expect(() => create(withBody({ a: 1, b: 2 }))).toThrow(expect.objectContaining({ reason: 'validation_failed' }));
  });

  test('never repeats a long name or half a surrogate pair', () => {
    const [[param] = []] = faultsOf(() => create(withBody({ [`${'x'.repeat(5000)}\ud800`]: 1 })));
    expect(param).toBe(`${'x'.repeat(200)}…`);
    expect(faultsOf(() => create(withBody({ '\ud800': 1 })))).toEqual([['\ufffd', 'unknown_field']]);
  });

  test('converts each value to the form of the generated code', () => {
    const body = {
      id: ID,
      thing_id: ID,
      name: '  Ünï ',
      isActive: true,
      small: 10,
      big: 2 ** 53 - 1,
      ratio: -0,
      colour: 'dark_blue',
      colours: ['red'],
      any: 'x',
      object: { $gt: 1, 'a\\u0000': '\\ud800' },
      array: [1],
      text: 'words',
      part: { title: 'ab', note: null, part: { title: 'c' } },
      parts: [{ title: '😀😀😀' }],
      ids: [ID],
      labels: { a: 1, constructor: 2 },
      email: 'Ada@Example.org',
      sort: '-name',
      secret: 'a\nb',
    };
    const { message, baseVersion, fields } = create(withBody(body));
    expect(message).toStrictEqual({
      thingId: ID,
      name: 'Ünï',
      isActive: true,
      small: 10,
      big: 2 ** 53 - 1,
      ratio: 0,
      colour: 'COLOUR_DARK_BLUE',
      colours: ['COLOUR_RED'],
      at: undefined,
      any: Buffer.from('"x"'),
      object: Buffer.from('{"$gt":1,"a\\\\u0000":"\\\\ud800"}'),
      array: Buffer.from('[1]'),
      text: Buffer.from('"words"'),
      part: { title: 'ab', note: undefined, part: { title: 'c', note: undefined, part: undefined } },
      parts: [{ title: '😀😀😀', note: undefined, part: undefined }],
      ids: { values: [ID] },
      labels: { a: 1, constructor: 2 },
      email: 'Ada@Example.org',
      sort: '-name',
      secret: 'a\nb',
    });
    expect(Object.is(message.ratio, 0)).toBe(true);
    expect([baseVersion, fields]).toEqual([undefined, undefined]);
  });

  test('absent and null are empty in a POST', () => {
    const nothing = create(withBody({})).message;
    expect(nothing).toMatchObject({ name: undefined, big: 0, colour: 'COLOUR_UNSPECIFIED', colours: [], labels: {} });
    expect(nothing.object).toStrictEqual(Buffer.alloc(0));
    const nulls = Object.fromEntries(
      ['name', 'big', 'colour', 'colours', 'object', 'part', 'ids'].map((k) => [k, null]),
    );
    expect(create(withBody(nulls)).message).toStrictEqual(nothing);
  });

  test('two requests share no list and no map', () => {
    const [a, b] = [create(withBody({})).message, create(withBody({})).message];
    (a.colours as string[]).push('COLOUR_RED');
    (a.labels as Record<string, number>).x = 1;
    expect(b).toMatchObject({ colours: [], labels: {} });
  });

  test('both spellings with one value are one field', () => {
    expect(create(withBody({ is_active: false, isActive: false })).message.isActive).toBe(false);
  });
});

describe('JSON whose bytes its service limits', () => {
  const large = ['ü'.repeat(131_072)];

  function messagesOf(value: unknown, readInPieces: boolean): string[] {
    const faults = createFaults();
    compileFreeForm({ json: Json.ARRAY, maxBytes: 0, limitedByOwner: true, readInPieces })(value, 'list', faults);
    return faults.list.map(({ message }) => message);
  }

  test('may have more than 256 KiB, but not any number of names', () => {
    expect(messagesOf(large, false)).toEqual([]);
    expect(messagesOf(manyNames(), false)).toEqual(['list may have at most 10000 different names of fields.']);
  });

  test('may have any number of names if the service reads it in pieces', () => {
    expect([...messagesOf(large, true), ...messagesOf(manyNames(), true)]).toEqual([]);
  });
});

describe('a PATCH', () => {
  const parse = (body: Record<string, unknown>): ParsedRequest => update(withBody(body));

  test('names the fields that are present, the leaves of nested ones', () => {
    const { message } = parse({
      name: 'abc',
      isActive: false,
      part: { title: 'x', part: { title: 'y' } },
      parts: [],
      any: 1,
    });
    expect(message.updateMask).toEqual(['name', 'is_active', 'part.title', 'part.part.title', 'parts', 'any']);
  });

  test('does not select what a nested message omits, but selects all of an item', () => {
    expect(parse({ part: { note: 'x' } }).message).toMatchObject({ updateMask: ['part.note'] });
    expect(faultsOf(() => parse({ parts: [{ note: 'x' }] }))).toEqual([['parts[0].title', 'missing_field']]);
  });

  test('null clears a clearable field', () => {
    const { message } = parse({ small: null, any: null, part: { note: null } });
    expect(message).toMatchObject({ updateMask: ['small', 'any', 'part.note'], small: undefined });
    expect(message.any).toStrictEqual(Buffer.alloc(0));
    expect(faultsOf(() => parse({ name: null, part: { title: null }, ids: null }))).toEqual([
      ['name', 'invalid_value'],
      ['part.title', 'invalid_value'],
      ['ids', 'invalid_value'],
    ]);
  });

  test.each([{}, { id: ID }, { base_version: 3 }, { part: {} }])('refuses %p as empty', (body) => {
    expect(() => parse(body)).toThrow(expect.objectContaining({ reason: 'no_update_field' }));
  });

  test('an empty object beside other fields changes nothing', () => {
    expect(parse({ small: 1, part: {} }).message).toMatchObject({ updateMask: ['small'] });
  });

  test('accepts no mask from a client', () => {
    expect(faultsOf(() => parse({ update_mask: ['name'] }))).toEqual([['update_mask', 'unknown_field']]);
  });

  test('accepts base_version next to the fields', () => {
    expect(parse({ name: 'abc', base_version: 3 })).toMatchObject({
      baseVersion: 3,
      message: { updateMask: ['name'] },
    });
    expect(parse({ name: 'abc', base_version: null }).baseVersion).toBeUndefined();
    expect(replace(withBody({ base_version: 0 })).baseVersion).toBe(0);
    expect(faultsOf(() => parse({ name: 'abc', base_version: '3' }))).toEqual([['base_version', 'invalid_type']]);
    expect(faultsOf(() => parse({ name: 'abc', base_version: -1 }))).toEqual([['base_version', 'invalid_value']]);
    expect(faultsOf(() => parse({ name: 'abc', base_version: 1.5 }))).toEqual([['base_version', 'invalid_value']]);
  });

  test('of a record accepts nothing by query', () => {
    const asked = { ...withBody({ name: 'abc' }), query: { small: '3', base_version: '1' } };
    expect(faultsOf(() => update(asked))).toEqual([
      ['small', 'unknown_parameter'],
      ['base_version', 'unknown_parameter'],
    ]);
  });
});

describe('selectors', () => {
  const move = parser('MovePins');
  const remove = parser('RemovePins');
  const detach = parser('DetachTag');
  const at = { thing_id: ID };

  test('of a DELETE come by query or by body', () => {
    const wanted = { thingId: ID, pinId: OTHER, ids: [ID, OTHER] };
    expect(remove({ params: at, query: { pin_id: OTHER, ids: `${ID},${OTHER}` } }).message).toStrictEqual(wanted);
    expect(remove({ params: at, body: { pin_id: OTHER, ids: [ID, OTHER] } }).message).toStrictEqual(wanted);
    const both = { params: at, query: { pin_id: OTHER, ids: [ID, OTHER] }, body: { pin_id: OTHER, ids: [ID, OTHER] } };
    expect(remove(both).message).toStrictEqual(wanted);
  });

  test('that differ between query and body are ambiguous', () => {
    expect(faultsOf(() => remove({ params: at, query: { pin_id: ID }, body: { pin_id: OTHER } }))).toEqual([
      ['pin_id', 'ambiguous_target'],
    ]);
    const versions = { params: at, query: { base_version: '1' }, body: { base_version: 2 } };
    expect(faultsOf(() => remove(versions))).toEqual([['base_version', 'ambiguous_target']]);
  });

  test('that are misspelt do not widen a DELETE', () => {
    expect(faultsOf(() => remove({ params: at, query: { pin: ID } }))).toEqual([['pin', 'unknown_parameter']]);
    expect(faultsOf(() => remove({ params: at, query: { thing_id: ID } }))).toEqual([
      ['thing_id', 'unknown_parameter'],
    ]);
    expect(faultsOf(() => remove({ params: at, body: { pin: ID } }))).toEqual([['pin', 'unknown_field']]);
    expect(faultsOf(() => remove({ params: at, query: { pin_id: [ID, OTHER] } }))).toEqual([
      ['pin_id', 'invalid_value'],
    ]);
    expect(faultsOf(() => remove({ params: at, query: { pin_id: 'x' } }))).toEqual([['pin_id', 'invalid_value']]);
  });

  test('a DELETE accepts base_version by query as well', () => {
    expect(remove({ params: at, query: { base_version: '7' } }).baseVersion).toBe(7);
    expect(faultsOf(() => remove({ params: at, query: { base_version: 'x' } }))).toEqual([
      ['base_version', 'invalid_type'],
    ]);
  });

  test('of a PATCH of a part are also accepted by query, and it must name something', () => {
    expect(move({ params: at, query: { pin_id: OTHER } }).message).toMatchObject({ pinId: OTHER });
    expect(() => move({ params: at })).toThrow(expect.objectContaining({ reason: 'no_update_field' }));
  });

  test('a PATCH of a record without a mask may be empty, and accepts nothing by query', () => {
    expect(detach({ params: at }).message).toStrictEqual({ thingId: ID, pinId: undefined, ids: [] });
    expect(faultsOf(() => detach({ params: at, query: { ids: ID } }))).toEqual([['ids', 'unknown_parameter']]);
  });
});

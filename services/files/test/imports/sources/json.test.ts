import { describe, expect, test } from '@jest/globals';
import { openJsonSource } from '../../../src/imports/sources/json/source.js';
import { bundleOf, faultOf, readAll } from './bundle.js';

const read = async (value: unknown) => {
  const { source, content } = await readAll(openJsonSource, {
    'a.json': typeof value === 'string' ? value : JSON.stringify(value),
  });
  return { kind: source.items[0]?.kind, ...content('a.json') };
};

describe('JSON is read as', () => {
  test('a table when it is a list of objects', async () => {
    const { kind, json } = await read([
      { name: 'A', size: 1, on: true, at: '2024-01-05', tags: ['x'] },
      { name: 'B', size: 2.5, on: false, more: { deep: 1 } },
    ]);
    expect(kind).toBe('table');
    expect(json).toEqual({
      columns: [
        { id: 'c1', name: 'name', type: 'text' },
        { id: 'c2', name: 'size', type: 'number' },
        { id: 'c3', name: 'on', type: 'checkbox' },
        { id: 'c4', name: 'at', type: 'date' },
        { id: 'c5', name: 'tags', type: 'json' },
        { id: 'c6', name: 'more', type: 'json' },
      ],
      rows: [
        ['A', 1, true, '2024-01-05', ['x'], null],
        ['B', 2.5, false, null, null, { deep: 1 }],
      ],
    });
  });

  test('a table when objects are on lines, or in one list of an object', async () => {
    expect((await read('{"a":1}\n{"a":2}\n')).json).toMatchObject({ rows: [[1], [2]] });
    expect((await read({ total: 2, items: [{ a: 1 }, { a: 2 }] })).json).toMatchObject({ rows: [[1], [2]] });
  });

  test('a table of the list, with a warning about what is beside it', async () => {
    const { json, warnings } = await read({ total: 2, next: null, items: [{ a: 1 }] });
    expect(json).toMatchObject({ rows: [[1]] });
    expect(warnings?.join()).toMatch(/total, next/);
  });

  test('a table in the form of the product', async () => {
    const table = { columns: [{ id: 'n', name: 'N', type: 'text' }], rows: [{ id: 'r1', cells: { n: 'x' } }] };
    expect(await read(table)).toMatchObject({ kind: 'table', json: table });
  });

  test('a document in the form of the product', async () => {
    const content = [{ type: 'paragraph', content: [{ type: 'text', text: 'hi' }] }];
    expect(await read({ type: 'doc', title: 'Mine', content })).toEqual({
      kind: 'document',
      title: 'Mine',
      json: { type: 'doc', content },
    });
  });

  test('cells that are empty where an object lacks the key, whatever all objects inherit', async () => {
    const { json } = await read('[{"constructor": "x", "__proto__": "y"}, {"toString": "z"}]');
    expect(json).toMatchObject({
      columns: [{ name: 'constructor' }, { name: '__proto__' }, { name: 'toString' }],
      rows: [
        ['x', 'y', null],
        [null, null, 'z'],
      ],
    });
  });

  test('text when an integer has more digits than a number keeps', async () => {
    const { json } = await read(
      '[{"id": 12345678901234567890, "size": 0.10000000000000001, "all": 1e999, "in": {"id": 9007199254740993}},\n' +
        '{"id": -9007199254740992, "size": 2, "note": "\\"9007199254740993", "all": 100000000000000000000}]',
    );
    expect(json).toMatchObject({
      columns: [
        { name: 'id', type: 'text' },
        { name: 'size', type: 'number' },
        { name: 'all', type: 'text' },
        { name: 'in', type: 'json' },
        { name: 'note', type: 'text' },
      ],
      rows: [
        ['12345678901234567890', 0.1, '1e999', { id: '9007199254740993' }, null],
        ['-9007199254740992', 2, '100000000000000000000', null, '"9007199254740993'],
      ],
    });
  });

  test('text when a column has numbers and words, without loss', async () => {
    expect((await read([{ a: 1 }, { a: 'x' }, { a: null }, { a: true }])).json).toMatchObject({
      columns: [{ type: 'text' }],
      rows: [['1'], ['x'], [null], ['true']],
    });
  });

  test.each([
    ['invalid_json', '{"a":'],
    ['unknown_shape', '[1,2]'],
    ['unknown_shape', '"text"'],
    ['unknown_shape', '[]'],
    ['unknown_shape', '{"a":{"b":1}}'],
    ['nested_too_deep', '['.repeat(1_000_000)],
    ['nested_too_deep', `[{"a":${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}}]`],
    ['too_many_columns', JSON.stringify([Object.fromEntries(Array.from({ length: 501 }, (_, at) => [`k${at}`, 1]))])],
  ])('refused: %s', async (code, text) => {
    expect(
      await faultOf(
        openJsonSource(bundleOf({ 'a.json': text }), {}).then((source) =>
          source.read(source.items[0] ?? { path: '', kind: 'table', name: '' }),
        ),
      ),
    ).toBe(code);
  });
});

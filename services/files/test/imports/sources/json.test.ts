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

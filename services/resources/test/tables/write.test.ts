import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openTables, type TableWorld } from './table-world.js';

let tables: TableWorld;
beforeAll(async () => {
  tables = await openTables();
});
afterAll(() => tables.world.stage.close());

const COLUMNS = [
  { id: 'name', name: 'Name', type: 'text' },
  { id: 'n', name: 'Amount', type: 'number' },
  {
    id: 'stage',
    name: 'Stage',
    type: 'select',
    options: {
      choices: [
        { id: 'new', name: 'New' },
        { id: 'won', name: 'Won' },
      ],
    },
  },
];

describe('replace', () => {
  test('a new table has one text column and no rows', async () => {
    const id = await tables.create();
    const read = await tables.read(id);
    expect(read.columns).toMatchObject([{ name: 'Name', type: 'text', is_primary: true }]);
    expect(read).toMatchObject({ rows: [], rowCount: 0, page: { total: 0, hasMore: false } });
    expect((await tables.read(id)).columns).toEqual(read.columns);
  });

  test('accepts rows in each form', async () => {
    const id = await tables.create(COLUMNS, [
      { id: 'r1', cells: { name: 'Acme', n: 1, stage: 'new' } },
      { Name: 'Globex', Amount: 2, stage: 'Won' },
      ['Initech', 3],
    ]);
    const { rows, rowCount } = await tables.read(id);
    expect(rowCount).toBe(3);
    expect(rows.map(({ cells }) => cells)).toEqual([
      { name: 'Acme', n: 1, stage: 'new' },
      { name: 'Globex', n: 2, stage: 'won' },
      { name: 'Initech', n: 3, stage: null },
    ]);
    expect(rows[0]?.id).toBe('r1');
    expect(rows[1]?.id).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('writing back what was read changes nothing', async () => {
    const id = await tables.create(COLUMNS, [
      ['a', 1, 'new'],
      ['b', 2, 'won'],
    ]);
    const { columns, rows, version } = await tables.read(id);
    expect(await tables.write(id, { columns, rows })).toMatchObject({ changed: false, version });
  });

  test('a character of two UTF-16 units counts as one', async () => {
    const columns = [{ id: 'n', name: '😀'.repeat(255), description: '😀'.repeat(2000), options: { max_length: 3 } }];
    const id = await tables.create(columns, [['😀😀😀']]);
    expect((await tables.read(id)).rows).toMatchObject([{ cells: { n: '😀😀😀' } }]);
    expect(await tables.faults(id, { columns, rows: [['😀😀😀😀']] })).toMatchObject([
      { param: 'rows[0].cells.n', code: 'cell_invalid' },
    ]);
  });

  test('a column may be called like a part of a row', async () => {
    const columns = [
      { id: 'cells', name: 'Cells', type: 'text' },
      { id: 'raw', name: 'cells', type: 'json' },
      { id: 'id', name: 'Id', type: 'text' },
    ];
    const id = await tables.create(columns, [{ id: 'r', cells: { cells: 'a', raw: { deep: 1 }, id: 'x' } }]);
    const { columns: shown, rows, version } = await tables.read(id);
    expect(rows).toMatchObject([{ id: 'r', cells: { cells: 'a', raw: { deep: 1 }, id: 'x' } }]);
    expect(await tables.write(id, { columns: shown, rows })).toMatchObject({ changed: false, version });
    const json = [{ id: 'cells', name: 'Cells', type: 'json' }];
    const flat = await tables.create(json, [
      { cells: { any: 1 } },
      { cells: 'text' },
      { id: 'own', cells: { any: 2 } },
    ]);
    const cells = (await tables.read(flat)).rows.map((row) => row.cells);
    expect(cells).toEqual([{ cells: { any: 1 } }, { cells: 'text' }, { cells: { any: 2 } }]);
  });

  test('the response of a write equals a read after it', async () => {
    const id = await tables.create(COLUMNS, [['a', 1, 'new']]);
    const written = await tables.write(id, {
      columns: COLUMNS,
      rows: [
        ['b', 2, 'won'],
        ['c', 3, 'new'],
      ],
    });
    const read = await tables.read(id);
    expect(written).toMatchObject({ changed: true, version: 2, rowCount: 2 });
    expect(written.rows).toEqual(read.rows);
    expect(written.columns).toEqual(read.columns);
  });

  test('existing rows keep their creation time; absent ones are deleted and remain in a snapshot', async () => {
    const id = await tables.create(COLUMNS, [
      { id: 'a', cells: { name: 'A' } },
      { id: 'b', cells: { name: 'B' } },
    ]);
    const before = await tables.read(id);
    const after = await tables.write(id, { columns: COLUMNS, rows: [{ id: 'a', cells: { name: 'A2' } }] });
    expect(after.rows).toMatchObject([{ id: 'a', created_at: before.rows[0]?.created_at, cells: { name: 'A2' } }]);
    expect(after.snapshotId).toBeDefined();
    const kept = await tables.read(id, { snapshotId: after.snapshotId as string });
    expect(kept.rows).toEqual(before.rows);
    const back = await tables.write(id, { snapshotId: after.snapshotId as string });
    expect(back.rows).toEqual(before.rows);
  });

  test('columns are matched by id, then by name', async () => {
    const id = await tables.create(COLUMNS, [['a', 1, 'new']]);
    const [row] = (await tables.read(id)).rows;
    const again = await tables.write(id, {
      columns: [{ id: 'n', name: 'Sum' }, { name: 'Name' }, { name: 'Extra', type: 'checkbox' }],
      rows: [{ id: row?.id, cells: { n: 1, name: 'a', Extra: true } }],
    });
    expect(again.columns.map(({ id: each, name, type }) => [each, name, type])).toEqual([
      ['n', 'Sum', 'number'],
      ['name', 'Name', 'text'],
      [expect.stringMatching(/^col_/), 'Extra', 'checkbox'],
    ]);
    expect(again.primary).toBe('name');
  });

  test('positions order rows', async () => {
    const id = await tables.create(COLUMNS, [
      { name: 'third', position: 2 },
      { name: 'first', position: 0 },
      { name: 'second', position: 1 },
    ]);
    expect((await tables.read(id)).rows.map(({ cells }) => cells.name)).toEqual(['first', 'second', 'third']);
  });

  test('a new type converts values; those that cannot be converted are emptied with a warning', async () => {
    const id = await tables.create(
      [{ id: 'a', name: 'A' }],
      [
        { id: 'x', a: '12' },
        { id: 'y', a: 'twelve' },
      ],
    );
    const { rows } = await tables.read(id);
    const after = await tables.write(id, { columns: [{ id: 'a', name: 'A', type: 'number' }], rows });
    expect(after.rows.map(({ cells }) => cells.a)).toEqual([12, null]);
    expect(after.warnings).toMatchObject([{ code: 'cells_emptied', message: expect.stringContaining('y') }]);
    expect(after.snapshotId).toBeDefined();
  });

  test('a choice becomes one of several as a whole, also with a comma in its name, and so does a number', async () => {
    const choices = [
      { id: 's', name: 'Smith, John' },
      { id: 'b', name: 'Bo' },
    ];
    const id = await tables.create(
      [
        { id: 'who', name: 'Who', type: 'select', options: { choices } },
        { id: 'n', name: 'N', type: 'number' },
      ],
      [
        { id: 'x', who: 's', n: 7 },
        { id: 'y', who: 'b', n: null },
      ],
    );
    const { rows } = await tables.read(id);
    const several = [
      { id: 'who', name: 'Who', type: 'multi_select', options: { choices } },
      { id: 'n', name: 'N', type: 'multi_select', options: { choices: [{ id: 'seven', name: '7' }] } },
    ];
    const after = await tables.write(id, { columns: several, rows });
    expect(after.rows.map(({ cells }) => [cells.who, cells.n])).toEqual([
      [['s'], ['seven']],
      [['b'], null],
    ]);
    expect(after.columns.map(({ options }) => options.choices?.length)).toEqual([2, 1]);
    expect(after.warnings).toEqual([]);
  });

  test('computed values become stored ones, except for errors', async () => {
    const target = await tables.create(
      [{ id: 'n', name: 'N' }],
      [
        { id: 't1', n: 'Ada' },
        { id: 't2', n: 'Bob' },
      ],
    );
    const columns = [
      { id: 'name', name: 'Name' },
      { id: 'link', name: 'Link', type: 'link', options: { target_table_id: target } },
      { id: 'twice', name: 'Twice', type: 'formula', options: { expression: '{name} * 2' } },
      { id: 'seen', name: 'Seen', type: 'lookup', options: { link_column_id: 'link', target_column_id: 'n' } },
      { id: 'many', name: 'Many', type: 'count', options: { link_column_id: 'link' } },
      { id: 'at', name: 'At', type: 'created_at' },
    ];
    const id = await tables.create(columns, [
      { id: 'x', name: '4', link: ['t1', 't2'] },
      { id: 'y', name: 'four' },
    ]);
    const before = await tables.read(id);
    const stored = [
      { id: 'twice', type: 'text' },
      { id: 'seen', type: 'text' },
      { id: 'many', type: 'number' },
      { id: 'at', type: 'datetime' },
    ];
    const after = await tables.write(id, { mode: 'upsert', columns: stored });
    const [x, y] = before.rows.map(({ cells }) => cells);
    expect(after.rows.map(({ cells }) => cells)).toEqual([
      { name: '4', link: ['t1', 't2'], twice: '8', seen: 'Ada, Bob', many: 2, at: x?.at },
      { name: 'four', link: null, twice: null, seen: null, many: 0, at: y?.at },
    ]);
    expect(after.warnings).toMatchObject([{ code: 'cells_emptied', message: expect.stringMatching(/Twice.* y\.$/) }]);
    expect(after.snapshotId).toBeDefined();
  });

  test('stored values that a computed column replaces are named in a warning, and kept in a snapshot', async () => {
    const id = await tables.create(
      [
        { id: 'name', name: 'Name' },
        { id: 'v', name: 'V' },
      ],
      [
        { id: 'x', name: '1', v: 'text' },
        { id: 'y', name: '2' },
      ],
    );
    const computed = [
      { id: 'name', name: 'Name' },
      { id: 'v', name: 'V', type: 'formula', options: { expression: '1+1' } },
    ];
    const { rows } = await tables.read(id);
    const after = await tables.write(id, { mode: 'upsert', columns: computed });
    expect(after.rows.map(({ cells }) => cells.v)).toEqual([2, 2]);
    expect(after.warnings).toMatchObject([{ code: 'cells_emptied', message: expect.stringMatching(/rows x\.$/) }]);
    expect(after.snapshotId).toBeDefined();
    const again = await tables.write(id, { mode: 'upsert', columns: computed });
    expect(again).toMatchObject({ changed: false, warnings: [] });
    const other = await tables.create(
      [
        { id: 'name', name: 'Name' },
        { id: 'v', name: 'V' },
      ],
      rows,
    );
    const replaced = await tables.write(other, { columns: computed, rows });
    expect(replaced.warnings).toMatchObject([{ code: 'cells_emptied', message: expect.stringMatching(/rows x\.$/) }]);
    expect(replaced.snapshotId).toBeDefined();
  });
});

describe('append and upsert', () => {
  test('append adds rows at the end or at their position', async () => {
    const id = await tables.create(COLUMNS, [
      ['a', 1],
      ['b', 2],
    ]);
    await tables.write(id, { mode: 'append', rows: [{ name: 'c' }, { name: 'first', position: 0 }] });
    const { rows } = await tables.read(id);
    expect(rows.map(({ cells }) => cells.name)).toEqual(['first', 'a', 'b', 'c']);
  });

  test('upsert changes rows that match the key, adds the others, and deletes the named ones', async () => {
    const id = await tables.create(COLUMNS, [
      { id: 'a', cells: { name: 'A', n: 1, stage: 'new' } },
      { id: 'b', cells: { name: 'B', n: 2 } },
      { id: 'c', cells: { name: 'C', n: 3 } },
    ]);
    const rows = [
      { name: 'A', n: 10 },
      { name: 'D', n: 4 },
    ];
    const after = await tables.write(id, { mode: 'upsert', key: 'name', rows, gone: ['b', 'nobody'] });
    expect(after.rows.map(({ cells }) => cells)).toEqual([
      { name: 'A', n: 10, stage: 'new' },
      { name: 'C', n: 3, stage: null },
      { name: 'D', n: 4, stage: null },
    ]);
    expect(after.snapshotId).toBeDefined();
    const again = await tables.write(id, { mode: 'upsert', key: 'name', rows });
    expect(again.changed).toBe(false);
  });

  test('refuses two rows of an upsert with the same key, whether or not a row of the table has it', async () => {
    const id = await tables.create(COLUMNS, [{ id: 'a', cells: { name: 'A', n: 1 } }]);
    for (const name of ['A', 'new']) {
      const rows = [
        { name, n: 2 },
        { name: 'other', n: 3 },
        { name, n: 4 },
      ];
      const refused = await tables.faults(id, { mode: 'upsert', key: 'name', rows });
      expect(refused).toMatchObject([{ param: 'rows[2]', code: 'invalid_value' }]);
    }
    expect((await tables.read(id)).rows.map(({ cells }) => cells)).toEqual([{ name: 'A', n: 1, stage: null }]);
  });

  test('an upsert adds columns to the existing ones; a changed type converts the other rows', async () => {
    const id = await tables.create(
      [
        { id: 'a', name: 'A' },
        { id: 'b', name: 'B' },
      ],
      [
        ['1', 'x'],
        ['no', 'y'],
      ],
    );
    const columns = [
      { id: 'a', type: 'number' },
      { id: 'c', name: 'C', type: 'auto_number' },
    ];
    const after = await tables.write(id, { mode: 'upsert', columns });
    expect(after.columns.map(({ id: each, type }) => [each, type])).toEqual([
      ['a', 'number'],
      ['b', 'text'],
      ['c', 'auto_number'],
    ]);
    expect(after.rows.map(({ cells }) => cells)).toEqual([
      { a: 1, b: 'x', c: 1 },
      { a: null, b: 'y', c: 2 },
    ]);
    expect(after.warnings).toHaveLength(1);
    const more = await tables.write(id, { mode: 'append', rows: [{ b: 'z' }] });
    expect(more.rows.at(-1)?.cells).toEqual({ a: null, b: 'z', c: 3 });
  });

  test('a row can be moved', async () => {
    const rows = ['a', 'b', 'c', 'd'].map((id) => ({ id, cells: { name: id } }));
    const id = await tables.create(COLUMNS, rows);
    const order = async (row: unknown) =>
      (await tables.write(id, { mode: 'upsert', rows: [row] })).rows.map((each) => each.id).join('');
    expect(await order({ id: 'a', position: 2, cells: {} })).toBe('bcad');
    expect(await order({ id: 'd', position: 0, cells: {} })).toBe('dbca');
    expect(await order({ id: 'd', position: 99, cells: {} })).toBe('bcad');
  });
});

describe('refusals', () => {
  test('reports all faults at once, and writes nothing', async () => {
    const columns = [...COLUMNS, { id: 'mail', name: 'Mail', type: 'email', required: true }];
    const id = await tables.create(columns, []);
    const rows = [
      { name: 1, n: 'x', stage: 'Lost', mail: 'a@b.c' },
      { name: 'ok', n: 1, mail: 'nope' },
      { name: 'ok', none: 1 },
    ];
    const faults = await tables.faults(id, { columns, rows });
    expect(faults.map(({ row, column_id, code, param }) => [row, column_id, code, param])).toEqual([
      [undefined, undefined, 'unknown_column', 'rows[2].none'],
      [0, 'name', 'cell_invalid', 'rows[0].cells.name'],
      [0, 'n', 'cell_invalid', 'rows[0].cells.n'],
      [0, 'stage', 'cell_invalid', 'rows[0].cells.stage'],
      [1, 'mail', 'cell_invalid', 'rows[1].cells.mail'],
      [2, 'mail', 'cell_invalid', 'rows[2].cells.mail'],
    ]);
    expect(await tables.read(id)).toMatchObject({ version: 1, rowCount: 0 });
  });

  test('reports at most a hundred faults', async () => {
    const id = await tables.create(COLUMNS, []);
    const rows = Array.from({ length: 300 }, () => ({ n: 'x' }));
    expect(await tables.faults(id, { columns: COLUMNS, rows })).toHaveLength(100);
  });

  test.each<[string, unknown, unknown, string]>([
    ['no columns', [], [], 'empty_columns'],
    [
      'an id twice',
      [
        { id: 'a', name: 'A' },
        { id: 'a', name: 'B' },
      ],
      [],
      'duplicate_column_id',
    ],
    ['an unknown type', [{ name: 'A', type: 'magic' }], [], 'invalid_value'],
    ['a column without a name', [{ id: 'a' }], [], 'missing_field'],
    ['an unknown field', [{ name: 'A', colour: 'red' }], [], 'unknown_field'],
    ['an unknown option', [{ name: 'A', options: { precision: 2 } }], [], 'unknown_field'],
    ['an invalid column id', [{ id: 'a b', name: 'A' }], [], 'invalid_value'],
    ['a column id under which no cell can be kept', [{ id: '__proto__', name: 'A' }], [], 'invalid_value'],
    [
      'a formula that cannot be parsed',
      [{ name: 'A', type: 'formula', options: { expression: '1 +' } }],
      [],
      'invalid_value',
    ],
    ['a formula column without a formula', [{ name: 'A', type: 'formula' }], [], 'missing_field'],
    [
      'a formula column whose formula is null',
      [{ name: 'A', type: 'formula', options: { expression: null } }],
      [],
      'missing_field',
    ],
    ['a URL on two lines', [{ id: 'u', name: 'U', type: 'url' }], [{ u: 'https://a\n.example/' }], 'cell_invalid'],
    ['a default that does not fit', [{ name: 'A', type: 'number', default: 'x' }], [], 'invalid_value'],
    ['an invalid row', [{ name: 'A' }], [1], 'invalid_type'],
    [
      'a row id twice',
      [{ name: 'A' }],
      [
        { id: 'x', A: '1' },
        { id: 'x', A: '2' },
      ],
      'invalid_value',
    ],
    ['too many values', [{ name: 'A' }], [['1', '2']], 'unknown_column'],
    ['a read-only cell', [{ id: 'a', name: 'A', type: 'auto_number' }], [{ a: 1 }], 'cell_invalid'],
    ['a value twice in a unique column', [{ id: 'a', name: 'A', unique: true }], [['1'], ['1']], 'cell_invalid'],
    [
      'two columns of one name by name',
      [
        { id: 'a', name: 'A' },
        { id: 'b', name: 'A' },
      ],
      [{ A: 'x' }],
      'unknown_column',
    ],
  ])('%s', async (_, columns, rows, code) => {
    const id = await tables.create();
    const [fault] = await tables.faults(id, { columns, rows });
    expect(fault?.code).toBe(code);
    await expect(tables.create(columns, rows)).rejects.toMatchObject({ reason: code });
  });

  test('columns and rows are both required to replace', async () => {
    const id = await tables.create();
    expect(await tables.faults(id, { columns: COLUMNS })).toMatchObject([{ param: 'rows', code: 'missing_field' }]);
    expect(await tables.faults(id, { rows: [] })).toMatchObject([{ param: 'columns', code: 'missing_field' }]);
  });

  test('refuses a unique value that another row has', async () => {
    const id = await tables.create(
      [{ id: 'a', name: 'A', unique: true }],
      [
        { id: 'x', a: '1' },
        { id: 'y', a: '2' },
      ],
    );
    const refused = await tables.faults(id, { mode: 'append', rows: [['3'], ['1']] });
    expect(refused).toMatchObject([{ row: 1, column_id: 'a', code: 'cell_invalid' }]);
    const twice = await tables.faults(id, { mode: 'append', rows: [['1'], ['1']] });
    expect(twice.map(({ row }) => row).sort()).toEqual([0, 1]);
    await tables.write(id, {
      mode: 'upsert',
      rows: [
        { id: 'x', a: '2' },
        { id: 'y', a: '1' },
      ],
    });
    expect((await tables.read(id)).rows.map(({ cells }) => cells.a)).toEqual(['2', '1']);
  });

  test('refuses a row that is too large', async () => {
    const columns = Array.from({ length: 21 }, (_, i) => ({ id: `c${i}`, name: `C${i}` }));
    const id = await tables.create(columns, []);
    const row = columns.map(() => 'x'.repeat(100_000));
    const refused = await tables.faults(id, { mode: 'append', rows: [row] });
    expect(refused).toMatchObject([{ param: 'rows[0]', code: 'payload_too_large' }]);
    await tables.write(id, { mode: 'append', rows: [row.slice(1)] });
  });

  test('refuses more rows, cells and columns than a write or a table may have', async () => {
    const id = await tables.create();
    const [rows] = await tables.faults(id, { columns: COLUMNS, rows: Array.from({ length: 10_001 }, () => []) });
    expect(rows).toMatchObject({ param: 'rows', code: 'too_many_items' });
    const wide = Array.from({ length: 501 }, (_, i) => ({ id: `c${i}`, name: `C${i}` }));
    const [columns] = await tables.faults(id, { columns: wide, rows: [] });
    expect(columns).toMatchObject({ param: 'columns', code: 'too_many_items' });
  });

  test('looks at no column of too many', async () => {
    const id = await tables.create();
    const nameless = Array.from({ length: 20_000 }, () => ({}));
    const faults = await tables.faults(id, { columns: nameless, rows: [] });
    expect(faults).toMatchObject([{ param: 'columns', code: 'too_many_items' }]);
  });
});

test('formulas follow columns that are renamed', async () => {
  const formula = (id: string, expression: string) => ({ id, name: id, type: 'formula', options: { expression } });
  const columns = [
    { id: 'p', name: 'Price', type: 'number' },
    { id: 'q', name: 'Qty', type: 'number' },
    formula('f1', '{Price} * { Qty } + p + Qty'),
    formula('f2', '"{Price}" || {Price} || max(Price, 1)'),
    formula('f3', '{Price} + 1'),
  ];
  const id = await tables.create(columns, [{ id: 'r', cells: { p: 2, q: 3 } }]);
  const before = (await tables.read(id)).rows[0]?.cells;
  const expressions = async () => {
    const shown = (await tables.read(id)).columns as { options: { expression?: string } }[];
    return shown.flatMap(({ options }) => options.expression ?? []);
  };
  // The names are exchanged, in a list of columns that was read before.
  const [price, qty, f1, f2] = columns;
  const f3 = formula('f3', '{Qty} + 1');
  await tables.write(id, {
    mode: 'upsert',
    columns: [{ ...price, name: 'Qty' }, { ...qty, name: 'Price' }, f1, f2, f3],
    rows: [],
  });
  expect(await expressions()).toEqual([
    '{Qty} * {Price} + p + {Price}',
    '"{Price}" || {Qty} || max({Qty}, 1)',
    '{Qty} + 1',
  ]);
  expect((await tables.read(id)).rows[0]?.cells).toEqual(before);
  // Neither a name that another column has nor one with braces can be referred to.
  await tables.write(id, {
    mode: 'upsert',
    columns: [
      { id: 'p', name: 'Price' },
      { id: 'q', name: 'Price' },
    ],
    rows: [],
  });
  await tables.write(id, { mode: 'upsert', columns: [{ id: 'p', name: '{P}' }], rows: [] });
  expect((await expressions())[0]).toBe('{p} * {q} + p + {q}');
  expect((await tables.read(id)).rows[0]?.cells).toEqual(before);
});

test('bounds that no value can meet are refused', async () => {
  const id = await tables.create(COLUMNS, []);
  const faultsOf = async (type: string, options: object) =>
    (await tables.faults(id, { columns: [{ id: 'x', name: 'X', type, options }], rows: [] })).map(
      ({ param, code }) => `${param} ${code}`,
    );
  const refused = ['columns[0].options.max invalid_value'];
  for (const type of ['number', 'currency', 'percent', 'duration'])
    expect(await faultsOf(type, { min: 10, max: 1 })).toEqual(refused);
  expect(await faultsOf('duration', { max: -1 })).toEqual(refused);
  await tables.write(id, { columns: [{ id: 'x', name: 'X', type: 'number', options: { min: 1, max: 1 } }], rows: [] });
});

test('typecast converts values and creates choices', async () => {
  const columns = [
    ...COLUMNS,
    { id: 'on', name: 'On', type: 'checkbox' },
    { id: 'day', name: 'Day', type: 'date' },
    { id: 'pc', name: 'Percent', type: 'percent' },
    { id: 'tags', name: 'Tags', type: 'multi_select' },
  ];
  const id = await tables.create(columns, []);
  const rows = [{ name: 12, n: '1,234.5', stage: 'Lost', on: 'yes', day: '2026/1/5', pc: '50%', tags: 'a, b' }];
  const { columns: after } = await tables.write(id, { columns, rows, typecast: true });
  const shown = await tables.read(id, { display: true });
  expect((await tables.read(id)).rows[0]?.cells).toMatchObject({
    name: '12',
    n: 1234.5,
    on: true,
    day: '2026-01-05',
    pc: 0.5,
  });
  expect(shown.rows[0]?.cells).toMatchObject({ stage: 'Lost', tags: 'a, b', pc: '50 %' });
  expect(after.find((column) => column.id === 'stage')?.options.choices?.map(({ name }) => name)).toEqual([
    'New',
    'Won',
    'Lost',
  ]);
});

test('defaults fill what a new row leaves out', async () => {
  const columns = [
    { id: 'a', name: 'A' },
    { id: 'b', name: 'B', type: 'number', default: 7 },
  ];
  const id = await tables.create(columns, [['x'], ['y', null], ['z', 1]]);
  expect((await tables.read(id)).rows.map(({ cells }) => cells.b)).toEqual([7, null, 1]);
});

test('accepts the fields within content, but not twice', async () => {
  const id = await tables.create();
  await tables.write(id, { content: { columns: COLUMNS, rows: [['a']] } });
  expect((await tables.read(id)).rowCount).toBe(1);
  expect(await tables.faults(id, { content: { columns: COLUMNS, rows: [], more: 1 } })).toMatchObject([
    { param: 'content.more', code: 'unknown_field' },
  ]);
});

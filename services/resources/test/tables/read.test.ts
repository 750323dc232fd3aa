import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openTables, type Read, type TableWorld } from './table-world.js';

let tables: TableWorld;
beforeAll(async () => {
  tables = await openTables();
});
afterAll(() => tables.world.stage.close());

const COLUMNS = [
  { id: 'name', name: 'Name' },
  { id: 'n', name: 'Number', type: 'number' },
  { id: 'day', name: 'Day', type: 'date' },
  { id: 'at', name: 'At', type: 'datetime' },
  { id: 'on', name: 'On', type: 'checkbox' },
  {
    id: 'stage',
    name: 'Stage',
    type: 'select',
    options: { choices: ['Zero', 'One', 'Two'].map((name) => ({ id: name.toLowerCase(), name })) },
  },
  { id: 'tags', name: 'Tags', type: 'multi_select', options: { choices: ['red', 'blue'] } },
];
const ROWS = [
  {
    id: 'a',
    cells: {
      name: 'Apple',
      n: 3,
      day: '2026-01-31',
      at: '2026-01-31T10:00:00+02:00',
      on: true,
      stage: 'two',
      tags: ['red'],
    },
  },
  { id: 'b', cells: { name: 'banana', n: 1, day: '2025-06-01', on: false, stage: 'One', tags: ['red', 'blue'] } },
  { id: 'c', cells: { name: 'Cherry 10', n: 2, at: '2026-02-01T00:00:00Z', stage: 'zero' } },
  { id: 'd', cells: { name: 'cherry 9' } },
  { id: 'e', cells: { name: '北京报告', n: -1, day: '2026-03-01' } },
];

describe('filter and sort', () => {
  let id: string;
  beforeAll(async () => {
    id = await tables.create(COLUMNS, ROWS);
  });
  const ids = async (filter: unknown, sort?: unknown) =>
    (await tables.read(id, { filter, sort })).rows.map((row) => row.id).join('');
  const where = (column: string, op: string, value?: unknown) => ids({ and: [{ column, op, value }] });

  test.each<[string, string, unknown, string]>([
    ['name', 'eq', 'Apple', 'a'],
    ['Name', 'neq', 'Apple', 'bcde'],
    ['name', 'contains', 'CHERRY', 'cd'],
    ['name', 'not_contains', 'cherry', 'abe'],
    ['name', 'contains', '报告', 'e'],
    ['name', 'in', ['Apple', 'banana'], 'ab'],
    ['name', 'lt', 'b', 'a'],
    ['n', 'gt', 1, 'ac'],
    ['n', 'lte', 1, 'be'],
    ['n', 'neq', 1, 'acde'],
    ['n', 'in', [1, 2], 'bc'],
    ['n', 'empty', undefined, 'd'],
    ['n', 'not_empty', undefined, 'abce'],
    ['day', 'after', '2026-01-01', 'ae'],
    ['day', 'before', '2026-01-31', 'b'],
    ['day', 'gte', '2026-01-31', 'ae'],
    ['at', 'eq', '2026-01-31', 'a'],
    ['at', 'after', '2026-01-31', 'c'],
    ['at', 'after', '2026-01-31T08:00:00Z', 'c'],
    ['at', 'gte', '2026-01-31T08:00:00Z', 'ac'],
    ['on', 'eq', true, 'a'],
    ['on', 'eq', false, 'bcde'],
    ['stage', 'eq', 'Two', 'a'],
    ['stage', 'in', ['one', 'Zero'], 'bc'],
    ['stage', 'empty', undefined, 'de'],
    ['tags', 'contains', 'blue', 'b'],
    ['tags', 'eq', ['red'], 'a'],
    ['tags', 'in', ['blue', 'red'], 'ab'],
    ['tags', 'not_contains', 'red', 'cde'],
  ])('%s %s %j', async (column, op, value, expected) => {
    expect(await where(column, op, value)).toBe(expected);
  });

  test('nested groups', async () => {
    const either = {
      or: [
        { column: 'n', op: 'gt', value: 2 },
        { column: 'name', op: 'contains', value: '9' },
      ],
    };
    expect(await ids({ and: [either, { column: 'on', op: 'neq', value: true }] })).toBe('d');
    expect(await ids(either)).toBe('ad');
  });

  test.each<[unknown, string]>([
    [[{ column: 'n', direction: 'asc' }], 'ebcad'],
    [[{ column: 'n', direction: 'desc' }], 'acbed'],
    [[{ column: 'name' }], 'abdce'],
    [[{ column: 'stage', direction: 'asc' }], 'cbade'],
    [[{ column: 'stage', direction: 'desc' }], 'abcde'],
    [
      [
        { column: 'on', direction: 'desc' },
        { column: 'n', direction: 'desc' },
      ],
      'abced',
    ],
  ])('sort by %j; empty cells come last', async (sort, expected) => {
    expect(await ids(undefined, sort)).toBe(expected);
  });

  test.each<[unknown, unknown, string]>([
    ['{', undefined, 'invalid_filter'],
    [{ and: 1 }, undefined, 'invalid_filter'],
    [{ and: [{ column: 'n', op: 'like', value: 1 }] }, undefined, 'invalid_filter'],
    [{ and: [{ column: 'n', op: 'gt', value: '1' }] }, undefined, 'invalid_filter'],
    [{ and: [{ column: 'n', op: 'contains', value: 1 }] }, undefined, 'invalid_filter'],
    [{ and: [{ column: 'on', op: 'gt', value: true }] }, undefined, 'invalid_filter'],
    [{ and: [{ column: 'n', op: 'gt' }] }, undefined, 'invalid_filter'],
    [{ and: [{ column: 'zip', op: 'gt', value: 1 }] }, undefined, 'unknown_column'],
    [undefined, 'n', 'invalid_value'],
    [undefined, [{ column: 'n', direction: 'up' }], 'invalid_value'],
    [undefined, [{ column: 'zip' }], 'unknown_column'],
  ])('refuses filter %j, sort %j', async (filter, sort, reason) => {
    await expect(tables.read(id, { filter, sort })).rejects.toMatchObject({ reason, code: 'INVALID_ARGUMENT' });
  });

  test('returns some columns with display values', async () => {
    const { columns, rows } = await tables.read(id, { columns: ['Stage', 'tags', 'at', 'stage'], display: true });
    expect(columns.map((column) => column.id)).toEqual(['stage', 'tags', 'at']);
    expect(rows[1]?.cells).toEqual({ stage: 'One', tags: 'red, blue', at: null });
    await expect(tables.read(id, { columns: ['zip'] })).rejects.toMatchObject({ reason: 'unknown_column' });
  });
});

test('durations are displayed as a clock shows them, also negative ones, and written so', async () => {
  const columns = [{ id: 'd', name: 'D', type: 'duration', options: { min: -10_000 } }];
  const seconds = [-90, -3725, -0.5, 0, 59.5, 360_000];
  const id = await tables.create(
    columns,
    seconds.map((d, i) => ({ id: `r${i}`, cells: { d } })),
  );
  const shown = (await tables.read(id, { display: true })).rows.map(({ cells }) => cells.d);
  expect(shown).toEqual(['-0:01:30', '-1:02:05', '0:00:00', '0:00:00', '0:00:59', '100:00:00']);
  const { rows } = await tables.write(id, { columns, rows: shown.map((d) => ({ d })), typecast: true });
  expect(rows.map(({ cells }) => cells.d)).toEqual([-90, -3725, 0, 0, 59, 360_000]);
});

test('amounts, shares and numbers are rounded as they are written', async () => {
  const options = { precision: 2 };
  const columns = [
    { id: 'n', name: 'N', type: 'number', options },
    { id: 'c', name: 'C', type: 'currency', options: { ...options, currency: 'EUR' } },
    { id: 'p', name: 'P', type: 'percent', options },
  ];
  const id = await tables.create(columns, [
    [1.005, 1.005, 0.01005],
    [-2.675, -2.675, 0.07],
    [1e6, 1234567.8, 1],
  ]);
  expect((await tables.read(id, { display: true })).rows.map(({ cells }) => cells)).toEqual([
    { n: '1.01', c: '1.01 EUR', p: '1.01 %' },
    { n: '-2.68', c: '-2.68 EUR', p: '7.00 %' },
    { n: '1000000.00', c: '1234567.80 EUR', p: '100.00 %' },
  ]);
});

test('amounts, times and choices with commas are written as they are displayed', async () => {
  const choices = [{ name: 'red, dark' }, { name: 'blue' }];
  const columns = [
    { id: 'c', name: 'C', type: 'currency', options: { currency: 'EUR' } },
    { id: 'at', name: 'At', type: 'datetime', options: { timezone: 'Europe/Berlin' } },
    { id: 'tags', name: 'Tags', type: 'multi_select', options: { choices } },
  ];
  const id = await tables.create(columns, [
    [12.5, '2026-07-01T10:00:00Z', ['blue', 'red, dark']],
    [-1, '2026-01-01T23:30:00Z', ['red, dark']],
  ]);
  const { columns: kept, rows: raw } = await tables.read(id);
  const shown = (await tables.read(id, { display: true })).rows;
  expect(shown[0]?.cells).toEqual({ c: '12.50 EUR', at: '2026-07-01 12:00:00', tags: 'blue, red, dark' });
  const written = await tables.write(id, { columns: kept, rows: shown, typecast: true });
  expect(written.columns).toEqual(kept);
  expect(written.rows.map(({ cells }) => cells)).toEqual(raw.map(({ cells }) => cells));
  const other = tables.write(id, { columns: kept, rows: [{ c: '3 USD' }], typecast: true });
  await expect(other).rejects.toMatchObject({ reason: 'cell_invalid' });
  const { rows } = await tables.write(id, {
    columns: kept,
    rows: [{ c: 'EUR 3', at: '2026-03-29 02:30' }, { at: '2026-07-01T10:00+00:00' }, { at: '2026-07-01' }],
    typecast: true,
  });
  expect(rows.map(({ cells }) => [cells.c, cells.at])).toEqual([
    [3, '2026-03-29T01:00:00.000Z'],
    [null, '2026-07-01T10:00:00.000Z'],
    [null, '2026-06-30T22:00:00.000Z'],
  ]);
});

test('values of JSON are displayed as JSON, also lists', async () => {
  const values = [[1], [{ a: 1 }, [2, null]], [], { a: [1] }, 'text', 1.5, true];
  const rows = values.map((j, i) => ({ id: `r${i}`, cells: { j } }));
  const id = await tables.create([{ id: 'j', name: 'J', type: 'json' }], rows);
  const { rows: shown } = await tables.read(id, { display: true });
  expect(shown.map(({ cells }) => cells.j)).toEqual([
    '[1]',
    '[{"a":1},[2,null]]',
    '[]',
    '{"a":[1]}',
    'text',
    '1.5',
    'true',
  ]);
});

test('pages by offset and by cursor return every row once, even if rows are deleted in between', async () => {
  const rows = Array.from({ length: 25 }, (_, i) => ({ id: `r${i}`, cells: { a: i % 7 } }));
  const id = await tables.create([{ id: 'a', name: 'A', type: 'number' }], rows);
  const sort = [{ column: 'a', direction: 'desc' }];
  const whole = (await tables.read(id, { sort })).rows.map((row) => row.id);
  const offsets: string[] = [];
  for (let offset: number | undefined = 0; offset !== undefined; ) {
    const { rows: page, page: info } = await tables.read(id, { sort, limit: 10, offset });
    offsets.push(...page.map((row) => row.id));
    offset = info.nextOffset;
  }
  expect(offsets).toEqual(whole);
  const seen: string[] = [];
  let cursor: string | undefined = '';
  for (let page = 0; cursor !== undefined; page++) {
    const read = await tables.read(id, { sort, limit: 10, cursor });
    seen.push(...read.rows.map((row) => row.id));
    cursor = read.page.nextCursor;
    if (page === 0) await tables.write(id, { mode: 'append', gone: [whole[0] as string], rows: [] });
  }
  expect(seen).toEqual(whole);
  expect((await tables.read(id, { limit: 5, offset: 24 })).page).toMatchObject({ total: 24, hasMore: false });
});

/** Reads all pages of 100 rows by cursor, and runs `between` after each page. */
async function readAll(id: string, sort: unknown, between: (ids: string[]) => Promise<unknown>): Promise<string[]> {
  const seen: string[] = [];
  for (let cursor: string | undefined = ''; cursor !== undefined; ) {
    const { rows, page }: Read = await tables.read(id, { sort, limit: 100, cursor });
    const ids = rows.map((row) => row.id);
    seen.push(...ids);
    cursor = page.nextCursor;
    await between(ids);
  }
  return seen;
}

describe.each([
  ['unsorted', undefined],
  ['sorted', [{ column: 'a', direction: 'desc' }]],
])('pages of %s rows by cursor skip none', (_, sort) => {
  const newTable = (count: number) => {
    const rows = Array.from({ length: count }, (_unused, i) => ({ id: `r${i}`, cells: { a: i % 7 } }));
    return tables.create([{ id: 'a', name: 'A', type: 'number' }], rows);
  };

  test('when each page is deleted after it was read', async () => {
    const id = await newTable(300);
    const seen = await readAll(id, sort, (gone) => tables.write(id, { mode: 'append', gone, rows: [] }));
    expect([seen.length, new Set(seen).size]).toEqual([300, 300]);
    expect((await tables.read(id)).rowCount).toBe(0);
  });

  test('when the rows after a page are deleted with it', async () => {
    const id = await newTable(300);
    const all = await readAll(id, sort, async () => {});
    const gone = all.slice(0, 110);
    let first = true;
    const seen = await readAll(id, sort, async () => {
      if (first) await tables.write(id, { mode: 'append', gone, rows: [] });
      first = false;
    });
    expect([...new Set(seen)].sort()).toEqual([...all.slice(0, 100), ...all.slice(110)].sort());
  });

  test('when most rows that were read are deleted, except the last', async () => {
    const id = await newTable(3000);
    const all = await readAll(id, sort, async () => {});
    let pages = 0;
    const seen = await readAll(id, sort, async () => {
      if (++pages === 20) await tables.write(id, { mode: 'append', gone: all.slice(0, 1500), rows: [] });
    });
    expect(seen).toEqual(all);
  });
});

test('a page of large rows ends early and reports that there are more', async () => {
  const id = await tables.create();
  const columns = [{ id: 'a', name: 'A' }];
  for (let part = 0; part < 2; part++) {
    const rows = Array.from({ length: 45 }, () => ['x'.repeat(100_000)]);
    await tables.write(id, { mode: 'append', columns, rows });
  }
  let seen = 0;
  let pages = 0;
  for (let offset: number | undefined = 0; offset !== undefined; pages++) {
    const { rows, page } = await tables.read(id, { limit: 1000, offset });
    seen += rows.length;
    offset = page.nextOffset;
  }
  expect([seen, pages]).toEqual([90, 2]);
});

describe('computed columns', () => {
  test('formulas over cells; a value that cannot be computed is an error in its cell', async () => {
    const formula = (id: string, expression: string) => ({ id, name: id, type: 'formula', options: { expression } });
    const columns = [
      { id: 'p', name: 'Unit price', type: 'number' },
      { id: 'q', name: 'Q', type: 'number' },
      { id: 's', name: 'S', type: 'select', options: { choices: ['Done'] } },
      { id: 'd', name: 'D', type: 'date' },
      formula('total', '{Unit price} * q'),
      formula('half', '{total} / 2'),
      formula('label', 'IF({S} == "Done", upper("ok") + "!", "open")'),
      formula('days', 'date_diff({D}, date_add({D}, 3), "days")'),
      formula('ratio', '1 / {q}'),
      formula('loop1', '{loop2} + 1'),
      formula('loop2', '{loop1} + 1'),
      formula('none', '{Nothing} + 1'),
    ];
    const id = await tables.create(columns, [
      [2, 5, 'Done', '2026-01-30'],
      [1, 0],
    ]);
    const [first, second] = (await tables.read(id)).rows;
    expect(first?.cells).toMatchObject({ total: 10, half: 5, label: 'OK!', days: 3, ratio: 0.2 });
    expect(second?.cells).toMatchObject({ total: 0, label: 'open', ratio: { error: expect.any(String) } });
    for (const name of ['loop1', 'none']) expect(first?.cells[name]).toEqual({ error: expect.any(String) });
    expect(second?.cells.days).toEqual({ error: expect.any(String) });
    const sorted = await tables.read(id, {
      sort: [{ column: 'total' }],
      filter: { and: [{ column: 'total', op: 'lt', value: 10 }] },
    });
    expect(sorted.rows.map(({ cells }) => cells.total)).toEqual([0]);
    const { columns: shown, rows } = await tables.read(id);
    expect(await tables.write(id, { columns: shown, rows })).toMatchObject({ changed: false });
  });

  test('formulas count and cut characters, not parts of them', async () => {
    const expressions = ['len({T})', 'left({T}, 2)', 'right({T}, 2)', 'mid({T}, 2, 1)'];
    const computed = expressions.map((expression, at) => ({
      id: `f${at}`,
      name: `f${at}`,
      type: 'formula',
      options: { expression },
    }));
    const id = await tables.create([{ name: 'T' }, ...computed], [['a😀b🦩'], ['abcd']]);
    const shown = (await tables.read(id)).rows.map(({ cells }) => [cells.f0, cells.f1, cells.f2, cells.f3]);
    expect(shown).toEqual([
      [4, 'a😀', 'b🦩', '😀'],
      [4, 'ab', 'cd', 'b'],
    ]);
  });

  test.each(['constructor.constructor("return 1")()', 'f(x) = x', 'a = 1', '__proto__', 'fac(170)', 'random()'])(
    '%s does no harm',
    async (expression) => {
      const id = await tables.create([{ id: 'a', name: 'A' }], [['x']]);
      const columns = [
        { id: 'a', name: 'A' },
        { id: 'f', name: 'F', type: 'formula', options: { expression } },
      ];
      const faults = await tables.faults(id, { columns, rows: [['x']] });
      if (faults.length > 0) expect(faults).toMatchObject([{ code: 'invalid_value' }]);
      else expect((await tables.read(id)).rows[0]?.cells.f).toEqual({ error: expect.any(String) });
    },
  );

  test('computes a cell once, however many formulas read it', async () => {
    const formula = (id: string, expression: string) => ({ id, name: id, type: 'formula', options: { expression } });
    const columns: object[] = [{ id: 'n', name: 'N', type: 'number' }, formula('a0', 'n'), formula('b0', 'n')];
    for (let level = 1; level <= 60; level++) {
      const sum = `{a${level - 1}} / 2 + {b${level - 1}} / 2`;
      columns.push(formula(`a${level}`, sum), formula(`b${level}`, sum));
    }
    const id = await tables.create(columns, [[4]]);
    expect((await tables.read(id, { columns: ['a60'] })).rows[0]?.cells).toEqual({ a60: 4 });
  });

  test('links, inverse links, lookups, rollups and counts', async () => {
    const people = await tables.create(
      [
        { id: 'name', name: 'Name' },
        { id: 'age', name: 'Age', type: 'number' },
      ],
      [
        { id: 'ada', cells: { name: 'Ada', age: 36 } },
        { id: 'bob', cells: { name: 'Bob', age: 20 } },
      ],
    );
    const follow = (type: string, more: object = {}) => ({
      id: type,
      name: type,
      type,
      options: { link_column_id: 'who', ...more },
    });
    const teams = await tables.create(
      [
        { id: 'team', name: 'Team' },
        { id: 'who', name: 'Who', type: 'link', options: { target_table_id: people } },
        follow('lookup', { target_column_id: 'name' }),
        follow('rollup', { target_column_id: 'age', function: 'avg' }),
        follow('count'),
      ],
      [
        { id: 't1', cells: { team: 'One', who: ['ada', 'bob'] } },
        { id: 't2', cells: { team: 'Two', who: ['bob', 'gone'] } },
        { id: 't3', cells: { team: 'Three' } },
      ],
    );
    const { rows } = await tables.read(teams);
    expect(rows.map(({ cells }) => [cells.lookup, cells.rollup, cells.count])).toEqual([
      [['Ada', 'Bob'], 28, 2],
      [['Bob'], 20, 2],
      [null, null, 0],
    ]);
    const mirror = {
      id: 'teams',
      name: 'Teams',
      type: 'link',
      options: { target_table_id: teams, inverse_column_id: 'who' },
    };
    await tables.write(people, { mode: 'upsert', columns: [mirror] });
    const shown = await tables.read(people);
    expect(shown.rows.map(({ cells }) => cells.teams)).toEqual([['t1'], ['t1', 't2']]);
    expect(await tables.faults(people, { mode: 'upsert', rows: [{ id: 'ada', teams: ['t3'] }] })).toMatchObject([
      { code: 'cell_invalid', column_id: 'teams' },
    ]);
    expect(await tables.write(people, { columns: shown.columns, rows: shown.rows })).toMatchObject({ changed: false });
  });

  test('lookups and rollups of choices have their names', async () => {
    const choices = [
      { id: 'opt_1', name: 'Open' },
      { id: 'opt_2', name: 'Done' },
    ];
    const tasks = await tables.create(
      [
        { id: 'state', name: 'State', type: 'select', options: { choices } },
        { id: 'tags', name: 'Tags', type: 'multi_select', options: { choices } },
      ],
      [
        { id: 'a', cells: { state: 'Open', tags: ['Open', 'Done'] } },
        { id: 'b', cells: { state: 'Done' } },
      ],
    );
    const follow = (id: string, type: string, column: string, more: object = {}) => ({
      id,
      name: id,
      type,
      options: { link_column_id: 'of', target_column_id: column, ...more },
    });
    const id = await tables.create(
      [
        { id: 'of', name: 'Of', type: 'link', options: { target_table_id: tasks } },
        follow('states', 'lookup', 'state'),
        follow('tags', 'lookup', 'tags'),
        follow('text', 'rollup', 'state', { function: 'concat' }),
        follow('first', 'rollup', 'state', { function: 'min' }),
      ],
      [[['a', 'b']]],
    );
    const names = { states: ['Open', 'Done'], tags: ['Open', 'Done'], text: 'Open, Done', first: 'Done' };
    expect((await tables.read(id)).rows[0]?.cells).toMatchObject(names);
    const { rows } = await tables.read(id, {
      display: true,
      filter: { and: [{ column: 'states', op: 'contains', value: 'Open' }] },
    });
    expect(rows[0]?.cells).toMatchObject({ states: 'Open, Done', text: 'Open, Done' });
  });

  test('lookups and rollups of amounts and times are displayed as in their own table', async () => {
    const invoices = await tables.create(
      [
        { id: 'sum', name: 'Sum', type: 'currency', options: { currency: 'EUR' } },
        { id: 'share', name: 'Share', type: 'percent' },
        { id: 'at', name: 'At', type: 'datetime', options: { timezone: 'Europe/Berlin' } },
        { id: 'took', name: 'Took', type: 'duration' },
      ],
      [
        { id: 'a', cells: { sum: 12.5, share: 0.25, at: '2026-01-31T09:00:00Z', took: 90 } },
        { id: 'b', cells: { sum: 2, share: 0.5, at: '2026-07-01T09:00:00Z', took: 3600 } },
      ],
    );
    const follow = (id: string, type: string, column: string, more = {}) => ({
      id,
      name: id,
      type,
      options: { link_column_id: 'of', target_column_id: column, ...more },
    });
    const id = await tables.create(
      [
        { id: 'of', name: 'Of', type: 'link', options: { target_table_id: invoices } },
        follow('sums', 'lookup', 'sum'),
        follow('shares', 'lookup', 'share'),
        follow('times', 'lookup', 'at'),
        follow('total', 'rollup', 'sum', { function: 'sum' }),
        follow('mean', 'rollup', 'sum', { function: 'avg', precision: 0 }),
        follow('longest', 'rollup', 'took', { function: 'max' }),
        follow('first', 'rollup', 'at', { function: 'min' }),
        follow('n', 'rollup', 'sum', { function: 'count' }),
      ],
      [[['a', 'b']]],
    );
    expect((await tables.read(id, { display: true })).rows[0]?.cells).toMatchObject({
      sums: '12.50 EUR, 2.00 EUR',
      shares: '25 %, 50 %',
      times: '2026-01-31 10:00:00, 2026-07-01 11:00:00',
      total: '14.50 EUR',
      mean: '7 EUR',
      longest: '1:00:00',
      first: '2026-01-31 10:00:00',
      n: '2',
    });
    expect((await tables.read(id)).rows[0]?.cells).toMatchObject({ sums: [12.5, 2], total: 14.5, n: 2 });
  });

  test('a link to a table that the caller may not read shows only an error', async () => {
    const target = await tables.create([{ id: 'name', name: 'Name' }], [['Ada']]);
    const columns = [
      { id: 'who', name: 'Who', type: 'link', options: { target_table_id: target.toUpperCase() } },
      { id: 'names', name: 'Names', type: 'lookup', options: { link_column_id: 'who', target_column_id: 'name' } },
    ];
    const id = await tables.create(columns, [[['x']]]);
    expect((await tables.read(id)).rows[0]?.cells.names).toBeNull();
    await tables.world.remove(tables.editor, target);
    expect((await tables.read(id)).rows[0]?.cells.names).toEqual({ error: expect.any(String) });
  });

  test('authors and times', async () => {
    const columns = ['created_at', 'updated_at', 'created_by', 'updated_by'].map((type) => ({
      id: type,
      name: type,
      type,
    }));
    const id = await tables.create([{ id: 'a', name: 'A' }, ...columns], [['x']]);
    const { rows } = await tables.read(id);
    expect(rows[0]?.cells).toMatchObject({ created_by: tables.editor.userId, created_at: rows[0]?.created_at });
    const display = await tables.read(id, { display: true });
    expect(display.rows[0]?.cells.updated_by).toBe(tables.editor.userName);
    const mine = { and: [{ column: 'created_by', op: 'eq', value: tables.editor.userId }] };
    expect((await tables.read(id, { filter: mine })).page.total).toBe(1);
  });
});

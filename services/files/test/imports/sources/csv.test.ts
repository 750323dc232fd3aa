import { describe, expect, test } from '@jest/globals';
import { openCsvSource } from '../../../src/imports/sources/csv/source.js';
import type { SourceOptions } from '../../../src/imports/sources/port.js';
import { bundleOf, faultOf, readAll } from './bundle.js';

interface ShownTable {
  columns: { id: string; name: string; type: string; options?: unknown }[];
  rows: unknown[][];
}

async function table(file: string | Buffer, csv: SourceOptions['csv'] = {}) {
  const { content } = await readAll(openCsvSource, { 'data.csv': file }, { csv });
  const { json, warnings = [] } = content('data.csv');
  const { columns, rows } = json as ShownTable;
  return { columns, rows, warnings, types: columns.map(({ type }) => type), names: columns.map(({ name }) => name) };
}

const read = (file: string, csv: SourceOptions['csv'] = {}) => {
  const source = openCsvSource(bundleOf({ 'data.csv': file }), { csv });
  return source.then(({ items, read: readItem }) => readItem(items[0] ?? { path: '', kind: 'table', name: '' }));
};

/** Imports a table with a column of names and one with the given values, and returns the second column. */
const column = async (...values: string[]) => {
  const { columns, rows } = await table(
    `Name,V\n${values.map((value, at) => `n${at},"${value.replaceAll('"', '""')}"`).join('\n')}\n`,
  );
  return { type: columns[1]?.type, options: columns[1]?.options, values: rows.map((row) => row[1]) };
};

describe('a table of values', () => {
  test('a cell is cut between characters, not within one', async () => {
    const whole = `${'x'.repeat(99_998)}😀😀`;
    const { rows, warnings } = await table(`Name,${'😀'.repeat(255)}\n${whole},a\n${whole}😀,b\n`);
    expect(rows.map(([cell]) => cell === whole)).toEqual([true, true]);
    expect(warnings).toEqual(['1 cells have more than 100000 characters and were truncated.']);
  });

  test('is read according to RFC 4180', async () => {
    const { names, rows } = await table('Name,Note\r\n"Smith, J.","said ""hi""\r\nand left"\r\n x ,=1+1\r\n');
    expect(names).toEqual(['Name', 'Note']);
    expect(rows).toEqual([
      ['Smith, J.', 'said "hi"\r\nand left'],
      [' x ', '=1+1'],
    ]);
  });

  test.each([
    [
      'semicolons',
      'a;b\n1;2,5\n3;4\n',
      ['a', 'b'],
      [
        [1, 2.5],
        [3, 4],
      ],
    ],
    ['tabs', 'a\tb\n1\t2\n', ['a', 'b'], [[1, 2]]],
    ['a line that names the delimiter', 'sep=|\r\na|b\r\n1|2\r\n', ['a', 'b'], [[1, 2]]],
  ])('finds its delimiter: %s', async (_, file, names, rows) => {
    expect(await table(file)).toMatchObject({ names, rows });
  });

  test.each([
    ['\r\n', '\n'],
    ['\n', '\r\n'],
  ])('has the lines of its file, whose ends differ: %j, then %j', async (first, others) => {
    const { names, rows, warnings } = await table(
      ['Name,Note', `Ada,"two${others}lines"`, 'Bob,"x"', ''].join(others).replace(others, first),
    );
    expect([names, warnings]).toEqual([['Name', 'Note'], []]);
    expect(rows).toEqual([
      ['Ada', 'two\nlines'],
      ['Bob', 'x'],
    ]);
  });

  test('is read in its encoding, or in the one of the request', async () => {
    const guessed = await table(Buffer.from('Städte,Größe\nMünchen,1\n', 'latin1'));
    expect(guessed.names).toEqual(['Städte', 'Größe']);
    expect(guessed.warnings).toEqual([expect.stringMatching(/read as windows-1252.*"encoding"/)]);
    expect((await table('Städte,Größe\nMünchen,1\n')).warnings).toEqual([]);
    expect((await table(Buffer.from('\ufeffa,b\n1,2\n', 'utf16le'))).names).toEqual(['a', 'b']);
    const sjis = Buffer.from([0x93, 0x8c, 0x8b, 0x9e, 0x0a, 0x61]);
    expect((await table(sjis, { encoding: 'shift_jis', hasHeader: true })).names).toEqual(['東京']);
    expect(await faultOf(read('a', { encoding: 'klingon' }))).toBe('unknown_encoding');
  });

  test('keeps every value of ragged rows, with a warning', async () => {
    const { names, rows, warnings } = await table('a,b\n1,2,3\n4\n5,6\n');
    expect(names).toEqual(['a', 'b', 'Column 3']);
    expect(rows).toEqual([
      [1, 2, 3],
      [4, null, null],
      [5, 6, null],
    ]);
    expect(warnings.join()).toMatch(/2 rows .* rows 2, 3/);
  });

  test('gives columns distinct names', async () => {
    expect((await table('a,,a,\u0007b\nx,y,z,w\n')).names).toEqual(['a', 'Column 2', 'a (2)', 'b']);
  });

  test('has no header row when the request says so or none is detected', async () => {
    expect(await table('1,2\n3,4\n')).toMatchObject({
      names: ['Column 1', 'Column 2'],
      rows: [
        [1, 2],
        [3, 4],
      ],
    });
    expect(await table('a,b\nc,d\n', { hasHeader: false })).toMatchObject({
      rows: [
        ['a', 'b'],
        ['c', 'd'],
      ],
    });
    expect(await table('1,2\n3,4\n', { hasHeader: true })).toMatchObject({ names: ['1', '2'], rows: [[3, 4]] });
  });

  test('keeps malformed values unchanged', async () => {
    const { rows, warnings } = await table('a,b\n"5" pipe",2\n3,4\n');
    expect(rows).toEqual([
      ['5" pipe', 2],
      ['3', 4],
    ]);
    expect(warnings.join()).toMatch(/quotation/);
  });

  test('ends a value at its delimiter or line where nothing closes its quotation mark, with a warning', async () => {
    const { rows, warnings } = await table('a,b,c\n1,"open,2\n2,"q,\nr",s\n3,"x ""y,u\n"4,5,6\n7,8,9\n,,"last');
    expect(rows).toEqual([
      ['1', '"open', '2'],
      ['2', 'q,\nr', 's'],
      ['3', '"x ""y', 'u'],
      ['"4', '5', '6'],
      ['7', '8', '9'],
      [null, null, '"last'],
    ]);
    expect(warnings.join()).toMatch(/quotation mark that is not closed.*rows 2, 4, 5, 7\b/);
    const many = await table(`a,b\n${Array.from({ length: 60 }, (_, at) => `${at},"x${at}\n`).join('')}`);
    expect(many.rows).toEqual(Array.from({ length: 60 }, (_, at) => [at, `"x${at}`]));
  });

  test('is refused beyond a size limit, with its name', async () => {
    expect(await faultOf(read(`${Array.from({ length: 501 }, (_, at) => `c${at}`).join(',')}\n1\n`))).toBe(
      'too_many_columns',
    );
    expect(await faultOf(read(`a\n${'1\n'.repeat(200_001)}`))).toBe('too_many_rows');
    expect(await faultOf(read('\n\n'))).toBe('empty_table');
  });
});

describe('the type of a column', () => {
  test.each([
    ['number', ['1', '-2.5', '', '1e3x'.slice(0, 1)], [1, -2.5, null, 1]],
    ['number', ['1.50', '2'], [1.5, 2]],
    ['number', ['1,234.5', '12'], [1234.5, 12]],
    ['percent', ['45%', '33.3%'], [0.45, 0.333]],
    ['checkbox', ['TRUE', 'false', ''], [true, false, null]],
    ['checkbox', ['Yes', 'No'], [true, false]],
    ['date', ['2024-01-31', '2024/2/29'], ['2024-01-31', '2024-02-29']],
    ['date', ['31.12.2024', '1.1.2025'], ['2024-12-31', '2025-01-01']],
    ['date', ['12/31/2024', '1/2/2024'], ['2024-12-31', '2024-01-02']],
    ['date', ['31/12/2024', '1/2/2024'], ['2024-12-31', '2024-02-01']],
    ['date', ['January 5, 2024', 'Feb 29, 2024'], ['2024-01-05', '2024-02-29']],
    [
      'datetime',
      ['2024-01-05T10:00:00+02:00', '2024-01-05 10:00'],
      ['2024-01-05T08:00:00.000Z', '2024-01-05T10:00:00.000Z'],
    ],
    ['datetime', ['January 5, 2024 3:07 PM'], ['2024-01-05T15:07:00.000Z']],
    ['url', ['https://a.example/x?y=1', ' http://b.example '], ['https://a.example/x?y=1', 'http://b.example']],
    ['email', ['a@b.example'], ['a@b.example']],
    ['phone', ['+49 30 123456'], ['+49 30 123456']],
    ['long_text', ['two\nlines'], ['two\nlines']],
  ])('%s: %j', async (type, values, cells) => {
    expect(await column(...values)).toMatchObject({ type, values: cells });
  });

  test.each([
    ['leading zeros', ['007', '1']],
    ['long ids', ['12345678901234567890', '1']],
    ['one comma, which may be either', ['1,234', '5']],
    ['days or months', ['1/2/2024', '3/4/2024']],
    ['days and moments', ['2024-01-01', '2024-01-01 10:00']],
    ['an invalid day', ['2024-02-30', '2024-01-01']],
    ['a formula', ['=SUM(A1:A2)', '1']],
    ['all yes', ['yes', 'yes']],
    ['a number and a word', ['1', 'one']],
  ])('stays text: %s', async (_, values) => {
    expect(await column(...values)).toMatchObject({ type: 'text', values });
  });

  test('is a choice when few values are frequent', async () => {
    const { type, options, values } = await column('open', 'open', 'done', 'open', 'done', 'done', '');
    expect({ type, options }).toEqual({ type: 'select', options: { choices: [{ name: 'open' }, { name: 'done' }] } });
    expect(values).toEqual(['open', 'open', 'done', 'open', 'done', 'done', null]);
  });

  test('is text when types are not requested', async () => {
    expect(await table('a\n1\n', { detectTypes: false, hasHeader: true })).toMatchObject({
      types: ['text'],
      rows: [['1']],
    });
  });
});

describe('hostile values are read in time', () => {
  test.each([
    ['10 MB on one line', `a,${'x'.repeat(10_000_000)}`],
    ['10 MB of commas', ','.repeat(10_000_000)],
    ['10 MB of quotation marks', '"'.repeat(10_000_000)],
    ['10 MB of semicolons in quotation marks', `"${'a;'.repeat(5_000_000)}"`],
    ['NULs', '\0,\0\n\0,\0\n'],
    ['halves of characters', '\ud800,\udc00\n1,2\n'],
  ])('%s', async (_, file) => {
    const { contents } = await readAll(openCsvSource, { 'data.csv': file });
    expect(contents.size).toBe(1);
  });
});

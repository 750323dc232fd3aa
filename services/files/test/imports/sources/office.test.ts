import { afterAll, describe, expect, test } from '@jest/globals';
import {
  Document,
  ExternalHyperlink,
  FootnoteReferenceRun,
  HeadingLevel,
  ImageRun,
  Packer,
  Paragraph,
  Table,
  TableCell,
  TableRow,
  TextRun,
} from 'docx';
import { closeParser } from '../../../src/imports/sources/common/parser.js';
import { openDocxSource } from '../../../src/imports/sources/docx/source.js';
import { openXlsxSource } from '../../../src/imports/sources/xlsx/source.js';
import { bombDocx, lyingDocx } from '../../media/hostile.js';
import { docxOf, xlsx, zip } from '../../media/office.js';
import { bundleOf, faultOf, linkOf, readAll, treeOf, wordsOf } from './bundle.js';

afterAll(closeParser);

/** An image of one pixel. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

async function report(): Promise<Buffer> {
  const cell = (text: string) => new TableCell({ children: [new Paragraph(text)] });
  const document = new Document({
    title: 'Core title',
    creator: 'Ada',
    subject: 'Engines',
    keywords: 'one, two',
    description: 'What it is',
    footnotes: { 1: { children: [new Paragraph('The note itself')] } },
    numbering: {
      config: [{ reference: 'n', levels: [{ level: 0, format: 'decimal', text: '%1.' }] }],
    },
    sections: [
      {
        children: [
          new Paragraph({ text: 'The Report', heading: HeadingLevel.TITLE }),
          new Paragraph({ text: 'First', heading: HeadingLevel.HEADING_1 }),
          new Paragraph({
            children: [
              new TextRun('plain '),
              new TextRun({ text: 'bold', bold: true }),
              new TextRun({ text: ' under', underline: {} }),
              new ExternalHyperlink({ link: 'https://a.example/x', children: [new TextRun('link')] }),
              new FootnoteReferenceRun(1),
            ],
          }),
          new Paragraph({ text: 'item', bullet: { level: 0 } }),
          new Paragraph({ text: 'inner', bullet: { level: 1 } }),
          new Paragraph({ text: 'numbered', numbering: { reference: 'n', level: 0 } }),
          new Table({ rows: [new TableRow({ children: [cell('left'), cell('right')] })] }),
          new Paragraph({ text: 'Second', heading: HeadingLevel.HEADING_1 }),
          new Paragraph({
            children: [new ImageRun({ type: 'png', data: PNG, transformation: { width: 10, height: 10 } })],
          }),
          new Paragraph({
            children: [new ImageRun({ type: 'png', data: PNG, transformation: { width: 20, height: 20 } })],
          }),
        ],
      },
    ],
  });
  return Buffer.from(await Packer.toBuffer(document));
}

describe('a Word document', () => {
  test('keeps its structure, properties and images', async () => {
    const { source, content } = await readAll(
      openDocxSource,
      { 'up.docx': await report() },
      { fileName: 'Report 7.docx' },
    );
    const [document, image, ...more] = source.items;
    expect(more).toEqual([]);
    expect(treeOf(source)).toEqual(['document Report 7', expect.stringMatching(/^ {2}file .*\.png$/)]);
    const { html = '', ...facts } = content('up.docx');
    expect(facts).toMatchObject({
      title: 'The Report',
      author: 'Ada',
      description: 'What it is',
      metadata: { title: 'Core title', subject: 'Engines', author: 'Ada', keywords: ['one', 'two'] },
      warnings: [],
    });
    expect(html).toContain(
      '<h1>First</h1><p>plain <strong>bold</strong><u> under</u><a href="https://a.example/x">link</a>',
    );
    expect(html).toMatch(/<ul><li>item<ul><li>inner<\/li><\/ul><\/li><\/ul><ol><li>numbered<\/li><\/ol>/);
    expect(html).toContain('<td><p>left</p></td><td><p>right</p></td>');
    expect(html).toMatch(/href="#(fn-footnote-1)".*<li id="fn-footnote-1">.*The note itself/s);
    const src = /<img src="([^"]+)"/.exec(html)?.[1] ?? '';
    expect(linkOf(source, 'up.docx', src)).toBe(image?.path);
    expect(image).toMatchObject({ parent: document?.path, sizeBytes: PNG.length });
    const pieces: Buffer[] = [];
    for await (const piece of (await source.openFile?.(image ?? { path: '', kind: 'file', name: '' })) ?? [])
      pieces.push(piece as Buffer);
    expect(Buffer.concat(pieces)).toEqual(PNG);
  });

  test('is split at its top headings when requested', async () => {
    const { source, content } = await readAll(openDocxSource, { 'up.docx': await report() }, { splitHeadings: true });
    expect(treeOf(source).slice(0, 3)).toEqual(['document up', '  document First', '  document Second']);
    const [, first, second] = source.items;
    expect(content(first?.path ?? '').html).toContain('plain <strong>');
    expect(content(second?.path ?? '').html).toContain('<img');
  });

  test('reports what could not be imported', async () => {
    const xml = `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:m="m"><w:body>
      <w:p><w:r><w:t>before</w:t></w:r><m:oMath><m:r><m:t>x</m:t></m:r></m:oMath></w:p></w:body></w:document>`;
    const { content } = await readAll(openDocxSource, { 'a.docx': docxOf(xml) });
    expect(wordsOf(content('a.docx').html ?? '')).toEqual(['before']);
    expect(content('a.docx').warnings?.join()).toMatch(/left out/);
  });

  test.each([
    ['no archive', async () => Buffer.from('not a document'), 'broken_document'],
    ['another archive', async () => zip({ 'a.txt': 'x' }), 'broken_document'],
    ['a bomb', async () => bombDocx(), /suspicious_archive|document_too_large/],
    ['a lying entry', async () => lyingDocx(), /broken_document|suspicious_archive/],
    [
      'one with a password',
      async () => Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(600)]),
      'encrypted_document',
    ],
  ])('is refused with its name: %s', async (_, file, code) => {
    expect(await faultOf(openDocxSource(bundleOf({ 'a.docx': await file() }), {}))).toMatch(code);
  });
});

describe('a workbook', () => {
  const json = (value: unknown) => value as { columns: { name: string; type: string }[]; rows: unknown[][] };

  test('with one sheet is a table, named like the file', async () => {
    const file = xlsx({
      Sheet1: [
        ['Name', 'Sum', 'Day', 'Paid', 'At'],
        ['Chairs', 12.5, new Date('2024-05-06T00:00:00Z'), true, new Date('2024-05-06T07:30:00Z')],
        [],
        ['007', 3, new Date('2024-05-07T00:00:00Z'), false, new Date('2024-05-06T08:30:00Z')],
      ],
    });
    const { source, content } = await readAll(openXlsxSource, { 'u.xlsx': file }, { fileName: 'Budget.xlsx' });
    expect(treeOf(source)).toEqual(['table Budget']);
    const { columns, rows } = json(content('u.xlsx').json);
    expect(columns.map(({ name, type }) => `${name} ${type}`)).toEqual([
      'Name text',
      'Sum number',
      'Day date',
      'Paid checkbox',
      'At datetime',
    ]);
    expect(rows).toEqual([
      ['Chairs', 12.5, '2024-05-06', true, '2024-05-06T07:30:00.000Z'],
      ['007', 3, '2024-05-07', false, '2024-05-06T08:30:00.000Z'],
    ]);
  });

  test('has the characters of numeric references, as openpyxl writes them, also in the names of sheets', async () => {
    const text = '&#196;pfel &#128512; &#x01F9A9; &#x20BB7; &amp;#128512; &#1114112;';
    const file = xlsx({ 'Obst &#127822;': [['Name'], [text], ['plain 😀']], Two: [['b'], ['&#128512;']] });
    const { source, content } = await readAll(openXlsxSource, { 'u.xlsx': file });
    expect(treeOf(source)).toEqual(['folder u', '  table Obst 🍎', '  table Two']);
    const [row] = json(content('u.xlsx#Obst 🍎').json).rows;
    expect(row?.[0]).toMatch(/^Äpfel 😀 🦩 𠮷 &#128512; /u);
    expect(json(content('u.xlsx#Two').json).rows).toEqual([['😀']]);
  });

  test('has the text of sections of character data, in which there are no references', async () => {
    const file = xlsx({ S: [['Name'], ['<![CDATA[Write <&#128512;> & wait for ]]>&#128512;']] });
    const { content } = await readAll(openXlsxSource, { 'u.xlsx': file });
    expect(json(content('u.xlsx').json).rows).toEqual([['Write <&#128512;> & wait for 😀']]);
  });

  test('warns of formulas without a stored value, which become empty cells', async () => {
    const without = ['<c><f>B2*2</f></c>', '<c><f>B3*2</f><v></v></c>', '<c><f>B4*2</f><v/></c>'];
    const rows = without.map((xml) => ['Oslo', 1, { xml }]);
    const withValue = [
      { xml: '<c><f>1+1</f><v>2</v></c>' },
      { xml: '<c t="str"><f>""</f><v></v></c>' },
      { xml: '<c t="str"><f>UPPER("a")</f><v>A</v></c>' },
    ];
    const { content } = await readAll(openXlsxSource, {
      'u.xlsx': xlsx({ S: [['City', 'Sum', 'Twice'], ...rows, ['Rome', ...withValue]] }),
    });
    const { warnings = [], json: table } = content('u.xlsx');
    expect(json(table).rows.slice(0, 3)).toEqual(rows.map(([city, sum]) => [city, sum, null, null]));
    expect(warnings).toEqual([expect.stringMatching(/^3 cells are empty .*: C2, C3, C4\./)]);

    const many = Array.from({ length: 12 }, () => [{ xml: '<c><f>1+1</f></c>' }]);
    const only = await readAll(openXlsxSource, { 'v.xlsx': xlsx({ S: many }) });
    expect(only.content('v.xlsx').warnings).toEqual([
      'The sheet is empty.',
      expect.stringMatching(/^12 cells .*A10 and others\./),
    ]);
  });

  test('has times, durations of more than a day, and days before March 1900, as Excel counts them', async () => {
    const day = (serial: number) => new Date(Date.UTC(1899, 11, 30) + serial * 86_400_000);
    const file = xlsx({
      S: [
        ['Worked', 'At', 'Since'],
        [day(5 / 3), day(0.5625), day(1)],
        [day(1), day(0), new Date('2024-05-06T00:00:00Z')],
      ],
    });
    const { content } = await readAll(openXlsxSource, { 'u.xlsx': file });
    const { columns, rows } = json(content('u.xlsx').json);
    expect(columns.map(({ type }) => type)).toEqual(['text', 'text', 'date']);
    expect(rows).toEqual([
      ['40:00:00', '13:30:00', '1900-01-01'],
      ['24:00:00', '00:00:00', '2024-05-06'],
    ]);
  });

  test('with several sheets is a folder of tables, also for an empty sheet', async () => {
    const file = xlsx({
      One: [['a'], ['x']],
      Empty: [],
      Two: [
        ['b', 'c'],
        [1, 2],
      ],
    });
    const { source, content } = await readAll(openXlsxSource, { 'u.xlsx': file });
    expect(treeOf(source)).toEqual(['folder u', '  table One', '  table Empty', '  table Two']);
    expect(json(content('u.xlsx#Two').json)).toMatchObject({ columns: [{ name: 'b' }, { name: 'c' }], rows: [[1, 2]] });
    expect(content('u.xlsx#Empty')).toMatchObject({
      json: { columns: [{ name: 'Name', type: 'text' }], rows: [] },
      warnings: ['The sheet is empty.'],
    });
  });

  test('has a title above the names of its columns', async () => {
    const file = xlsx({ S: [['Sales of 2024'], ['City', 'Sum'], ['Oslo', 1], ['Rome', 2]] });
    const { content } = await readAll(openXlsxSource, { 'u.xlsx': file });
    expect(content('u.xlsx')).toMatchObject({
      description: 'Sales of 2024',
      json: {
        rows: [
          ['Oslo', 1],
          ['Rome', 2],
        ],
      },
    });
  });

  test.each([
    ['no archive', Buffer.from('x'), 'broken_document'],
    ['another archive', zip({ 'a.txt': 'x' }), 'broken_document'],
  ])('is refused with its name: %s', async (_, file, code) => {
    expect(await faultOf(openXlsxSource(bundleOf({ 'a.xlsx': file }), {}))).toBe(code);
  });
});

import { beforeAll, describe, expect, test } from '@jest/globals';
import { type Api, api } from '../src/client.js';
import { archive, finished, importAll, inline, itemsOf } from '../src/imports.js';
import type { Content, Import, ImportItem, Resource, Workspace } from '../src/records.js';
import { standingSystem } from '../src/standing.js';
import type { System } from '../src/system.js';

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';
const WORD = 'http://schemas.openxmlformats.org/wordprocessingml/2006/main';

const relations = (...lines: string[]) =>
  `<Relationships xmlns="${PACKAGE}/relationships">${lines.join('')}</Relationships>`;
const relation = (id: string, type: string, target: string) =>
  `<Relationship Id="${id}" Type="${OFFICE}/${type}" Target="${target}"/>`;

/** A Word document with a heading, a link and an image. */
const DOCUMENT = archive({
  '[Content_Types].xml': `<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="png" ContentType="image/png"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>`,
  '_rels/.rels': relations(relation('r1', 'officeDocument', 'word/document.xml')),
  'word/_rels/document.xml.rels': relations(relation('r2', 'image', 'media/image1.png')),
  'word/media/image1.png': [PNG, {}],
  'word/document.xml': `<w:document xmlns:w="${WORD}" xmlns:r="${OFFICE}" xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:pic="http://schemas.openxmlformats.org/drawingml/2006/picture"><w:body><w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Summary</w:t></w:r></w:p><w:p><w:r><w:rPr><w:b/></w:rPr><w:t>Bold words</w:t></w:r><w:r><w:drawing><wp:inline><wp:docPr id="1" name="p" descr="A dot"/><a:graphic><a:graphicData uri="http://schemas.openxmlformats.org/drawingml/2006/picture"><pic:pic><pic:blipFill><a:blip r:embed="r2"/></pic:blipFill></pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing></w:r></w:p></w:body></w:document>`,
});

const SHEET = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const sheet = (...rows: string[]) => `<worksheet xmlns="${SHEET}"><sheetData>${rows.join('')}</sheetData></worksheet>`;
const text = (at: string, words: string) => `<c r="${at}" t="inlineStr"><is><t>${words}</t></is></c>`;

const WORKBOOK = archive({
  '[Content_Types].xml': `<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>`,
  '_rels/.rels': relations(relation('r1', 'officeDocument', 'xl/workbook.xml')),
  'xl/workbook.xml': `<workbook xmlns="${SHEET}" xmlns:r="${OFFICE}"><sheets><sheet name="North" sheetId="1" r:id="s1"/><sheet name="South" sheetId="2" r:id="s2"/></sheets></workbook>`,
  'xl/_rels/workbook.xml.rels': relations(
    relation('s1', 'worksheet', 'worksheets/sheet1.xml'),
    relation('s2', 'worksheet', 'worksheets/sheet2.xml'),
  ),
  'xl/worksheets/sheet1.xml': sheet(
    `<row r="1">${text('A1', 'City')}${text('B1', 'Sum')}</row>`,
    `<row r="2">${text('A2', 'Oslo')}<c r="B2"><v>12.5</v></c></row>`,
  ),
  'xl/worksheets/sheet2.xml': sheet(`<row r="1">${text('A1', 'City')}</row>`, `<row r="2">${text('A2', 'Rome')}</row>`),
});

const ID = (digit: string) => digit.repeat(32);

describe('imports of files of other tools', () => {
  let system: System;
  let by: Api;
  let workspace: Workspace;

  beforeAll(async () => {
    system = await standingSystem();
    by = api(system, system.owner.apiKey);
    workspace = (await by.post<Workspace>('/workspaces', { name: 'Imports' })).data;
  }, 120_000);

  /** Imports all files, and returns the created items by their path. */
  async function bring(body: object): Promise<{ done: Import; items: Map<string, ImportItem> }> {
    const done = await importAll(by, workspace.id, body);
    return { done, items: new Map((await itemsOf(by, done.id)).map((item) => [item.path, item])) };
  }

  const resource = async (item: ImportItem | undefined) =>
    (await by.get<Resource>(`/resources/${item?.resource_id}`)).data;
  const markdown = async (item: ImportItem | undefined) =>
    (await by.get<Content>(`/resources/${item?.resource_id}/content?format=markdown`)).data.content as string;
  const table = async (item: ImportItem | undefined) => {
    const { data } = await by.get<{
      columns: { id: string; name: string; type: string }[];
      rows: { cells: Record<string, unknown> }[];
    }>(`/resources/${item?.resource_id}/content?cell_format=display`);
    const rows = data.rows.map(({ cells }) => data.columns.map(({ id }) => cells[id] ?? null));
    return { columns: data.columns.map(({ name, type }) => `${name} ${type}`), rows };
  };

  test('values become a table with typed columns', async () => {
    const { done, items } = await bring({
      source_type: 'csv',
      content: 'Name;Day;Sum\nAda;2024-01-05;1,5\n"Bob; Jr.";2024-02-29;2,25\n',
      name: 'People',
    });
    expect([done.status, done.stats.tables]).toEqual(['completed', 1]);
    const [item] = items.values();
    expect(await table(item)).toEqual({
      columns: ['Name text', 'Day date', 'Sum number'],
      rows: [
        ['Ada', '2024-01-05', expect.anything()],
        ['Bob; Jr.', '2024-02-29', expect.anything()],
      ],
    });
  });

  test('a page becomes a document with its metadata', async () => {
    const { done, items } = await bring({
      source_type: 'html',
      content:
        '<title>A page</title><meta name="keywords" content="x, y"><main><h1>A page</h1><p>Text <b>bold</b></p></main>',
    });
    expect(done.status).toBe('completed');
    const [item] = items.values();
    expect(await resource(item)).toMatchObject({
      name: 'A page',
      type: 'document',
      metadata: { keywords: ['x', 'y'] },
    });
    expect(await markdown(item)).toBe('Text **bold**\n');
  });

  test('a list of objects becomes a table, and another shape fails with a reason', async () => {
    const { items } = await bring({ source_type: 'json', content: '[{"a":1,"b":true},{"a":2,"c":{"d":1}}]' });
    const [item] = items.values();
    expect((await table(item)).columns).toEqual(['a number', 'b checkbox', 'c json']);
    const { done } = await bring({ source_type: 'json', content: '[1,2]' });
    expect([done.status, done.error]).toEqual(['failed', expect.objectContaining({ code: 'unknown_shape' })]);
  });

  test('a Word document has its image as a file below it', async () => {
    const { done, items } = await bring({ source_type: 'docx', ...inline(DOCUMENT) });
    expect([done.status, done.stats.documents, done.stats.files]).toEqual(['completed', 1, 1]);
    const document = [...items.values()].find(({ path }) => path.endsWith('.docx'));
    const image = [...items.values()].find(({ path }) => path.endsWith('.png'));
    expect(await markdown(document)).toBe(`# Summary\n\n**Bold words**![A dot](resource:${image?.resource_id})\n`);
    expect(await resource(image)).toMatchObject({
      parent_id: document?.resource_id,
      file: { content_type: 'image/png', size_bytes: PNG.length, status: 'ready' },
    });
  });

  test('a workbook becomes a folder with a table for each sheet', async () => {
    const { done, items } = await bring({ source_type: 'xlsx', ...inline(WORKBOOK) });
    expect([done.status, done.stats.tables]).toEqual(['completed', 2]);
    const north = [...items.values()].find(({ path }) => path.endsWith('#North'));
    expect(await table(north)).toMatchObject({
      columns: ['City text', 'Sum number'],
      rows: [['Oslo', expect.anything()]],
    });
  });

  test('of two items with one path one is imported, and the other is reported as failed', async () => {
    const { done } = await bring({
      source_type: 'google_docs_zip',
      ...inline(archive({ 'book.xlsx': [WORKBOOK, {}], 'book.xlsx#North': 'no sheet', 'page.html': '<p>text</p>' })),
    });
    const failed = await itemsOf(by, done.id, 'failed');
    expect(failed).toMatchObject([{ path: 'book.xlsx#North', code: 'duplicate_path', retryable: false }]);
    expect([done.status, done.progress]).toEqual([
      'completed_with_errors',
      expect.objectContaining({ total: 5, succeeded: 4, failed: 1 }),
    ]);
    expect((await by.post(`/imports/${done.id}/retry`, {})).status).toBe(202);
    const again = await finished(by, done.id);
    expect([again.status, again.attempt, again.stats]).toEqual(['completed_with_errors', 2, done.stats]);
  });

  test('a workspace of Notion has pages below pages and rows below their table', async () => {
    const zip = archive({
      [`Home ${ID('a')}.md`]: `# Home of all\n\n[Tasks](Home/Tasks%20${ID('b')}.csv) ![s](Home/s.png) [gone](x.md)\n\n<aside>\n💡 Note\n\n</aside>\n`,
      'Home/s.png': [PNG, {}],
      [`Home/Tasks ${ID('b')}.csv`]: 'Name,Done\nWrite,Yes\n',
      [`Home/Tasks ${ID('b')}_all.csv`]: 'Name,Done\nWrite,Yes\nRead,No\n',
      [`Home/Tasks/Write ${ID('c')}.md`]: `# Write\n\nDone: Yes\n\n[up](../../Home%20${ID('a')}.md)\n`,
    });
    const { done, items } = await bring({ source_type: 'notion_zip', ...inline(zip) });
    const home = items.get(`Home ${ID('a')}.md`);
    const tasks = items.get(`Home/Tasks ${ID('b')}_all.csv`);
    const row = items.get(`Home/Tasks/Write ${ID('c')}.md`);
    expect([done.status, done.stats.links_broken]).toEqual(['completed', 1]);
    expect(await resource(home)).toMatchObject({ name: 'Home of all', external_id: ID('a') });
    expect(await markdown(home)).toBe(
      `[Tasks](resource:${tasks?.resource_id}) ![s](resource:${items.get('Home/s.png')?.resource_id}) [gone](x.md)\n\n> [!TIP]\n> 💡 Note\n`,
    );
    expect(await resource(tasks)).toMatchObject({ type: 'table', parent_id: home?.resource_id });
    expect((await table(tasks)).rows).toHaveLength(2);
    expect(await resource(row)).toMatchObject({ parent_id: tasks?.resource_id, metadata: { Done: 'Yes' } });
    expect(await markdown(row)).toBe(`[up](resource:${home?.resource_id})\n`);
    expect(items.get(`Home/Tasks ${ID('b')}.csv`)?.status).toBe('skipped');
  });

  test('an unreadable export fails with advice on which one to make', async () => {
    const { done } = await bring({
      source_type: 'confluence_zip',
      ...inline(archive({ 'entities.xml': '<x/>', 'exportDescriptor.properties': 'a=b' })),
    });
    expect([done.status, done.error]).toEqual(['failed', expect.objectContaining({ code: 'confluence_xml_export' })]);
  });
});

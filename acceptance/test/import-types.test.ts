import { beforeAll, describe, expect, test } from '@jest/globals';
import { exported } from '../src/archives.js';
import { type Api, api } from '../src/client.js';
import { archive, importAll, inline } from '../src/imports.js';
import type { Import, Resource, Workspace } from '../src/records.js';
import { standingSystem } from '../src/standing.js';

/** Tests that bytes of another type than `source_type` are refused with their type, before anything is created. */

let by: Api;
beforeAll(async () => {
  const system = await standingSystem();
  by = api(system, system.owner.apiKey);
});

const newWorkspace = async () => (await by.post<Workspace>('/workspaces', { name: 'Types' })).data.id;

const PAGES = archive({ 'a/one.md': '# One', 'a/two.md': '# Two' });
const SITE = archive({ 'index.html': '<h1>Home</h1>' });
const NOTION = archive({ 'Page 0123456789abcdef0123456789abcdef.md': '# Page' });
const WORD = archive({ '[Content_Types].xml': '<Types/>', 'word/document.xml': '<w/>' });
const PDF = Buffer.from('%PDF-1.7\n%\xe2\xe3\xcf\xd3\n', 'latin1');
const PNG = Buffer.concat([Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'), Buffer.alloc(64)]);

const WRONG: readonly [string, string, Buffer, string | undefined][] = [
  ['an archive of pages', 'markdown', PAGES, 'markdown_zip'],
  ['an archive of pages', 'html', PAGES, 'markdown_zip'],
  ['an archive of pages', 'csv', PAGES, 'markdown_zip'],
  ['an archive of pages', 'json', PAGES, 'markdown_zip'],
  ['an archive of pages', 'docx', PAGES, 'markdown_zip'],
  ['a site', 'markdown', SITE, 'html_zip'],
  ['an export of Notion', 'markdown', NOTION, 'notion_zip'],
  ['a Word document', 'markdown', WORD, 'docx'],
  ['a Word document', 'markdown_zip', WORD, 'docx'],
  ['a Word document', 'xlsx', WORD, 'docx'],
  ['a page', 'markdown_zip', Buffer.from('# A page\n\nwith text\n'), 'markdown'],
  ['a page', 'docx', Buffer.from('# A page\n\nwith text\n'), 'markdown'],
  ['a PDF', 'markdown', PDF, undefined],
  ['an image', 'markdown', PNG, undefined],
];

describe.each([true, false])('with dry_run %s', (dryRun) => {
  test.each(WRONG)('%s as %s is refused', async (_, sourceType, bytes, right) => {
    const workspaceId = await newWorkspace();
    const body = { source_type: sourceType, dry_run: dryRun, ...inline(bytes) };
    const done = await importAll(by, workspaceId, body);
    expect(done).toMatchObject({ status: 'failed', error: { code: 'unsupported_format', retryable: false } });
    const { message } = (done as Import & { error: { message: string } }).error;
    if (right === undefined) expect(message).not.toContain('source_type');
    else expect(message).toMatch(new RegExp(`source_type ${right}\\.$`));
    expect((await by.get(`/workspaces/${workspaceId}/resources`)).page.total).toBe(0);
  });
});

test('an archive of a workspace is refused as pages and accepted as a workspace; its report has titles', async () => {
  const workspaceId = await newWorkspace();
  await by.post<Resource>('/resources', { type: 'document', name: 'The plan', workspace_id: workspaceId });
  const { download_url: url } = await exported(by, workspaceId);
  const bytes = new Uint8Array(await (await fetch(url ?? '')).arrayBuffer());
  const wrong = await importAll(by, await newWorkspace(), { source_type: 'markdown_zip', ...inline(bytes) });
  expect(wrong).toMatchObject({ status: 'failed', error: { code: 'unsupported_format' } });
  expect((await importAll(by, await newWorkspace(), { source_type: 'native_zip', ...inline(bytes) })).status).toBe(
    'completed',
  );
});

test('texts of any encoding and kind are accepted', async () => {
  const workspaceId = await newWorkspace();
  const wide = Buffer.from('\ufeffname,size\nÄ,1\n', 'utf16le');
  const taken: readonly [object, Buffer][] = [
    [{ source_type: 'markdown' }, Buffer.from('Just words.')],
    [{ source_type: 'markdown' }, Buffer.from('<h1>Markup</h1>')],
    [{ source_type: 'csv' }, wide],
    [{ source_type: 'csv', options: { csv: { encoding: 'utf-16le' } } }, wide.subarray(2)],
    [{ source_type: 'json' }, Buffer.from(JSON.stringify({ type: 'doc', content: [] }))],
  ];
  for (const [body, bytes] of taken) {
    const done = await importAll(by, workspaceId, { ...body, ...inline(bytes) });
    expect(done.error?.code).not.toBe('unsupported_format');
  }
});

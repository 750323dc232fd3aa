import { once } from 'node:events';
import { type ClientRequest, get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { createResource } from '../fill.js';
import { createDocument, fill, type Place } from './world.js';

const MIB = 1024 * 1024;

/** A kind of request whose cost the sender controls. */
interface Attack {
  readonly name: string;
  /**
   * Creates the records that the attack needs. Returns a function that sends one request of the attack. It is called
   * repeatedly.
   */
  prepare(place: Place): Promise<() => Promise<{ status: number }>>;
}

/** Creates a form in which every field has the pattern. Returns a function that submits an answer to it. */
async function submitter({ client, workspaceId }: Place, pattern: string, answer: string) {
  const table = await createResource(client, { type: 'table', name: 'Table', workspace_id: workspaceId });
  const fields = Array.from({ length: 100 }, (_, i) => ({ id: `f${i}`, type: 'short_text', label: `F${i}`, pattern }));
  const config = { title: 'Form', fields };
  const { form } = await client.ask<{ form: { token: string } }>('POST', `/resources/${table}/form`, { config });
  const values = Object.fromEntries(fields.map(({ id }) => [id, answer]));
  return () => client.send('POST', `/forms/${form.token}/submit`, { values });
}

async function writer({ client, workspaceId }: Place, content: object) {
  const id = await createDocument(client, workspaceId, { content: 'Text' });
  const body = bodyOf(content);
  return () => client.send('PATCH', `/resources/${id}/content`, body);
}

/** Serializes a body once, because it is sent often. */
const bodyOf = (value: object): Buffer => Buffer.from(JSON.stringify(value));

async function converter({ client, workspaceId }: Place, markdown: string) {
  const id = await createDocument(client, workspaceId, { content: 'Text' });
  let count = 0;
  // Conversions are cached, so each request converts a different text.
  return async () => {
    await client.send('PATCH', `/resources/${id}/content`, { content: `${count++}\n\n${markdown}` });
    return client.send('GET', `/resources/${id}/content?format=html`);
  };
}

async function replacer({ client, workspaceId }: Place) {
  const id = await createDocument(client, workspaceId, { content: 'Text' });
  const blocks = (word: number) => Array.from({ length: 19_000 }, (_, i) => `${word} ${i} ${word * i}`).join('\n\n');
  let count = 1;
  await client.send('PATCH', `/resources/${id}/content`, { content: blocks(0) });
  // Reading the blocks assigns ids to them, which later writes keep.
  await client.send('GET', `/resources/${id}/content?format=json`);
  return () => client.send('PATCH', `/resources/${id}/content`, { content: blocks(count++) });
}

async function calculator({ client, workspaceId }: Place) {
  const columns = [
    { name: 'Text', type: 'long_text' },
    { name: 'Made', type: 'formula', options: { expression: 'len(replace({Text}, "a", {Text}))' } },
  ];
  const rows = Array.from({ length: 15 }, () => ({ Text: 'a'.repeat(99_000) }));
  const id = await createResource(client, { type: 'table', name: 'Table', workspace_id: workspaceId, columns, rows });
  return () => client.send('GET', `/resources/${id}/content?limit=1000`);
}

async function uploader({ client, workspaceId }: Place, page: string) {
  const body = bodyOf({
    name: 'page.html',
    workspace_id: workspaceId,
    content_base64: Buffer.from(page).toString('base64'),
  });
  return () => client.send('POST', '/files', body);
}

/** Returns columns and rows of a table with 20 columns. */
function rowsOf(count: number) {
  const columns = Array.from({ length: 20 }, (_, i) => ({ name: `C${i}`, type: i === 0 ? 'text' : 'number' }));
  const rows = Array.from({ length: count }, (_, row) =>
    Object.fromEntries(columns.map(({ name }, i) => [name, i === 0 ? `row ${(row * 7919) % count}` : row * i])),
  );
  return { columns, rows };
}

/** Returns a function that creates a table of 200,000 cells. */
async function tableWriter({ client, workspaceId }: Place) {
  const body = bodyOf({ type: 'table', name: 'Table', workspace_id: workspaceId, ...rowsOf(10_000) });
  return () => client.send('POST', '/resources', body);
}

async function tableReader({ client, workspaceId }: Place, query: string) {
  const table = { type: 'table', name: 'Table', workspace_id: workspaceId, ...rowsOf(10_000) };
  const id = await createResource(client, table);
  return () => client.send('GET', `/resources/${id}/content?${query}`);
}

/** Creates a document of about 4.3 MB. Returns a function that reads it. */
async function reader({ client, workspaceId }: Place, format: string) {
  const paragraph = `${'Häuser und Bäume, *Straßen* und [Wege](https://example.com). '.repeat(8)}\n\n`;
  const content = fill(paragraph, 4 * MIB);
  const id = await createDocument(client, workspaceId, { content });
  return () => client.send('GET', `/resources/${id}/content?format=${format}`);
}

/** Publishes a document. Returns a function that reads its page as a visitor. */
async function visitor({ client, workspaceId }: Place, content: string) {
  const id = await createDocument(client, workspaceId, { content });
  const { url } = await client.ask<{ url: string }>('POST', `/resources/${id}/publish`, { visibility: 'public' });
  return () => download(url);
}

/** Stores a file. Returns a function that downloads its bytes by their signed address. */
async function downloader(place: Place, bytes: number) {
  const url = await storedFile(place, bytes);
  return () => download(url);
}

/** Connections that a client which does not read keeps open. */
const MAX_UNREAD = 400;

/**
 * Stores a file. Returns a function that requests its bytes and reads nothing but the status. The oldest of `MAX_UNREAD`
 * connections is closed for a further one.
 */
async function requesterWhoDoesNotRead(place: Place, bytes: number) {
  const url = await storedFile(place, bytes);
  const open: ClientRequest[] = [];
  return async () => {
    if (open.length >= MAX_UNREAD) open.shift()?.destroy();
    const request = get(url, { agent: false });
    open.push(request);
    const [answer] = (await once(request, 'response')) as [IncomingMessage];
    // The connection may end at any time, as it does when it is closed above.
    for (const emitter of [request, answer]) emitter.on('error', () => {});
    return { status: answer.statusCode ?? 0 };
  };
}

/** Stores a file of so many bytes. Returns the signed address of its content. */
async function storedFile({ client, workspaceId }: Place, bytes: number): Promise<string> {
  const body = {
    name: 'words.txt',
    workspace_id: workspaceId,
    content_base64: Buffer.alloc(bytes, 'a').toString('base64'),
  };
  const { resource } = await client.ask<{ resource: { id: string } }>('POST', '/files', body);
  const { download_url: url } = await client.ask<{ download_url: string }>('GET', `/resources/${resource.id}/file`);
  return url;
}

async function download(url: string): Promise<{ status: number }> {
  const answer = await fetch(url);
  await answer.arrayBuffer();
  return answer;
}

/**
 * Returns a function that imports a single page of some megabytes. It starts as many imports as the workspace allows.
 */
async function importer({ client, workspaceId }: Place, type: string, page: string) {
  const body = bodyOf({ source_type: type, content: page, name: 'Import' });
  return async () => {
    const answer = await client.send('POST', `/workspaces/${workspaceId}/imports`, body);
    // The workspace already has the maximum number of imports in progress, so the next attempt is delayed.
    if (answer.status !== 202) await sleep(200);
    return answer;
  };
}

/** All kinds of work whose cost a user controls, and which have delayed other tenants or could do so. */
export const ATTACKS: readonly Attack[] = [
  { name: 'form: 100 patterns (a+)+b', prepare: (place) => submitter(place, '(a+)+b', 'a'.repeat(45)) },
  {
    name: 'form: 100 patterns of 900 states',
    prepare: (place) => submitter(place, '[xy]*x[xy]{900}z', 'xy'.repeat(120)),
  },
  { name: 'document: 122 KB of <div>', prepare: (place) => writer(place, { html: fill('<div>', 122_000) }) },
  { name: 'document: 5 MB of <div>', prepare: (place) => writer(place, { html: fill('<div>', 4.9 * MIB) }) },
  { name: 'document: 1 MB of <div></x>', prepare: (place) => writer(place, { html: fill('<div></x>', MIB) }) },
  {
    name: 'document: 2 MB of brackets',
    prepare: (place) => converter(place, fill(`${'['.repeat(60_000)}\n\n`, 2 * MIB)),
  },
  {
    name: 'document: tables of one wide row',
    prepare: (place) =>
      converter(place, fill(`${'|a'.repeat(300)}|\n${'|-'.repeat(300)}|\n${'|b\n'.repeat(300)}\n`, 200_000)),
  },
  { name: 'document: 19,000 blocks replaced', prepare: replacer },
  {
    name: 'comment: 10,000 characters of brackets',
    prepare: async ({ client, workspaceId }) => {
      const id = await createDocument(client, workspaceId, { content: 'Text' });
      let count = 0;
      // Each body differs, so that none is known already.
      return () => client.send('POST', `/resources/${id}/comments`, { body: `${count++} ${'!['.repeat(4990)}` });
    },
  },
  { name: 'table: formula that multiplies text', prepare: calculator },
  { name: 'file: 4.5 MB of <div> as HTML', prepare: (place) => uploader(place, fill('<div>', 4.5 * MIB)) },
  {
    name: 'search: 190 characters of rare words',
    prepare: async ({ client }) => {
      const query = fill('qa zb wc vd ', 190);
      return () => client.send('POST', '/search', { query });
    },
  },
  {
    name: 'JSON: 1,000 brackets',
    prepare: async ({ client, workspaceId }) => {
      const id = await createDocument(client, workspaceId, { content: 'Text' });
      const content = JSON.parse(`${'['.repeat(1000)}${']'.repeat(1000)}`) as unknown;
      return () => client.send('PATCH', `/resources/${id}/content`, { content });
    },
  },
  { name: 'JSON: 10,000 rows of 20 cells', prepare: tableWriter },
  {
    name: 'JSON: 9 MB of small values',
    prepare: async ({ client, workspaceId }) => {
      const values = Array.from({ length: 900_000 }, (_, i) => i % 10);
      const body = bodyOf({
        type: 'document',
        name: 'Page',
        workspace_id: workspaceId,
        metadata: { values, values2: values, values3: values, values4: values, values5: values },
      });
      return () => client.send('POST', '/resources', body);
    },
  },
  {
    name: 'JSON: 9 MB of keys',
    prepare: async ({ client, workspaceId }) => {
      const fields = Object.fromEntries(Array.from({ length: 600_000 }, (_, i) => [`k${i}`, i % 10]));
      const body = bodyOf({ type: 'document', name: 'Page', workspace_id: workspaceId, metadata: fields });
      return () => client.send('POST', '/resources', body);
    },
  },
  {
    name: 'JSON: 4.5 MB of words beyond ASCII',
    prepare: (place) => writer(place, { content: fill('Häuser und Bäume\n\n', 4.4 * MIB) }),
  },
  {
    name: 'JSON: 100,000 blocks of a document',
    prepare: (place) => {
      const block = { type: 'paragraph', content: [{ type: 'text', text: 'a' }] };
      return writer(place, { document: { type: 'doc', content: Array.from({ length: 100_000 }, () => block) } });
    },
  },
  {
    name: 'table: sorted and filtered',
    prepare: (place) =>
      tableReader(place, `limit=100&sort=${encodeURIComponent('[{"column":"C0","direction":"asc"}]')}`),
  },
  { name: 'table: 1,000 rows of an answer', prepare: (place) => tableReader(place, 'limit=1000') },
  { name: 'answer: a document of 4.3 MB', prepare: (place) => reader(place, 'markdown') },
  { name: 'answer: a document of 4.3 MB as JSON', prepare: (place) => reader(place, 'json') },
  { name: 'page: 4 KB, published', prepare: (place) => visitor(place, fill('Some *words* here. ', 4000)) },
  { name: 'page: 1 MB, published', prepare: (place) => visitor(place, fill('Some *words* here. ', MIB)) },
  { name: 'download: 5 MB', prepare: (place) => downloader(place, 5 * MIB) },
  { name: 'download: 5 MB that nobody reads', prepare: (place) => requesterWhoDoesNotRead(place, 5 * MIB) },
  {
    name: 'import: HTML of 4.9 MB',
    prepare: (place) => importer(place, 'html', fill('<p>Some <b>text</b></p>', 4.9 * MIB)),
  },
  {
    name: 'import: Markdown of 4.9 MB',
    prepare: (place) => importer(place, 'markdown', fill('Some **text** and [link](a.md)\n\n', 4.9 * MIB)),
  },
  {
    name: 'import: CSV of 4.9 MB',
    prepare: (place) => importer(place, 'csv', fill('a,1,2026-01-01,"b"\n', 4.9 * MIB)),
  },
];

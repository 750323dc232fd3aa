// Fills a workspace with the Markdown pages of a zip, folder by folder, through the HTTP API.
// usage: COMMONPLACE_API_KEY=wsk_… node tilt/load-handbook.mjs [ZIP]
//   COMMONPLACE_URL        http://127.0.0.1:8080
//   COMMONPLACE_TEST_DATA  where handbook.zip lies: ../shared/data
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import yauzl from 'yauzl';

const AT_ONCE = 8;
const URL_OF_API = process.env.COMMONPLACE_URL || 'http://127.0.0.1:8080';
const KEY = process.env.COMMONPLACE_API_KEY;
const data = process.env.COMMONPLACE_TEST_DATA || join(import.meta.dirname, '../../shared/data');
const zip = process.argv[2] ?? join(data, 'handbook.zip');

if (!KEY) stop('COMMONPLACE_API_KEY is not set: the log of the bootstrap job tells the first one.');
if (!existsSync(zip)) stop(`${zip} is not there: name a zip of Markdown pages, or set COMMONPLACE_TEST_DATA.`);

const pages = await readPages(zip);
const workspace = await call('POST', 'workspaces', { name: `Handbook ${new Date().toISOString().slice(0, 16)}` });
const folders = new Map([['.', Promise.resolve(undefined)]]);
let done = 0;
const queue = pages.values();
await Promise.all(Array.from({ length: AT_ONCE }, load));
console.log(`${pages.length} pages in ${folders.size - 1} folders: workspace ${workspace.id}`);

/** Takes page after page until none is left. */
async function load() {
  for (const { path, content } of queue) {
    await create('document', basename(path, '.md'), await folderOf(dirname(path)), { content });
    done += 1;
    if (done % 100 === 0) console.log(`${done} of ${pages.length} pages`);
  }
}

/** The id of a folder, made with those above it when it is first asked for. */
function folderOf(path) {
  if (!folders.has(path)) {
    folders.set(
      path,
      folderOf(dirname(path)).then(async (parent) => (await create('folder', basename(path), parent)).id),
    );
  }
  return folders.get(path);
}

function create(type, name, parent, more = {}) {
  const place = { workspace_id: workspace.id, ...(parent && { parent_id: parent }) };
  return call('POST', 'resources', { type, name, ...place, ...more });
}

/** Calls the API; waits where it asks for that. */
async function call(method, path, body) {
  const headers = {
    Authorization: `Bearer ${KEY}`,
    'Content-Type': 'application/json',
    'Idempotency-Key': randomUUID(),
  };
  for (;;) {
    const answer = await fetch(`${URL_OF_API}/api/v1/${path}`, { method, headers, body: JSON.stringify(body) });
    const text = await answer.text();
    if (answer.ok) return JSON.parse(text).data;
    if (answer.status !== 429 && answer.status !== 503) stop(`${method} ${path}: ${answer.status} ${text}`);
    await new Promise((resolve) => setTimeout(resolve, 1000 * (Number(answer.headers.get('retry-after')) || 1)));
  }
}

async function readPages(file) {
  const archive = await yauzl.openPromise(file, { lazyEntries: true });
  const found = [];
  for await (const entry of archive.eachEntry()) {
    if (!entry.fileName.endsWith('.md')) continue;
    const chunks = [];
    for await (const chunk of await archive.openReadStreamPromise(entry)) chunks.push(chunk);
    found.push({ path: entry.fileName, content: Buffer.concat(chunks).toString('utf8') });
  }
  return found;
}

function stop(why) {
  console.error(why);
  process.exit(1);
}

// Imports a zip of Markdown pages into a workspace of its own, through the HTTP API, and tells how far it is.
// usage: COMMONPLACE_API_KEY=wsk_… node tilt/load-handbook.mjs [ZIP]
//   COMMONPLACE_URL        http://127.0.0.1:8080
//   COMMONPLACE_TEST_DATA  where handbook.zip lies: ../shared/data
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ASK_MS = 2000;
const ACTIVE = ['pending_upload', 'queued', 'running'];
const URL_OF_API = process.env.COMMONPLACE_URL || 'http://127.0.0.1:8080';
const KEY = process.env.COMMONPLACE_API_KEY;
const data = process.env.COMMONPLACE_TEST_DATA || join(import.meta.dirname, '../../shared/data');
const file = process.argv[2] ?? join(data, 'handbook.zip');

if (!KEY) stop('COMMONPLACE_API_KEY is not set: the log of the bootstrap job tells the first one.');
if (!existsSync(file)) stop(`${file} is not there: name a zip of Markdown pages, or set COMMONPLACE_TEST_DATA.`);

const zip = readFileSync(file);
const workspace = await call('POST', 'workspaces', { name: `Handbook ${new Date().toISOString().slice(0, 16)}` });
const request = { source_type: 'markdown_zip', upload: true, name: 'Handbook', size_bytes: zip.length };
const begun = await call('POST', `workspaces/${workspace.id}/imports`, request);
await put(begun.upload);
let current = begun;
while (ACTIVE.includes(current.status)) {
  await new Promise((resolve) => setTimeout(resolve, ASK_MS));
  current = await call('GET', `imports/${begun.id}`);
  console.log(`${current.status}, ${current.phase}: ${JSON.stringify(current.stats)}`);
}
if (!current.status.startsWith('completed')) stop(`${current.status}: ${JSON.stringify(current.error)}`);
console.log(`Workspace ${workspace.id}, folder ${current.root_resource_id}`);

/** Puts the bytes where the server says; what is above its largest upload at once goes in parts. */
async function put({ url, method, headers, parts, part_size: size }) {
  const pieces = parts?.length
    ? parts.map((part, i) => [part.url, zip.subarray(i * size, (i + 1) * size)])
    : [[url, zip]];
  for (const [target, body] of pieces) {
    const answer = await fetch(target, { method: method ?? 'PUT', headers: headers ?? {}, body });
    if (!answer.ok) stop(`upload: ${answer.status} ${await answer.text()}`);
  }
}

async function call(method, path, body) {
  const headers = { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' };
  if (method !== 'GET') headers['Idempotency-Key'] = randomUUID();
  const answer = await fetch(`${URL_OF_API}/api/v1/${path}`, { method, headers, body: body && JSON.stringify(body) });
  const text = await answer.text();
  if (!answer.ok) stop(`${method} ${path}: ${answer.status} ${text}`);
  return JSON.parse(text).data;
}

function stop(why) {
  console.error(why);
  process.exit(1);
}

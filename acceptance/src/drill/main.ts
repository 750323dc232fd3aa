// `npm run drill`: loses an installation and restores it. Installs, loads data, backs up while serving, deletes
// everything, restores, and compares the answers of the API before and after. Embedded, the containers of the rendered
// chart run as processes on this machine; with `-- --mesh` it is a mesh with MongoDB, NATS, a bucket and Typesense. Prints
// how long the restore took (the RTO for this amount of data) and what was lost (the RPO), and ends with `drill: passed`
// or with the differences. `-- --pages 500` loads more data, `-- --bucket URL` backs the embedded system up to a bucket.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Api, api } from '../client.js';
import { eventually } from '../eventually.js';
import { newFile } from '../files.js';
import type { List, Resource, Workspace } from '../records.js';
import { forEach } from '../walk.js';
import { createEmbedded } from './embedded.js';
import type { Installation } from './installation.js';
import { createMesh } from './mesh.js';
import { differences, readState } from './state.js';

/** Milliseconds within which a restored system finds everything. */
const FOUND_MS = 120_000;
const WORD = 'recoverable';

const { values: options } = parseArgs({
  options: {
    pages: { type: 'string', default: '60' },
    bucket: { type: 'string' },
    mesh: { type: 'boolean', default: false },
  },
});
const home = mkdtempSync(join(tmpdir(), 'commonplace-drill-'));
try {
  const installation = options.mesh ? await createMesh(home) : await createEmbedded(home, options.bucket);
  try {
    process.exitCode = await drill(installation, Number(options.pages));
  } finally {
    await installation.stop();
  }
} finally {
  rmSync(home, { recursive: true, force: true });
}

async function drill(installation: Installation, pages: number): Promise<number> {
  const { baseUrl } = installation;
  const key = await installation.install();
  const by = api({ baseUrl }, key);
  const workspace = await fill(by, pages);
  const before = await readState(by);
  say(`loaded: ${before.size} answers of the API`);

  const backedUp = await timed('back up, while it serves', () => installation.backUp());
  const late = await by.post<Resource>('/resources', { type: 'folder', name: 'Late', workspace_id: workspace.id });
  if (late.status !== 201) throw new Error(late.text);

  await installation.destroy();
  say('killed, and its data deleted');

  const lost = performance.now();
  await installation.restore();
  const serves = (performance.now() - lost) / 1000;
  const again = api({ baseUrl }, key);
  const faults = differences(before, await readState(again));
  if ((await again.get(`/resources/${late.data.id}`)).status !== 404)
    faults.push('what was written after the backup is there');
  await eventually(async () => {
    const found = await again.post<List<unknown>>('/search', { query: WORD, mode: 'keyword' });
    if (found.status !== 200 || found.data.items.length === 0) throw new Error(`search answers ${found.text}`);
  }, FOUND_MS);
  const searches = (performance.now() - lost) / 1000;
  const written = await again.post<Resource>('/resources', {
    type: 'folder',
    name: 'After',
    workspace_id: workspace.id,
  });
  if (written.status !== 201) faults.push(`a write after the restore is answered ${written.status}`);

  for (const fault of faults) say(`✕ ${fault}`);
  say(`RTO: serves ${serves.toFixed(1)} s after the loss, finds everything after ${searches.toFixed(1)} s`);
  say(
    `RPO: the time since the backup began, which took ${backedUp.toFixed(1)} s; one later write is lost, as it has to be`,
  );
  say(faults.length === 0 ? 'drill: passed' : `drill: ${faults.length} answers differ`);
  return faults.length === 0 ? 0 : 1;
}

/**
 * Creates something of each kind: folders, documents with changes, comments and tags, a table, files, a key, and trash.
 */
async function fill(by: Api, pages: number): Promise<Workspace> {
  const create = async <T>(path: string, body: object) => {
    const reply = await by.post<T>(path, body);
    if (reply.status >= 300) throw new Error(`${path}: ${reply.text}`);
    return reply.data;
  };
  const workspace = await create<Workspace>('/workspaces', { name: 'Drill' });
  const within = { workspace_id: workspace.id };
  const folder = await create<Resource>('/resources', { ...within, type: 'folder', name: 'Folder' });
  await forEach(Array.from({ length: pages }), 4, async (_, i) => {
    const content = `# Page ${i}\n\nA ${WORD} text of page ${i}. ${'words '.repeat(50)}`;
    const fields = { ...within, type: 'document', name: `Page ${i}`, parent_id: folder.id, content };
    const page = await create<Resource>('/resources', fields);
    if (i % 3 === 0) await create(`/resources/${page.id}/comments`, { body: `About page ${i}` });
    if (i % 5 === 0) await by.patch(`/resources/${page.id}`, { name: `Renamed ${i}` });
    if (i % 7 === 0) await newFile(by, { ...within, name: `${i}.bin` }, randomBytes(50_000));
    if (i % 11 === 0) await by.del(`/resources/${page.id}`);
  });
  const columns = [{ id: 'name', name: 'Name', type: 'text' }];
  const rows = Array.from({ length: 200 }, (_, i) => ({ name: `Row ${i}` }));
  await create('/resources', { ...within, type: 'table', name: 'Table', columns, rows });
  await create('/api-keys', { name: 'Of the drill', scopes: ['workspace:read'] });
  return workspace;
}

async function timed(what: string, work: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await work();
  const seconds = (performance.now() - began) / 1000;
  say(`${what}: ${seconds.toFixed(1)} s`);
  return seconds;
}

function say(line: string): void {
  console.log(line);
}

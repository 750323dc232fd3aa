// `npm run drill`: loses an installation and restores it in the way of the chart. Installs, loads data, backs up while
// serving, deletes everything, restores, and compares the answers of the API before and after. The containers of the
// rendered chart run as processes on this machine. Prints how long the restore took (the RTO for this amount of data)
// and what was lost (the RPO), and ends with `drill: passed` or with the differences. `-- --pages 500` loads more data,
// `-- --bucket URL` backs up to a bucket.
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Api, api } from '../client.js';
import { eventually } from '../eventually.js';
import { newFile } from '../files.js';
import type { List, Resource, Workspace } from '../records.js';
import { freePort } from '../system.js';
import { forEach } from '../walk.js';
import { deploy, type Machine } from './deployment.js';
import { differences, readState } from './state.js';

const READY_MS = 120_000;
const WORD = 'recoverable';

const { values: options } = parseArgs({
  options: { pages: { type: 'string', default: '60' }, bucket: { type: 'string' } },
});
const home = mkdtempSync(join(tmpdir(), 'commonplace-drill-'));
try {
  process.exitCode = await drill(Number(options.pages), options.bucket);
} finally {
  rmSync(home, { recursive: true, force: true });
}

async function drill(pages: number, bucket: string | undefined): Promise<number> {
  const machine: Machine = { data: join(home, 'data'), backups: join(home, 'backups'), port: await freePort() };
  mkdirSync(machine.data, { mode: 0o700 });
  mkdirSync(machine.backups, { mode: 0o700 });
  const values = ['backup.enabled=true', ...(bucket === undefined ? [] : [`backup.bucket.url=${bucket}`])];
  const baseUrl = `http://127.0.0.1:${machine.port}`;
  const ready = () =>
    eventually(async () => {
      if ((await fetch(`${baseUrl}/health/ready`)).status !== 200) throw new Error('not ready');
    }, READY_MS);

  const installed = await deploy(machine, values);
  let running = await installed.startPod();
  await ready();
  const file = readFileSync(join(machine.data, 'bootstrap.json'), 'utf8');
  const { api_key: key } = JSON.parse(file) as { api_key: string };
  const by = api({ baseUrl }, key);
  const workspace = await fill(by, pages);
  const before = await readState(by);
  say(`loaded: ${before.size} answers of the API`);

  const backedUp = await timed('back up, while it serves', () => installed.runBackup());
  const late = await by.post<Resource>('/resources', { type: 'folder', name: 'Late', workspace_id: workspace.id });
  if (late.status !== 201) throw new Error(late.text);

  await running.kill();
  rmSync(machine.data, { recursive: true });
  mkdirSync(machine.data, { mode: 0o700 });
  say('killed, and its volume deleted');

  const lost = performance.now();
  const restored = await deploy(machine, [
    ...values,
    'backup.restore.from=newest',
    'backup.restore.sameInstallation=true',
  ]);
  running = await restored.startPod();
  await ready();
  const serves = (performance.now() - lost) / 1000;
  const again = api({ baseUrl }, key);
  const faults = differences(before, await readState(again));
  if ((await again.get(`/resources/${late.data.id}`)).status !== 404)
    faults.push('what was written after the backup is there');
  await eventually(async () => {
    const found = await again.post<List<unknown>>('/search', { query: WORD, mode: 'keyword' });
    if (found.status !== 200 || found.data.items.length === 0) throw new Error(`search answers ${found.text}`);
  }, READY_MS);
  const searches = (performance.now() - lost) / 1000;
  const written = await again.post<Resource>('/resources', {
    type: 'folder',
    name: 'After',
    workspace_id: workspace.id,
  });
  if (written.status !== 201) faults.push(`a write after the restore is answered ${written.status}`);
  await running.terminate();

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

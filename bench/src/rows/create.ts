import type { Bench } from '../bench.js';
import { compareBeside } from '../beside.js';
import { createFolders, createWorkspace, sentence } from '../fill.js';
import { JSON_BODY } from '../http.js';
import { type Row, ratioOf } from '../row.js';
import { startBareKoa } from '../subjects/limit.js';

/** Number of folders: enough for a long run, since each holds at most 10,000 resources. */
const FOLDERS = 40;
const BYTES = 4096;

/** Measures the creation of documents, each synced to the disk before its answer. */
export async function measureCreate(bench: Bench): Promise<Row> {
  const { subject, client } = await bench.shared();
  const workspaceId = await createWorkspace(client, 'Writing');
  const parents = await createFolders(client, workspaceId, FOLDERS);
  const content = sentence(2, 1000).slice(0, BYTES);
  const bodies = parents.map((parent_id) => ({ type: 'document', name: 'Written', parent_id, content }));
  const { status, text } = await client.send('POST', '/resources', bodies[0]);
  const path = '/api/v1/resources';
  const requests = bodies.map(
    (body) => ({ method: 'POST', path, body: JSON.stringify(body), headers: JSON_BODY }) as const,
  );
  const limit = () => startBareKoa({ method: 'POST', path, status, answers: [text] });
  const figures = await compareBeside(bench, [{ subject, requests }], limit);
  const notes = [`${BYTES} bytes of text each; bare Koa reads and parses the same body and keeps nothing`];
  return { figures, checks: [ratioOf(figures, 0.12)], notes };
}

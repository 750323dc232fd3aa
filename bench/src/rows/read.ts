import type { Bench, Measured } from '../bench.js';
import { compareBeside } from '../beside.js';
import { createResource, createWorkspace, sentence } from '../fill.js';
import { type Row, ratioOf, Skipped } from '../row.js';
import { type LimitSpec, startBareKoa, startKoaGrpc } from '../subjects/limit.js';

/** One resource is read by its id. */
export async function measureRead(bench: Bench): Promise<Row> {
  const { subject, client } = await bench.shared();
  const { requests, limit, notes } = await prepare(client);
  const figures = await compareBeside(bench, [{ subject, requests }], () => startBareKoa(limit));
  return { figures, checks: [ratioOf(figures, 0.35, 0.6)], notes };
}

/** The same over the mesh, beside a gRPC call and a read of the same server with nothing around them. */
export async function measureMeshRead(bench: Bench): Promise<Row> {
  const { COMMONPLACE_MONGODB_URL: mongodbUrl, COMMONPLACE_NATS_URL: natsUrl } = process.env;
  if (!mongodbUrl || !natsUrl) {
    throw new Skipped('set COMMONPLACE_MONGODB_URL and COMMONPLACE_NATS_URL, or pass --mesh');
  }
  const { subject, client } = await bench.start('mesh', { mesh: true });
  try {
    const { id, requests, limit, notes } = await prepare(client);
    const figures = await compareBeside(bench, [{ subject, requests }], () => startKoaGrpc(limit, mongodbUrl, id));
    return { figures, checks: [ratioOf(figures, 0.6)], notes };
  } finally {
    await subject.stop();
  }
}

/** A document, the request that reads it, and a limit that gives the same bytes. */
async function prepare(client: Measured['client']) {
  const workspaceId = await createWorkspace(client, 'Reading');
  const content = sentence(1, 100);
  const id = await createResource(client, { type: 'document', name: 'Read me', workspace_id: workspaceId, content });
  const { status, text } = await client.send('GET', `/resources/${id}`);
  const limit: LimitSpec = { method: 'GET', path: '/api/v1/resources/:id', status, answers: [text] };
  const requests = [{ method: 'GET', path: `/api/v1/resources/${id}` }] as const;
  return { id, requests, limit, notes: [`an answer of ${Buffer.byteLength(text)} bytes`] };
}

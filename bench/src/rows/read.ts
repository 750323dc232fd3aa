import type { Bench, Measured } from '../bench.js';
import { compareBeside } from '../beside.js';
import { createResource, createWorkspace, sentence } from '../fill.js';
import { type Row, ratioOf, Skipped } from '../row.js';
import { type LimitSpec, startBareKoa, startKoaGrpc } from '../subjects/limit.js';

/** Measures reading resources by id, one per request. */
export async function measureRead(bench: Bench): Promise<Row> {
  const { subject, client } = await bench.shared();
  const { requests, limit, notes } = await prepare(client);
  const figures = await compareBeside(bench, [{ subject, requests }], () => startBareKoa(limit));
  return { figures, checks: [ratioOf(figures, 0.35, 0.6)], notes };
}

/** Measures the same over the mesh, compared with a bare gRPC call and a read from the same server. */
export async function measureMeshRead(bench: Bench): Promise<Row> {
  const { COMMONPLACE_MONGODB_URL: mongodbUrl, COMMONPLACE_NATS_URL: natsUrl } = process.env;
  if (!mongodbUrl || !natsUrl) {
    throw new Skipped('set COMMONPLACE_MONGODB_URL and COMMONPLACE_NATS_URL, or pass --mesh');
  }
  const { subject, client } = await bench.start('mesh', { mesh: true });
  try {
    const { ids, requests, limit, notes } = await prepare(client);
    const figures = await compareBeside(bench, [{ subject, requests }], () => startKoaGrpc(limit, mongodbUrl, ids));
    return { figures, checks: [ratioOf(figures, 0.6)], notes };
  } finally {
    await subject.stop();
  }
}

/** Number of documents, large enough that concurrent requests seldom ask for the same one. */
const DOCUMENTS = 256;

/** Creates documents, the requests that read them, and a limit that answers the same bytes. */
async function prepare(client: Measured['client']) {
  const workspaceId = await createWorkspace(client, 'Reading');
  const ids: string[] = [];
  const answers: string[] = [];
  for (let number = 0; number < DOCUMENTS; number++) {
    const content = sentence(number, 100);
    const id = await createResource(client, {
      type: 'document',
      name: `Read me ${number}`,
      workspace_id: workspaceId,
      content,
    });
    ids.push(id);
    answers.push((await client.send('GET', `/resources/${id}`)).text);
  }
  const limit: LimitSpec = { method: 'GET', path: '/api/v1/resources/:id', status: 200, answers };
  const requests = ids.map((id) => ({ method: 'GET', path: `/api/v1/resources/${id}` }) as const);
  return { ids, requests, limit, notes: [`answers of ${Buffer.byteLength(answers[0] ?? '')} bytes`] };
}

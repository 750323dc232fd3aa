import type { Bench } from '../bench.js';
import { compareBeside } from '../beside.js';
import { createResource, createWorkspace, sentence } from '../fill.js';
import { type Row, ratioOf } from '../row.js';
import { type LimitSpec, startBareKoa } from '../subjects/limit.js';

const PARAGRAPHS = 20;

/** Measures visitors' reads of a published document, which the gateway serves from its cache of rendered pages. */
export async function measurePublished(bench: Bench): Promise<Row> {
  const { subject, client, system } = await bench.shared();
  const workspaceId = await createWorkspace(client, 'Published');
  const content = Array.from({ length: PARAGRAPHS }, (_, i) => `## Part ${i}\n\n${sentence(i, 60)}`).join('\n\n');
  const id = await createResource(client, { type: 'document', name: 'Published', workspace_id: workspaceId, content });
  const { url } = await client.ask<{ url: string }>('POST', `/resources/${id}/publish`, { visibility: 'public' });
  const { pathname: path } = new URL(url);
  const answer = await fetch(`${system.baseUrl}${path}`);
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`the page answers ${answer.status}`);
  const limit: LimitSpec = { method: 'GET', path, status: 200, answers: [text] };
  const requests = [{ method: 'GET', path }] as const;
  const figures = await compareBeside(bench, [{ subject, requests }], () => startBareKoa(limit));
  return { figures, checks: [ratioOf(figures, 0.5)], notes: [`a page of ${Buffer.byteLength(text)} bytes`] };
}

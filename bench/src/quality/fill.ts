import { setTimeout as sleep } from 'node:timers/promises';
import { forEach } from '@commonplace/acceptance/dist/src/walk.js';
import { createFolders, createResource, createWorkspace } from '../fill.js';
import type { Client } from '../http.js';
import type { Collection } from './collection.js';

export interface Filled {
  readonly workspaceId: string;
  /** Documents of the collection by the ids of their resources. */
  readonly names: ReadonlyMap<string, string>;
  /** Seconds until all were created, and until all were found by their meaning. */
  readonly createdIn: number;
  readonly embeddedIn: number;
}

/** Fewer than the hits of one search are counted exactly up to. */
const PER_FOLDER = 500;
const WIDTH = 16;
const PATIENCE_MS = 1_800_000;

/** Creates the documents of a collection as a client of the API would, and waits until their texts are embedded. */
export async function fill(client: Client, { documents }: Collection): Promise<Filled> {
  const began = performance.now();
  const since = () => (performance.now() - began) / 1000;
  const workspaceId = await createWorkspace(client, 'Search quality');
  const folders = await createFolders(client, workspaceId, Math.ceil(documents.length / PER_FOLDER));
  const folderOf = (i: number) => folders[Math.floor(i / PER_FOLDER)] as string;
  const names = new Map<string, string>();
  await forEach(
    documents.map((document, i) => ({ ...document, parent: folderOf(i) })),
    WIDTH,
    async ({ id, title, text, parent }) => {
      const name = title.slice(0, 255) || 'Untitled';
      names.set(await createResource(client, { type: 'document', name, parent_id: parent, content: text }), id);
    },
  );
  const createdIn = since();
  const sought = documents.find(({ text }) => text !== '')?.text.slice(0, 100) ?? '';
  for (const [i, folder] of folders.entries()) {
    const inside = documents.slice(i * PER_FOLDER, (i + 1) * PER_FOLDER);
    await allEmbedded(client, folder, sought, inside.length);
  }
  return { workspaceId, names, createdIn, embeddedIn: since() };
}

interface Counted {
  readonly page?: { readonly total: number };
  readonly data: { readonly degraded: boolean };
}

async function allEmbedded(client: Client, folder: string, query: string, count: number): Promise<void> {
  const until = performance.now() + PATIENCE_MS;
  const body = { query, mode: 'semantic', parent_id: folder, limit: 1, highlight: false };
  for (;;) {
    const { status, text } = await client.send('POST', '/search', body);
    const { page, data } = JSON.parse(text) as Counted;
    if (status === 200 && !data.degraded && (page?.total ?? 0) >= count) return;
    if (performance.now() > until)
      throw new Error(`${page?.total} of ${count} documents are embedded: ${text.slice(0, 300)}`);
    await sleep(500);
  }
}

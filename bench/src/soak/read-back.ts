import { forEach } from '@commonplace/acceptance/dist/src/walk.js';
import type { Client } from '../http.js';
import { differences, hashOf, type KnownDocument, type Resource } from './known.js';

const WIDTH = 16;

/** Reads documents by id with their content. Returns the differences from their expected states. */
export async function readBack(client: Client, documents: Iterable<KnownDocument>): Promise<string[]> {
  const found = await forEach([...documents], WIDTH, async (known) =>
    (await compare(client, known)).map((fault) => `${known.id}: ${fault}`),
  );
  return found.flat();
}

/** Returns the differences between a document of the system and its expected state; empty if there are none. */
export async function compare(client: Client, known: KnownDocument): Promise<string[]> {
  const { status, text } = await client.send('GET', `/resources/${known.id}?include_trashed=true`);
  if (status !== 200) return [`lost: ${status} ${text.slice(0, 200)}`];
  const faults = differences(known, (JSON.parse(text) as { data: Resource }).data);
  // The content of a document in the trash can't be read.
  return known.state === 'trashed' ? faults : [...faults, ...(await compareContent(client, known))];
}

async function compareContent(client: Client, { id, contentHash, contentVersion }: KnownDocument): Promise<string[]> {
  const { status, text } = await client.send('GET', `/resources/${id}/content`);
  if (status !== 200) return [`content lost: ${status} ${text.slice(0, 200)}`];
  const { data } = JSON.parse(text) as { data: { readonly content: string; readonly version: number } };
  const faults = data.version === contentVersion ? [] : [`content of version ${data.version}, not ${contentVersion}`];
  return hashOf(data.content) === contentHash ? faults : [...faults, 'other content than what was written'];
}

const PAGE = 200;

/** Lists whole workspaces. Returns the documents that are missing, surplus, or differ from their expected states. */
export async function readLists(
  client: Client,
  workspaceId: string,
  documents: ReadonlyMap<string, KnownDocument>,
): Promise<string[]> {
  const found = new Map<string, Resource>();
  for (const state of ['active', 'trashed']) {
    for (let offset = 0; ; offset += PAGE) {
      const query = `state=${state}&type=document&limit=${PAGE}&offset=${offset}`;
      const page = await client.ask<{ items: Resource[] }>('GET', `/workspaces/${workspaceId}/resources?${query}`);
      for (const item of page.items) found.set(item.id, item);
      if (page.items.length < PAGE) break;
    }
  }
  const missing = [...documents.values()].flatMap((known) => {
    const item = found.get(known.id);
    const faults = item === undefined ? ['lost from its list'] : differences(known, item);
    return faults.map((fault) => `${known.id}: ${fault}`);
  });
  const strange = [...found.keys()].filter((id) => !documents.has(id));
  return [...missing, ...strange.map((id) => `${id}: listed, and nobody wrote it`)];
}

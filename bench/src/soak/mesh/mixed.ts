import { randomInt, randomUUID } from 'node:crypto';
import { createResource, createWorkspace, sentence } from '../../fill.js';
import type { Client } from '../../http.js';
import type { Kind } from './load.js';

const DOCUMENTS = 40;

/** Returns a word that occurs in only one document. */
function wordOf(number: number): string {
  return `document${String.fromCharCode(97 + (number % 26), 97 + Math.floor(number / 26))}`;
}

/**
 * Creates requests to every service that has endpoints. Nine of ten are reads, as with real users; the others are
 * writes and searches.
 */
export async function mixedLoad(client: Client): Promise<Kind[]> {
  const workspaceId = await createWorkspace(client, 'Rolling');
  const folder = await createResource(client, { type: 'folder', name: 'Load', workspace_id: workspaceId });
  const ids: string[] = [];
  for (let i = 0; i < DOCUMENTS; i++) {
    const content = sentence(i, 60);
    const name = `Load ${wordOf(i)}`;
    ids.push(await createResource(client, { type: 'document', name, parent_id: folder, content }));
  }
  const some = () => ids[randomInt(ids.length)] as string;
  const key = () => ({ 'idempotency-key': randomUUID() });
  const get = (name: string, weight: number, path: () => string): Kind => ({
    name,
    weight,
    send: (by) => by.send('GET', path()),
  });
  const put = (name: string, weight: number, method: string, path: () => string, body: () => object): Kind => ({
    name,
    weight,
    // Half of the writes have no idempotency key, so their clients can't find out the outcome if the answer is lost.
    send: (by) => by.send(method, path(), body(), randomInt(2) === 0 ? key() : {}),
  });
  const created = () => ({
    type: 'document',
    name: `New ${randomUUID()}`,
    parent_id: folder,
    content: sentence(1, 30),
  });
  return [
    get('read', 50, () => `/resources/${some()}`),
    get('content', 14, () => `/resources/${some()}/content`),
    get('list', 4, () => `/workspaces/${workspaceId}/resources?limit=20`),
    get('me', 12, () => '/me'),
    get('workspaces', 3, () => '/workspaces'),
    get('notifications', 8, () => '/notifications'),
    get('usage', 1, () => `/storage/usage?workspace_id=${workspaceId}`),
    put(
      'search',
      2,
      'POST',
      () => '/search',
      () => ({ query: wordOf(randomInt(DOCUMENTS)), workspace_ids: [workspaceId] }),
    ),
    put('create', 2, 'POST', () => '/resources', created),
    put(
      'rename',
      1,
      'PATCH',
      () => `/resources/${some()}`,
      () => ({ description: randomUUID() }),
    ),
    put(
      'write',
      1,
      'PATCH',
      () => `/resources/${some()}/content`,
      () => ({ content: sentence(randomInt(1e6), 60) }),
    ),
    put(
      'upload',
      1,
      'POST',
      () => '/files',
      () => ({
        name: `${randomUUID()}.txt`,
        parent_id: folder,
        content_base64: Buffer.from(sentence(2, 40)).toString('base64'),
      }),
    ),
    put(
      'workspace',
      1,
      'PATCH',
      () => `/workspaces/${workspaceId}`,
      () => ({ description: randomUUID() }),
    ),
  ];
}

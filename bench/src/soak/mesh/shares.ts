import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { api } from '@commonplace/acceptance/dist/src/client.js';
import { newAddress, PASSWORD, type SignedIn } from '@commonplace/acceptance/dist/src/people.js';
import { createResource } from '../../fill.js';
import type { Client } from '../../http.js';

/** Documents that were shared with a person, who must get one notification for each. */
export interface Shares {
  readonly ids: string[];
}

const PAUSE_MS = 40;

/** Creates an account and adds it to a workspace. Returns the account's id. */
export async function addPerson(client: Client, baseUrl: string, workspaceId: string): Promise<string> {
  const account = { email: newAddress('Reader'), password: PASSWORD, name: 'Reader' };
  const { data } = await api({ baseUrl }).post<SignedIn>('/auth/sign-up', account);
  await client.ask('POST', `/workspaces/${workspaceId}/members`, { user_id: data.user.id, role: 'viewer' });
  return data.user.id;
}

/** Creates documents and shares them with a person until stopped. Throws if a request fails. */
export async function runSharer(
  client: Client,
  workspaceId: string,
  userId: string,
  stopped: () => boolean,
): Promise<Shares> {
  const parent = await createResource(client, { type: 'folder', name: 'Shared', workspace_id: workspaceId });
  const ids: string[] = [];
  while (!stopped()) {
    const id = await createResource(client, { type: 'document', name: randomUUID(), parent_id: parent });
    await client.ask('POST', `/resources/${id}/permissions`, { principal_id: userId, role: 'editor' });
    ids.push(id);
    await sleep(PAUSE_MS);
  }
  return { ids };
}

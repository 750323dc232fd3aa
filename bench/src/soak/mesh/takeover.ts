import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createFolders, createWorkspace } from '../../fill.js';
import type { Client } from '../../http.js';
import type { Tally } from '../tally.js';
import type { Mesh } from './mesh.js';

/** Milliseconds within which another process must take over the consumer of the index. */
const TAKEN_OVER_MS = 5000;
/** Timeout of a round in milliseconds. */
const TIMEOUT_MS = 60_000;

/**
 * Kills the process that maintains the index while a standby is running, `rounds` times. Measures the time until
 * searches show changes again after the standby has taken over.
 */
export async function soakTakeover(mesh: Mesh, rounds: number, tally: Tally): Promise<void> {
  const client = mesh.balancer.client(mesh.apiKey);
  const workspaceId = await createWorkspace(client, 'Takeover');
  const [folder] = (await createFolders(client, workspaceId, 1)) as [string];
  for (let round = 1; round <= rounds; round++) {
    const before = await findable(client, folder, workspaceId);
    await mesh.add('search');
    const [lead] = mesh.pods('search');
    if (lead === undefined) throw new Error('Nobody searches.');
    await mesh.kill(lead);
    const after = await findable(client, folder, workspaceId);
    // The usual delay until search finds a change is not part of the takeover.
    const took = Math.max(0, after - before);
    tally.check(
      `another process takes a killed one's place in ${TAKEN_OVER_MS} ms`,
      took <= TAKEN_OVER_MS ? [] : [`${Math.round(took)} ms`],
    );
    console.log(
      `takeover ${round}/${rounds}: a change is found ${Math.round(after)} ms after a kill, ${Math.round(before)} ms before it`,
    );
  }
}

/** Returns the milliseconds until search finds a new document. */
async function findable(client: Client, folder: string, workspaceId: string): Promise<number> {
  const started = performance.now();
  const name = `takeover${randomUUID().replaceAll(/[^a-z]/g, '')}`;
  await client.ask('POST', '/resources', { type: 'document', name, parent_id: folder });
  const question = { query: name, mode: 'keyword', workspace_ids: [workspaceId] };
  for (;;) {
    const answer = await client.send('POST', '/search', question).catch(() => undefined);
    const took = performance.now() - started;
    if (answer?.status === 200 && (JSON.parse(answer.text) as { data: { items: unknown[] } }).data.items.length > 0) {
      return took;
    }
    if (took > TIMEOUT_MS) return took;
    await sleep(50);
  }
}

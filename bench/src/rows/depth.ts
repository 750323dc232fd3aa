import type { Bench, Measured } from '../bench.js';
import { createResource, createWorkspace } from '../fill.js';
import { compare } from '../measure.js';
import { type Row, ratioOf } from '../row.js';

/** Maximum depth of the tree. */
const DEPTH = 32;
/** Distance between ancestors that have grants of their own, from the restricted top downwards. */
const GRANTED_EVERY = 4;
/** Number of other grants on each of these ancestors. */
const OTHERS = 10;

/**
 * Measures reading a resource at maximum depth, below a restriction and ancestors with grants, compared with one at the
 * root.
 */
export async function measureDepth(bench: Bench): Promise<Row> {
  const { subject, client } = await bench.shared();
  const workspaceId = await createWorkspace(client, 'Deep');
  const root = await createResource(client, { type: 'document', name: 'At the root', workspace_id: workspaceId });
  const deep = await createChain(client, workspaceId);
  const requestsOf = (id: string) => [{ method: 'GET', path: `/api/v1/resources/${id}` }] as const;
  const figures = await compare(
    [
      { subject, about: `depth ${DEPTH}`, requests: requestsOf(deep) },
      { subject, about: 'the root', requests: requestsOf(root) },
    ],
    bench.pace,
    bench.say,
  );
  const { text } = await client.send('GET', `/resources/${deep}`);
  const notes = [`an answer of ${Buffer.byteLength(text)} bytes with ${DEPTH - 1} ancestors in its path`];
  return { figures, checks: [ratioOf(figures, 0.1, 0.25)], notes };
}

/**
 * Creates nested folders with a document at the end. Because of the restriction, the owner's role alone does not decide
 * access.
 */
async function createChain(client: Measured['client'], workspaceId: string): Promise<string> {
  const me = await client.ask<{ user: { id: string } }>('GET', '/me');
  let parent: object = { workspace_id: workspaceId };
  for (let level = 1; level < DEPTH; level++) {
    const mode = level === 1 ? { access_mode: 'restricted' } : {};
    const id = await createResource(client, { type: 'folder', name: `Level ${level}`, ...parent, ...mode });
    if (level % GRANTED_EVERY === 1) await grant(client, id, me.user.id);
    parent = { parent_id: id };
  }
  return createResource(client, { type: 'document', name: 'At the bottom', ...parent });
}

async function grant(client: Measured['client'], id: string, userId: string): Promise<void> {
  const others = Array.from({ length: OTHERS }, () => ({
    principal_type: 'agent',
    principal_id: crypto.randomUUID(),
    role: 'viewer',
  }));
  const own = { principal_type: 'user', principal_id: userId, role: 'manager' };
  await client.ask('POST', `/resources/${id}/permissions`, { grants: [own, ...others] });
}

import { forEach } from '@commonplace/acceptance/dist/src/walk.js';
import { createWorkspace, fillWorkspace } from '../fill.js';
import { JSON_BODY } from '../http.js';
import type { LoadRequest } from '../load/spec.js';
import type { Contestant } from '../measure.js';
import { queriesOf } from './pages.js';
import type { Caller, RealWorld } from './world.js';

/** A line of the table: requests of one caller, and the ratio to bare Koa that they should reach. */
export interface Work {
  readonly name: string;
  readonly contestant: Contestant;
  readonly floor?: number;
  readonly aim?: number;
}

/** Number of distinct queries, and of those that a round may use. A round of two seconds sends fewer. */
const QUERIES = 20_000;
const QUERIES_PER_ROUND = 2_000;
/** Number of writes that a round may send. Below, number of times that each page gets another text or name. */
const WRITES_PER_ROUND = 3_200;
const CHANGES = 8;
const WORKSPACES = 2_000;

export const get = (path: string): LoadRequest => ({ method: 'GET', path: `/api/v1${path}` });
export const send = (method: 'POST' | 'PATCH', path: string, body: object): LoadRequest => {
  return { method, path: `/api/v1${path}`, body: JSON.stringify(body), headers: JSON_BODY };
};

/** Returns a line for the owner and one for the member, with the same requests. */
function forBoth(
  { owner, member }: RealWorld,
  work: Omit<Work, 'contestant'>,
  requests: readonly LoadRequest[],
  perRound?: number,
): Work[] {
  return [owner, member].map((caller) => {
    const contestant = contestantOf(caller, work.name, requests, perRound);
    return { ...work, name: `${work.name}, ${caller.subject.name}`, contestant };
  });
}

export function contestantOf(
  { subject, headers }: Caller,
  about: string,
  requests: readonly LoadRequest[],
  perRound = requests.length,
): Contestant {
  const sent = requests.map((request) => ({ ...request, headers: { ...request.headers, ...headers } }));
  return { subject, about, requests: sent, perRound };
}

export function readsOf(world: RealWorld): Work[] {
  const { pages, folderIds, workspaceId } = world;
  const resources = pages.map(({ id }) => get(`/resources/${id}`));
  const contents = pages.map(({ id }) => get(`/resources/${id}/content`));
  const list = Array.from({ length: Math.min(20, Math.ceil(pages.length / 50)) }, (_, i) =>
    get(`/workspaces/${workspaceId}/resources?limit=50&offset=${i * 50}`),
  );
  const folders = folderIds.map((id) => get(`/workspaces/${workspaceId}/resources?parent_id=${id}&limit=50`));
  return [
    ...forBoth(world, { name: 'GET resource in a folder', floor: 0.4, aim: 0.6 }, resources),
    ...forBoth(world, { name: 'GET content', floor: 0.3, aim: 0.45 }, contents),
    ...forBoth(world, { name: 'list 50 with total', floor: 0.08, aim: 0.12 }, list),
    ...forBoth(world, { name: 'list a folder' }, folders),
  ];
}

/** Number of searches that are tried before a measurement, and the fraction of them that must find something. */
const TRIED = 20;
const SHARE_FOUND = 0.7;

/**
 * Returns the works that search. Throws if most of their queries find nothing, or are answered in another mode than
 * requested, because empty and degraded answers are fast.
 */
export async function searchesOf(world: RealWorld): Promise<Work[]> {
  const queries = queriesOf(world.pages, QUERIES);
  const search = (more: object) => {
    // A member's session selects no Org, so the request names the workspace to search.
    const asked = { limit: 10, workspace_ids: [world.workspaceId], ...more };
    return queries.map((query) => send('POST', '/search', { query, ...asked }));
  };
  const keyword = { name: 'keyword search, distinct queries, highlights', floor: 0.05, aim: 0.1 };
  const hybrid = { name: 'hybrid search, distinct queries', floor: 0.01, aim: 0.03 };
  const byWords = forBoth(world, keyword, search({ mode: 'keyword' }), QUERIES_PER_ROUND);
  const byBoth = forBoth(world, hybrid, search({ mode: 'hybrid' }), QUERIES_PER_ROUND);
  for (const work of byWords) await requireFinds(work, 'keyword');
  for (const work of byBoth) await requireFinds(work, world.embeddings === 'off' ? 'keyword' : 'hybrid');
  return [...byWords, ...byBoth];
}

async function requireFinds({ name, contestant }: Work, mode: string): Promise<void> {
  const { subject, requests } = contestant;
  let finding = 0;
  for (const { path, headers, body } of requests.slice(0, TRIED)) {
    const answer = await fetch(`${subject.url}${path}`, {
      method: 'POST',
      headers: { ...headers },
      body: body ?? null,
    });
    const { data } = (await answer.json()) as { data?: { items: unknown[]; mode: string } };
    if (data?.mode !== mode) throw new Error(`${name}: the answer is ${answer.status} in mode ${data?.mode}`);
    if (data.items.length > 0) finding++;
  }
  if (finding < TRIED * SHARE_FOUND) throw new Error(`${name}: only ${finding} of ${TRIED} queries find something`);
}

/**
 * Fills a workspace. Returns the work that searches its names in lists, one request at a time, each for another text.
 */
export async function namesOf({ client, owner }: RealWorld, many: number): Promise<Work[]> {
  const { workspaceId } = await fillWorkspace(client, 'Names', many, Math.ceil(many / 100));
  const name = `list with q= over ${many.toLocaleString('en')} resources, one at a time`;
  const requests = Array.from({ length: many }, (_, i) => {
    return get(`/workspaces/${workspaceId}/resources?limit=50&q=${(i * 7919) % many}`);
  });
  return [{ name, contestant: { ...contestantOf(owner, name, requests, QUERIES_PER_ROUND), connections: 1 } }];
}

export function writesOf(world: RealWorld): Work[] {
  const { pages, folderIds, owner } = world;
  // Each page gets the text of another page, and a different one each time, so that every write changes something.
  const changes = Array.from({ length: CHANGES }, (_, change) =>
    pages.map((page, i) => ({ page, change, other: pages[(i + change + 1) % pages.length] ?? page })),
  ).flat();
  const create = changes.map(({ other, change }, i) => {
    const body = { type: 'document', name: `${other.name} ${change}`, content: other.markdown };
    return send('POST', '/resources', { ...body, parent_id: folderIds[i % folderIds.length] });
  });
  const replace = changes.map(({ page, other }) =>
    send('PATCH', `/resources/${page.id}/content`, { markdown: other.markdown }),
  );
  const rename = changes.map(({ page, other, change }) =>
    send('PATCH', `/resources/${page.id}`, { name: `${other.name} ${change}` }),
  );
  const work = (name: string, requests: readonly LoadRequest[], floor: number, aim: number): Work => {
    return {
      name,
      floor,
      aim,
      contestant: contestantOf(owner, name, requests, WRITES_PER_ROUND),
    };
  };
  return [
    work('create a page of 4 KB, synced', create, 0.1, 0.2),
    work('replace content', replace, 0.1, 0.2),
    work('rename', rename, 0.15, 0.25),
  ];
}

/** Creates many workspaces in a world. Returns the work that lists them. */
export async function workspacesOf({ client, owner, orgId }: RealWorld): Promise<Work[]> {
  const numbers = Array.from({ length: WORKSPACES }, (_, i) => i);
  await forEach(numbers, 8, (i) => createWorkspace(client, `Workspace ${i}`, orgId));
  const name = `GET /workspaces at ${WORKSPACES.toLocaleString('en')} workspaces`;
  return [{ name, contestant: contestantOf(owner, name, [get('/workspaces')]) }];
}

// Measures whether a request with an id that exists elsewhere takes as long as one with an unknown id, because a
// difference would reveal which ids exist. Sends `--requests` of each in turns, and prints the medians and their ratio.
import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';
import { newKey } from '@commonplace/acceptance/dist/src/people.js';
import { startSystem } from '@commonplace/acceptance/dist/src/system.js';
import { createWorld, type Place, type World } from '@commonplace/acceptance/dist/src/world.js';
import { wholeNumber } from './options.js';

const { values } = parseArgs({
  options: { requests: { type: 'string', default: '2000' }, only: { type: 'string', default: '' } },
});
const requests = wholeNumber(values.requests);
/** Ratio above which a path is marked in the output. */
const MAX_RATIO = 1.05;
/** Number of initial requests of each kind that are not counted. */
const WARM_UP = 300;

/** A path with a placeholder for an id, and an existing id to which the caller has no access. */
interface ReadPath {
  readonly name: string;
  readonly pathOf: (id: string) => string;
  readonly foreign: string;
}

async function readPaths(place: Place): Promise<ReadPath[]> {
  const { document, file, folder, workspace, org, comment } = place;
  const snapshot = await place.newSnapshot(document);
  return [
    { name: 'resource', pathOf: (id) => `/resources/${id}`, foreign: document.id },
    { name: 'folder', pathOf: (id) => `/resources/${id}`, foreign: folder.id },
    { name: 'content', pathOf: (id) => `/resources/${id}/content`, foreign: document.id },
    { name: 'file', pathOf: (id) => `/resources/${id}/file`, foreign: file.id },
    { name: 'comments', pathOf: (id) => `/resources/${id}/comments`, foreign: document.id },
    { name: 'comment', pathOf: (id) => `/resources/${document.id}/comments?thread_id=${id}`, foreign: comment.id },
    { name: 'snapshots', pathOf: (id) => `/resources/${id}/snapshots`, foreign: document.id },
    { name: 'snapshot', pathOf: (id) => `/resources/${document.id}/snapshots/${id}`, foreign: snapshot.id },
    { name: 'workspace', pathOf: (id) => `/workspaces/${id}`, foreign: workspace.id },
    { name: 'tags of a workspace', pathOf: (id) => `/workspaces/${id}/tags`, foreign: workspace.id },
    { name: 'org', pathOf: (id) => `/orgs/${id}`, foreign: org.id },
    { name: 'members of an org', pathOf: (id) => `/orgs/${id}/members`, foreign: org.id },
  ];
}

/** Returns the milliseconds until the answer has been read, and its status. */
async function timed(url: string, headers: Record<string, string>): Promise<{ ms: number; status: number }> {
  const since = performance.now();
  const answer = await fetch(url, { headers });
  await answer.arrayBuffer();
  return { ms: performance.now() - since, status: answer.status };
}

const median = (times: number[]): number => times.sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;

async function measure(world: World, { name, pathOf, foreign }: ReadPath, key: string): Promise<boolean> {
  const headers = { Authorization: `Bearer ${key}` };
  const base = `${world.system.baseUrl}/api/v1`;
  const times: { foreign: number[]; unknown: number[] } = { foreign: [], unknown: [] };
  const statuses = new Set<number>();
  for (let i = 0; i < WARM_UP + requests; i++) {
    // The order alternates, so that neither kind always comes second.
    const kinds = i % 2 === 0 ? (['foreign', 'unknown'] as const) : (['unknown', 'foreign'] as const);
    for (const kind of kinds) {
      const { ms, status } = await timed(base + pathOf(kind === 'foreign' ? foreign : randomUUID()), headers);
      statuses.add(status);
      if (i >= WARM_UP) times[kind].push(ms);
    }
  }
  const [known, unknown] = [median(times.foreign), median(times.unknown)];
  const ratio = Math.max(known, unknown) / Math.min(known, unknown);
  const verdict = ratio <= MAX_RATIO ? '' : `  above ${MAX_RATIO}`;
  const figures = `foreign ${known.toFixed(3)} ms, unknown ${unknown.toFixed(3)} ms, ratio ${(known / unknown).toFixed(3)}`;
  console.log(`${name.padEnd(20)} ${[...statuses].join('/')}  ${figures}${verdict}`);
  return ratio <= MAX_RATIO;
}

const system = await startSystem({ COMMONPLACE_SIGN_UP: 'open', COMMONPLACE_RATE_LIMITS: 'default=1000000' });
try {
  const world = await createWorld(system);
  const { key } = await newKey(world.stranger, world.everyScope);
  for (const path of await readPaths(world.closed)) {
    if (values.only === '' || path.name === values.only) await measure(world, path, key);
  }
} finally {
  await system.stop();
}

import type { Bench } from '../bench.js';
import { compare, type Figures } from '../measure.js';
import { measureEmbedding } from '../real/embedding.js';
import { readPages } from '../real/pages.js';
import { ratioTo, tableOf } from '../real/table.js';
import { namesOf, readsOf, searchesOf, type Work, workspacesOf, writesOf } from '../real/works.js';
import { createRealWorld, type RealWorld, type WorldOptions } from '../real/world.js';
import type { Check, Row } from '../row.js';
import { startBareKoa } from '../subjects/limit.js';
import { type PocketBase, startPocketBase } from '../subjects/pocketbase.js';

/**
 * Measures everyday work of users on real pages in folders. Reads and searches go to a system with the embeddings of
 * `npm start`. Writes go to a system without embeddings, because embedding a page costs a hundred times as much as
 * writing it and is measured separately. All are compared with bare Koa, which answers `GET` of one of the resources.
 */
export async function measureReal(bench: Bench): Promise<Row> {
  const pages = readPages(bench.options.pages);
  const asked = bench.options.work;
  const worlds: RealWorld[] = [];
  const start = async (name: string, options: WorldOptions, count = pages.pages.length) => {
    const world = await createRealWorld(bench, name, { ...pages, pages: pages.pages.slice(0, count) }, options);
    worlds.push(world);
    return world;
  };
  const works: Work[] = [];
  const checks: Check[] = [];
  let peer: PocketBase | undefined;
  const notes = [
    `${pages.pages.length} pages of ${pages.source} in ${pages.folders.length} folders; data on disk`,
    `embeddings of reads and searches: ${bench.options.embeddings}`,
    'CPU is that of all processes for a request, until the system was idle again',
  ];
  try {
    if (asked.has('reads') || asked.has('searches') || asked.has('embedding')) {
      const reading = await start('reading', { embeddings: bench.options.embeddings });
      if (asked.has('embedding')) checks.push(...(await measureEmbedding(reading)));
      if (asked.has('reads')) works.push(...readsOf(reading));
      if (asked.has('searches')) works.push(...(await searchesOf(reading)));
    }
    if (asked.has('writes')) {
      works.push(...writesOf(await start('writing', { embeddings: 'off' })));
      peer = await startPocketBase(bench.folder('pocketbase'), pages.pages);
      works.push(...peer.works.map((contestant) => ({ name: `PocketBase: ${contestant.about}`, contestant })));
    }
    if (asked.has('names')) {
      works.push(...(await namesOf(await start('names', { embeddings: 'off' }, 1), bench.options.many)));
    }
    if (asked.has('workspaces'))
      works.push(...(await workspacesOf(await start('workspaces', { embeddings: 'off' }, 1))));
    const [world] = worlds;
    if (world === undefined) throw new Error('There is nothing to measure.');
    const { limit, figures } = await compareWithKoa(bench, world, works);
    checks.push(...checksOf(works, figures, limit), ...latenciesOf(works, figures));
    return { figures: [], checks, notes, table: tableOf(works, figures, limit) };
  } finally {
    await peer?.stop();
    for (const world of worlds) await world.stop();
  }
}

async function compareWithKoa(bench: Bench, { client, pages: [page] }: RealWorld, works: readonly Work[]) {
  if (page === undefined) throw new Error('There is no page.');
  const path = `/resources/${page.id}`;
  const { status, text } = await client.send('GET', path);
  const koa = await startBareKoa({ method: 'GET', path: '/api/v1/resources/:id', status, answers: [text] });
  try {
    const requests = [{ method: 'GET', path: `/api/v1${path}` } as const];
    const contestants = [{ subject: koa, requests }, ...works.map(({ contestant }) => contestant)];
    const [limit, ...figures] = await compare(contestants, bench.pace, bench.say);
    return { limit: limit as Figures, figures };
  } finally {
    await koa.stop();
  }
}

/** Limits in milliseconds for a work that is measured one request at a time. */
const ONE_AT_A_TIME = { floor: 10, aim: 3 };

function latenciesOf(works: readonly Work[], figures: readonly Figures[]): Check[] {
  return works.flatMap(({ name, contestant }, i): Check[] => {
    const one = figures[i];
    if (contestant.connections !== 1 || one === undefined) return [];
    return [{ what: name, value: one.p50, unit: 'ms', right: 'at most', ...ONE_AT_A_TIME }];
  });
}

export function checksOf(works: readonly Work[], figures: readonly Figures[], limit: Figures): Check[] {
  return works.flatMap(({ name, floor, aim }, i): Check[] => {
    const one = figures[i];
    if (floor === undefined || one === undefined) return [];
    return [{ what: name, value: ratioTo(one, limit), unit: '', right: 'at least', floor, aim }];
  });
}

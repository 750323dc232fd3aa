import type { Bench } from '../bench.js';
import { compare, type Figures } from '../measure.js';
import { readPages } from '../real/pages.js';
import { tableOf } from '../real/table.js';
import { readsOf, searchesOf, type Work, writesOf } from '../real/works.js';
import { createRealWorld, type RealWorld } from '../real/world.js';
import type { Check, Row } from '../row.js';
import { withServers } from '../servers.js';
import { startKoaGrpc } from '../subjects/limit.js';
import { checksOf } from './real.js';

/** Limits of the works on a mesh, by the beginning of their names: ratios to Koa → grpc-js, or processor time. */
const FLOORS: Readonly<Record<string, { floor?: number; aim?: number; cpuMs?: number }>> = {
  'GET resource in a folder': { floor: 0.45, aim: 0.6 },
  'list 50 with total': { cpuMs: 10 },
  'keyword search': { cpuMs: 12 },
  'create a page': { cpuMs: 6 },
};

/** Measures the same work on a mesh whose servers keep their data on the disk. */
export async function measureRealMesh(bench: Bench): Promise<Row> {
  return withServers(bench, ['mongo', 'nats'], (settings) => measureWith(bench, settings));
}

async function measureWith(bench: Bench, settings: Readonly<Record<string, string>>): Promise<Row> {
  const pages = readPages(bench.options.pages);
  const world = await createRealWorld(bench, 'mesh', pages, { embeddings: 'off', mesh: true, settings });
  try {
    const works = [...readsOf(world), ...(await searchesOf(world)), ...writesOf(world)].flatMap(floored);
    const { limit, figures } = await compareWithGrpc(bench, world, works);
    const notes = [
      `${pages.pages.length} pages of ${pages.source}; CPU is that of the gateway and the services, without the servers`,
    ];
    const checks = [...checksOf(works, figures, limit), ...cpuChecksOf(works, figures)];
    return { figures: [], checks, notes, table: tableOf(works, figures, limit) };
  } finally {
    await world.stop();
  }
}

/** Returns the work with its limits on a mesh; nothing if it is not measured there. */
function floored({ name, contestant }: Work): Work[] {
  const bounds = boundsOf(name);
  return bounds === undefined ? [] : [{ name, contestant, ...bounds }];
}

function boundsOf(name: string) {
  const known = Object.keys(FLOORS).find((beginning) => name.startsWith(beginning));
  return known === undefined ? undefined : FLOORS[known];
}

function cpuChecksOf(works: readonly Work[], figures: readonly Figures[]): Check[] {
  return works.flatMap(({ name }, i): Check[] => {
    const [floor, one] = [boundsOf(name)?.cpuMs, figures[i]];
    if (floor === undefined || one === undefined) return [];
    const what = `processor time of ${name}`;
    return [{ what, value: one.cpuPer1000 / 1000, unit: 'ms', right: 'at most', floor }];
  });
}

async function compareWithGrpc(bench: Bench, { client, pages }: RealWorld, works: readonly Work[]) {
  const some = pages.slice(0, 256);
  const answers: string[] = [];
  for (const { id } of some) answers.push((await client.send('GET', `/resources/${id}`)).text);
  const ids = some.map(({ id }) => id);
  const spec = { method: 'GET', path: '/api/v1/resources/:id', status: 200, answers } as const;
  const koa = await startKoaGrpc(spec, ids);
  try {
    const requests = ids.map((id) => ({ method: 'GET', path: `/api/v1/resources/${id}` }) as const);
    const contestants = [{ subject: koa, requests }, ...works.map(({ contestant }) => contestant)];
    const [limit, ...figures] = await compare(contestants, bench.pace, bench.say);
    return { limit: limit as Figures, figures };
  } finally {
    await koa.stop();
  }
}

import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from '@commonplace/acceptance/dist/src/system.js';
import type { Bench } from '../bench.js';
import { compare, type Figures } from '../measure.js';
import { readPages } from '../real/pages.js';
import { tableOf } from '../real/table.js';
import { readsOf, searchesOf, type Work, writesOf } from '../real/works.js';
import { createRealWorld, type RealWorld } from '../real/world.js';
import { type Check, type Row, Skipped } from '../row.js';
import { startKoaGrpc } from '../subjects/limit.js';
import { checksOf } from './real.js';

/** Limits of the works on a mesh, by the beginning of their names: ratios to Koa → grpc-js, or processor time. */
const FLOORS: Readonly<Record<string, { floor?: number; aim?: number; cpuMs?: number }>> = {
  'GET resource in a folder': { floor: 0.45, aim: 0.6 },
  'list 50 with total': { cpuMs: 10 },
  'keyword search': { cpuMs: 12 },
  'create a page': { cpuMs: 6 },
};

interface Server {
  readonly port: number;
  stop(): Promise<void>;
}

interface ServerScript {
  installTool(name: string): Promise<string>;
  startMongo(program: string, data: string): Promise<Server>;
  startNats(program: string, data: string): Promise<Server>;
}

/** Measures the same works as the row `real` on a mesh whose servers keep their data on disk. */
export async function measureRealMesh(bench: Bench): Promise<Row> {
  if (!bench.options.mesh) throw new Skipped('pass --mesh, which starts servers of MongoDB’s protocol and NATS');
  const home = mkdtempSync(join(ROOT, 'bench/data/servers-'));
  const script = (await import(pathToFileURL(join(ROOT, 'scripts/servers.mjs')).href)) as ServerScript;
  const running: Server[] = [];
  try {
    const mongo = await script.startMongo(await script.installTool('secantus'), join(home, 'mongo'));
    running.push(mongo);
    const nats = await script.startNats(await script.installTool('nats'), join(home, 'nats'));
    running.push(nats);
    return await measureWith(bench, {
      COMMONPLACE_MONGODB_URL: `mongodb://127.0.0.1:${mongo.port}/?replicaSet=secantus`,
      COMMONPLACE_NATS_URL: `nats://127.0.0.1:${nats.port}`,
    });
  } finally {
    for (const server of running) await server.stop();
    rmSync(home, { recursive: true, force: true });
  }
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

import { randomBytes } from 'node:crypto';
import { type Bench, CONNECTIONS, type Measured } from '../bench.js';
import { compare, type Figures } from '../measure.js';
import { readPages } from '../real/pages.js';
import { contestantOf, readsOf, searchesOf, type Work, writesOf } from '../real/works.js';
import { type Caller, createRealWorld, type RealWorld } from '../real/world.js';
import type { Check, Row } from '../row.js';
import { withServers } from '../servers.js';

/** Numbers of replicas of the gateway and of each service. */
const REPLICAS = [1, 2, 4] as const;
/** Beginnings of the names of the works that are measured, as the owner. */
const MEASURED = ['GET resource', 'list 50', 'keyword search', 'create a page'];
/** Most that a request may cost beside one replica. */
const MOST_RATIO = 1.1;
const SHARES = ['mongo', 'nats', 's3', 'typesense'] as const;

interface Phase {
  readonly replicas: number;
  readonly figures: readonly Figures[];
}

/**
 * Measures what a request costs, and how many there are in a second, on 1, 2 and 4 replicas of the gateway and of all
 * services over the same servers. Each gateway calls the services that were started with it.
 */
export async function measureScaleOut(bench: Bench): Promise<Row> {
  return withServers(bench, SHARES, async (env) => {
    const settings = { ...env, COMMONPLACE_MESH_KEY: randomBytes(32).toString('hex') };
    const pages = readPages(bench.options.pages);
    const options = { embeddings: 'off', mesh: true, settings } as const;
    const world = await createRealWorld(bench, NAME, pages, options);
    const replicas = [world.measured];
    try {
      const works = [...readsOf(world), ...(await searchesOf(world)), ...writesOf(world)].filter(isMeasured);
      const phases: Phase[] = [];
      for (const count of REPLICAS) {
        while (replicas.length < count) {
          replicas.push(await bench.start(NAME, { mesh: true, settings: { ...WORLD_SETTINGS, ...settings } }));
          bench.say(`replica ${replicas.length} of everything is ready`);
        }
        phases.push({ replicas: count, figures: await measureOn(bench, world, replicas, works) });
      }
      return rowOf(works, phases, pages.pages.length);
    } finally {
      for (const { subject } of replicas.slice(1)) await subject.stop();
      await world.stop();
    }
  });
}

const NAME = 'scale-out';
/** As in the first replica. */
const WORLD_SETTINGS = { COMMONPLACE_SIGN_UP: 'open', COMMONPLACE_EMBEDDINGS: 'off' };

function isMeasured({ name }: Work): boolean {
  return MEASURED.some((beginning) => name.startsWith(beginning)) && !name.endsWith('member');
}

function measureOn(bench: Bench, { owner }: RealWorld, replicas: readonly Measured[], works: readonly Work[]) {
  const [first, ...others] = replicas.map(({ subject }) => subject);
  const subject = {
    ...owner.subject,
    name: `${replicas.length} of each`,
    otherUrls: others.map(({ url }) => url),
    pids: () => [first, ...others].flatMap((one) => one?.pids() ?? []),
  };
  const caller: Caller = { ...owner, subject };
  const contestants = works.map(({ name, contestant: { requests, perRound } }) =>
    contestantOf(caller, name, requests, perRound),
  );
  return compare(contestants, { ...bench.pace, connections: CONNECTIONS }, bench.say);
}

function rowOf(works: readonly Work[], phases: readonly Phase[], pages: number): Row {
  const headings = ['work', ...REPLICAS.flatMap((count) => [`CPU ms on ${count}`, `requests/s on ${count}`])];
  const lines = works.map(({ name }, i) => [
    name,
    ...phases.flatMap(({ figures }) => {
      const { cpuPer1000 = Number.NaN, requestsPerSecond = Number.NaN } = figures[i] ?? {};
      return [(cpuPer1000 / 1000).toFixed(2), Math.round(requestsPerSecond).toLocaleString('en')];
    }),
  ]);
  const [one, ...more] = phases;
  const checks = works.flatMap(({ name }, i): Check[] =>
    more.map(({ replicas, figures }) => {
      const value = (figures[i]?.cpuPer1000 ?? Number.NaN) / (one?.figures[i]?.cpuPer1000 ?? Number.NaN);
      const what = `processor time of ${name} on ${replicas} replicas beside 1`;
      return { what, value, unit: '×', right: 'at most', floor: MOST_RATIO };
    }),
  );
  const table = [headings, headings.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`);
  const notes = [`${pages} pages; CPU is that of all replicas, without the servers`];
  return { figures: [], checks, notes, table };
}

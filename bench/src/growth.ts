// Measures the processor time of requests in workspaces, and among workspaces, of different sizes, and plots it: `npm
// run bench:growth`. Systems of all sizes run side by side and are measured in turns.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT } from '@commonplace/acceptance/dist/src/system.js';
import { type Bench, CONNECTIONS, createBench, type Measured } from './bench.js';
import { multiplyDocuments, multiplyWorkspaces } from './growth/clone.js';
import { type Line, type Panel, plot } from './growth/plot.js';
import { openClient } from './http.js';
import type { LoadRequest } from './load/spec.js';
import { type Contestant, compare, type Figures } from './measure.js';
import { readOptions, wholeNumber } from './options.js';
import { readPages } from './real/pages.js';
import { contestantOf, get, send } from './real/works.js';
import { createRealWorld, type RealWorld } from './real/world.js';
import { machineLine } from './report.js';
import { measureScale } from './search/scale.js';
import { startSystem } from './system.js';

const { values } = parseArgs({
  options: {
    sizes: { type: 'string', default: '1000,20000,200000' },
    workspaces: { type: 'string', default: '10,2000' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    pages: { type: 'string', default: '300' },
  },
});
const listOf = (text: string): number[] => text.split(',').map(wholeNumber);
const PICTURE = join(ROOT, 'docs/pictures/growth.svg');
const DATA = join(ROOT, 'docs/pictures/growth.json');
/**
 * The check of the index is off, because the index does not contain the records that are written directly into the
 * file. `bench:search:scale` measures the index.
 */
const SETTINGS = { COMMONPLACE_SIGN_UP: 'open', COMMONPLACE_INDEX_CHECK_MINUTES: '0' };

const say = (line: string) => process.stderr.write(`  … ${line}\n`);
const options = { ...readOptions([], []), rounds: wholeNumber(values.rounds), seconds: wholeNumber(values.seconds) };
const parent = join(ROOT, 'bench/data');
mkdirSync(parent, { recursive: true });
const home = mkdtempSync(join(parent, 'growth-'));
const bench = createBench(options, say);

/** Fills a world, multiplies its documents while the system is stopped, and starts it again. */
async function worldOf(
  name: string,
  count: number,
  multiply: (place: string, workspaceId: string) => void,
): Promise<RealWorld> {
  const place = join(home, name);
  const started: Bench = { ...bench, start: async () => measuredOn(place) };
  const world = await createRealWorld(started, name, readPages(count), { embeddings: 'off' });
  const { url } = world.measured.subject;
  await world.stop();
  multiply(place, world.workspaceId);
  const measured = await measuredOn(place, Number(new URL(url).port));
  const callerOf = ({ headers, subject }: RealWorld['owner']) => ({
    headers,
    subject: { ...subject, pids: measured.system.pids },
  });
  const { owner, member } = world;
  return { ...world, measured, owner: callerOf(owner), member: callerOf(member), stop: measured.subject.stop };
}

async function measuredOn(place: string, port?: number): Promise<Measured> {
  const system = await startSystem({ home: place, settings: SETTINGS, ...(port !== undefined && { port }) });
  const client = openClient(system.baseUrl, system.apiKey, CONNECTIONS);
  const stop = async () => {
    client.close();
    await system.stop();
  };
  const subject = { name: place, url: system.baseUrl, apiKey: system.apiKey, pids: system.pids, stop };
  return { system, client, subject };
}

type RealPage = RealWorld['pages'][number];
type Works = ReadonlyMap<string, Contestant>;

/** Returns the works of a world in whose workspace the names of resources have numbers below `numbers`. */
function worksOf({ owner, member, pages, folderIds, workspaceId }: RealWorld, numbers: number): Works {
  const resources = pages.map(({ id }) => get(`/resources/${id}`));
  const contents = pages.map(({ id }) => get(`/resources/${id}/content`));
  const list = Array.from({ length: 10 }, (_, i) =>
    get(`/workspaces/${workspaceId}/resources?limit=50&offset=${i * 50}`),
  );
  const named = Array.from({ length: 500 }, (_, i) => {
    return get(`/workspaces/${workspaceId}/resources?limit=50&q=${encodeURIComponent(`${(i * 7919) % numbers}`)}`);
  });
  const some = (make: (page: RealPage, i: number) => LoadRequest) =>
    Array.from({ length: 8 }, (_, change) => pages.map((page, i) => make(page, change * pages.length + i))).flat();
  const create = some(({ name, markdown }, i) => {
    const body = { type: 'document', name: `${name} ${i}`, content: markdown };
    return send('POST', '/resources', { ...body, parent_id: folderIds[i % folderIds.length] });
  });
  const replace = some(({ id }, i) => {
    const { markdown } = pages[(i + Math.floor(i / pages.length) + 1) % pages.length] as RealPage;
    return send('PATCH', `/resources/${id}/content`, { markdown });
  });
  const rename = some(({ id, name }, i) => send('PATCH', `/resources/${id}`, { name: `${name} ${i}` }));
  return new Map([
    ['GET resource', contestantOf(owner, '', resources)],
    ['GET content', contestantOf(owner, '', contents)],
    ['list 50, owner', contestantOf(owner, '', list)],
    ['list 50, by grants', contestantOf(member, '', list)],
    ['list with q=', { ...contestantOf(owner, '', named, 100), connections: 1 }],
    ['create', contestantOf(owner, '', create, 800)],
    ['replace content', contestantOf(owner, '', replace, 800)],
    ['rename', contestantOf(owner, '', rename, 800)],
  ]);
}

/** Measures the same works in worlds of different sizes. Returns a line for each work. */
async function measure(worlds: readonly { readonly size: number; readonly works: Works }[]): Promise<Line[]> {
  const all = worlds.flatMap(({ size, works }) => [...works].map(([name, contestant]) => ({ size, name, contestant })));
  const contestants = all.map(({ size, name, contestant }) => ({ ...contestant, about: `${name} at ${size}` }));
  const figures = await compare(contestants, { ...bench.pace, connections: 8 }, say);
  const value = (i: number) => (figures[i] as Figures).cpuPer1000 / 1000;
  const names = [...new Set(all.map(({ name }) => name))];
  return names.map((name) => ({
    name,
    points: all.flatMap((one, i) => (one.name === name ? [{ size: one.size, value: value(i) }] : [])),
  }));
}

/** Measures searches in indexes of different sizes, for a caller who may read a tenth. Returns a line for each mode. */
async function measureSearches(sizes: readonly number[]): Promise<Line[]> {
  const points = new Map<string, { size: number; value: number }[]>();
  for (const size of sizes) {
    const figures = await measureScale({ passages: size, perDocument: 4, questions: 300 }, say);
    for (const { mode, cpuMs } of figures) points.set(mode, [...(points.get(mode) ?? []), { size, value: cpuMs }]);
  }
  return [...points].map(([name, points]) => ({ name, points }));
}

const stops: (() => Promise<void>)[] = [];
try {
  const sized: { size: number; works: Works }[] = [];
  for (const size of listOf(values.sizes)) {
    const world = await worldOf(`${size}`, wholeNumber(values.pages), (...at) => multiplyDocuments(...at, size));
    stops.push(world.stop);
    sized.push({ size, works: worksOf(world, size) });
    say(`${size} resources are there`);
  }
  const many: { size: number; works: Works }[] = [];
  for (const size of listOf(values.workspaces)) {
    const pages = wholeNumber(values.pages);
    const world = await worldOf(`${size}-workspaces`, pages, (...at) => multiplyWorkspaces(...at, size));
    stops.push(world.stop);
    const workspaces = contestantOf(world.owner, '', [get('/workspaces')]);
    many.push({ size, works: new Map([...worksOf(world, pages), ['GET /workspaces', workspaces]]) });
    say(`${size} workspaces are there`);
  }
  const panels: Panel[] = [
    {
      title: 'Processor time of a request by the size of its workspace',
      across: 'resources',
      lines: await measure(sized),
    },
    {
      title: 'Processor time of a request by the number of workspaces',
      across: 'workspaces',
      lines: await measure(many),
    },
    {
      title: 'Processor time of a search by the number of passages in the index',
      across: 'passages',
      lines: await measureSearches(listOf(values.sizes)),
    },
  ];
  const machine = machineLine();
  mkdirSync(join(ROOT, 'docs/pictures'), { recursive: true });
  writeFileSync(DATA, `${JSON.stringify({ machine, panels }, null, 2)}\n`);
  writeFileSync(PICTURE, plot(panels, `Measured by npm run bench:growth on ${machine}`));
  for (const { title, lines } of panels) {
    console.log(title);
    for (const { name, points } of lines) {
      console.log(`  ${name}: ${points.map(({ size, value }) => `${size}: ${value.toFixed(2)} ms`).join(', ')}`);
    }
  }
} finally {
  for (const stop of stops) await stop();
  await bench.close();
  rmSync(home, { recursive: true, force: true });
}

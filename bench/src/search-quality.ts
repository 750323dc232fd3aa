// How well searches answer questions whose answers people have judged, through the API, in all modes.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, testData } from '@commonplace/acceptance/dist/src/system.js';
import { openClient } from './http.js';
import { askAll, MODES, type Mode, type Quality } from './quality/ask.js';
import { type Collection, readCollection } from './quality/collection.js';
import { fill } from './quality/fill.js';
import { machineLine } from './report.js';
import { startSystem } from './system.js';

/** What nDCG@10 has to reach, and what it should. */
const FLOORS: Record<Mode, number> = { keyword: 0.363, semantic: 0.356, hybrid: 0.405 };
const AIM = 0.43;
const CONNECTIONS = 16;

async function measure(collection: Collection) {
  mkdirSync(join(ROOT, 'bench/data'), { recursive: true });
  const home = mkdtempSync(join(ROOT, 'bench/data/quality-'));
  const system = await startSystem({ home, settings: { COMMONPLACE_EMBEDDINGS: 'local' } });
  const client = openClient(system.baseUrl, system.apiKey, CONNECTIONS);
  try {
    const { workspaceId, names, ...times } = await fill(client, collection);
    console.log(
      `${names.size} documents created in ${times.createdIn.toFixed(1)} s, embedded after ${times.embeddedIn.toFixed(1)} s`,
    );
    const qualities: Quality[] = [];
    for (const mode of MODES) qualities.push(await askAll(client, mode, workspaceId, collection, names));
    return { ...times, documents: names.size, queries: collection.queries.length, modes: qualities };
  } finally {
    client.close();
    await system.stop();
    rmSync(home, { recursive: true, force: true });
  }
}

function print(qualities: readonly Quality[]): void {
  console.log(['', 'nDCG@10', 'recall@50', 'p50 ms', 'p95 ms', 'floor'].map(cell).join(''));
  for (const { mode, ndcg10, recall50, p50, p95 } of qualities) {
    const floor = `${FLOORS[mode]} ${ndcg10 >= FLOORS[mode] ? 'met' : 'MISSED'}`;
    console.log(
      [mode, ndcg10.toFixed(4), recall50.toFixed(4), p50.toFixed(1), p95.toFixed(1), floor].map(cell).join(''),
    );
  }
  const [keyword = 0, semantic = 0, hybrid = 0] = qualities.map(({ ndcg10 }) => ndcg10);
  const above = hybrid > keyword && hybrid > semantic ? 'met' : 'MISSED';
  console.log(`hybrid above both of its parts: ${above}; aim ${AIM}: ${hybrid >= AIM ? 'met' : 'MISSED'}`);
}

function cell(text: string): string {
  return text.padEnd(14);
}

function write(results: object): string {
  const folder = join(ROOT, 'bench/results');
  mkdirSync(folder, { recursive: true });
  const date = new Date().toISOString();
  const file = join(folder, `search-${date.replaceAll(':', '-')}.json`);
  writeFileSync(file, `${JSON.stringify({ date, machine: machineLine(), ...results }, null, 2)}\n`);
  return file;
}

const folder = join(testData() ?? '', 'cranfield');
const collection = readCollection(folder);
if (collection === undefined) {
  console.log(`Skipped: there is no collection to ask. COMMONPLACE_TEST_DATA names the folder that has cranfield/.`);
} else {
  console.log(machineLine());
  const results = await measure(collection);
  print(results.modes);
  console.log(`\nWritten to ${write(results)}`);
}

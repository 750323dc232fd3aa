// Measures how well the search service answers questions with answers graded by people, compared with simple rankings
// of the same texts with the same stemmer and model.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT } from '@commonplace/acceptance/dist/src/system.js';
import { openLocalEmbedder } from '@commonplace/search/dist/src/embedding/local/embedder.js';
import { bundledFolder, readModel } from '@commonplace/search/dist/src/embedding/local/model.js';
import { cached } from './quality/cached.js';
import { COLLECTIONS, placesOf, readCollection } from './quality/collections.js';
import { type Compared, compare, type Means, PARTS } from './quality/compare.js';
import type { Estimate } from './quality/measures.js';
import { machineLine } from './report.js';

const { values } = parseArgs({ options: { only: { type: 'string' } } });
const names = values.only?.split(',') ?? Object.keys(COLLECTIONS);
const data = join(ROOT, 'bench/data/quality');
const home = join(data, `run-${process.pid}`);
const model = openLocalEmbedder(readModel(bundledFolder()), { threads: 2, idleMs: 60_000 });
const embedder = cached(model, join(data, 'vectors'));
const results: Record<string, readonly Compared[]> = {};

console.log(machineLine());
console.log(row(['nDCG@10', '', '', ...PARTS, 'p50 ms', 'p95 ms']));
for (const name of names) {
  const collection = readCollection(name);
  if (collection === undefined) {
    console.log(`${name}: skipped, none of ${placesOf(name).join(', ')} has ${COLLECTIONS[name]?.files.join(', ')}`);
    continue;
  }
  results[name] = await compare(collection, embedder, join(home, name));
  for (const compared of results[name]) print(name, compared);
}
await model.close();
rmSync(home, { recursive: true, force: true });
console.log(`\nWritten to ${write(results)}`);

function print(name: string, { mode, ours, plain, p50, p95 }: Compared): void {
  console.log(row([name, mode, 'ours', ...figures(ours), p50.toFixed(1), p95.toFixed(1)]));
  for (const [way, means] of Object.entries(plain)) {
    const below = PARTS.filter((part) => ours[part] < means[part]).map((part) => `${part} BELOW`);
    console.log(row(['', '', way, ...figures(means), [describeLead(means.lead), ...below].join('  ')]));
  }
}

/** Describes how much better ours are, with the standard error: less than twice the error may be chance. */
function describeLead({ mean, error }: Estimate): string {
  const sign = mean < 0 ? '-' : '+';
  return `ours ${sign}${Math.abs(mean).toFixed(4)} ± ${error.toFixed(4)}`;
}

function figures(means: Means): string[] {
  return PARTS.map((part) => means[part].toFixed(3));
}

function row(cells: readonly string[]): string {
  return cells
    .map((cell, i) => cell.padEnd(i === 2 ? 18 : 11))
    .join('')
    .trimEnd();
}

function write(measured: object): string {
  const folder = join(ROOT, 'bench/results');
  mkdirSync(folder, { recursive: true });
  const date = new Date().toISOString();
  const file = join(folder, `search-${date.replaceAll(':', '-')}.json`);
  writeFileSync(file, `${JSON.stringify({ date, machine: machineLine(), collections: measured }, null, 2)}\n`);
  return file;
}

// `npm run examples`: starts a server, sends one request for each operation of the OpenAPI document, and writes the
// requests with their answers to docs/api/examples.json, which the documentation shows.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { STANDING } from '../standing.js';
import { ROOT, startSystem } from '../system.js';
import { createWorld } from '../world.js';
import { readOperations } from './description.js';
import { startEquipped } from './equipped.js';
import { type Exchange, record } from './record.js';

const FILE = join(ROOT, 'docs/api/examples.json');

const system = await startSystem(STANDING.open);
const equipped = await startEquipped();
try {
  const world = await createWorld(system);
  const operations = await readOperations(system);
  // Lists are recorded after the writes that fill them.
  operations.sort((a, b) => Number(a.method === 'GET') - Number(b.method === 'GET'));
  const exchanges: Record<string, Exchange> = {};
  for (const operation of operations) {
    exchanges[operation.operationId] = await record(world, equipped, operation);
  }
  const sorted = Object.fromEntries(Object.entries(exchanges).sort(([a], [b]) => (a < b ? -1 : 1)));
  mkdirSync(dirname(FILE), { recursive: true });
  writeFileSync(FILE, `${JSON.stringify(sorted, null, 1)}\n`);
  const failed = Object.entries(sorted).filter(([, { response }]) => response.status >= 400);
  console.log(
    `${operations.length} operations recorded; answered with an error: ${failed.map(([id]) => id).join(', ')}`,
  );
} finally {
  await equipped.stop();
  await system.stop();
}

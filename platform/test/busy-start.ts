// A process whose start keeps it busy for a while, so that signals are delivered only after the start.
import { contracts } from '../src/contracts/index.js';
import { main } from '../src/runtime/main.js';

const BUSY_MS = 1500;

const module = (name: string, begin?: () => Promise<void>) => ({
  ...{ name, config: {}, stores: false, calls: [] },
  start: async () => ({ implementations: [], runs: begin === undefined ? [] : [{ begin }] }),
});

async function beBusy(): Promise<void> {
  process.stdout.write('busy\n');
  for (const until = Date.now() + BUSY_MS; Date.now() < until; );
}

// A process with all services needs no other one.
const services = new Set(Object.values(contracts).map(({ owner }) => owner));
await main([...[...services].map((name) => module(name)), module('busy', beBusy)]);
process.stdout.write('started\n');
// Something that keeps the process running, as servers do.
setInterval(() => {}, 1000);

// Holds 40 MB, allocates 1.6 GB of large objects and prints the number of major collections meanwhile.
import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { limitHeapGrowth } from '../src/runtime/heap-growth.js';

const [how] = process.argv.slice(2);
const PIECE = 25_000;

const piece = () => new Array<number>(PIECE).fill(0.5);
const held = Array.from({ length: 200 }, piece);

if (how === 'limited') limitHeapGrowth();
else setFlagsFromString('--heap-growing-percent=25');

// The types of Node leave out what entries of garbage collections have.
const kindOf = (entry: PerformanceEntry) => (entry as unknown as { detail: { kind: number } }).detail.kind;

let major = 0;
const count = (entries: readonly PerformanceEntry[]) => {
  major += entries.filter((entry) => kindOf(entry) === constants.NODE_PERFORMANCE_GC_MAJOR).length;
};
const observer = new PerformanceObserver((list) => count(list.getEntries()));
observer.observe({ entryTypes: ['gc'] });
for (let i = 0; i < 8000; i++) {
  held[i % 10] = piece();
  if (i % 400 === 0) await sleep(1);
}
await sleep(50);
count(observer.takeRecords());
console.log(major);

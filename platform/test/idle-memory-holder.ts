// Allocates as a busy process does, twice, with pauses, and prints the bytes of its young generation: when it was busy
// first, after a pause, a moment after it was busy again, and after a long pause.
import { setTimeout as sleep } from 'node:timers/promises';
import { getHeapSpaceStatistics } from 'node:v8';
import { giveBackIdleMemory } from '../src/runtime/idle-memory.js';

const [gives] = process.argv.slice(2);
const PERIOD_MS = 100;
const AFTER_WORK = 15;
const PAUSE_MS = 8 * PERIOD_MS;
const LONG_PAUSE_MS = 40 * PERIOD_MS;

const young = () => getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_size;

function work(): void {
  let kept: object[] = [];
  for (let i = 0; i < 2_000_000; i++) {
    kept.push({ i });
    if (kept.length > 200_000) kept = [];
  }
}

if (gives === 'gives') giveBackIdleMemory(PERIOD_MS, { afterWork: AFTER_WORK });
const ticking = setInterval(() => {}, LONG_PAUSE_MS);
work();
const busy = young();
await sleep(PAUSE_MS);
const paused = young();
work();
await sleep(PAUSE_MS);
const again = young();
await sleep(LONG_PAUSE_MS);
console.log(JSON.stringify({ busy, paused, again, rested: young() }));
clearInterval(ticking);

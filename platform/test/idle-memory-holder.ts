// Allocates as a busy process does, is idle, and prints the bytes of its young generation before and after.
import { getHeapSpaceStatistics } from 'node:v8';
import { giveBackIdleMemory } from '../src/runtime/idle-memory.js';

const [gives] = process.argv.slice(2);
const PERIOD_MS = 100;
const IDLE_MS = 3000;

const young = () => getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_size;

let kept: object[] = [];
for (let i = 0; i < 2_000_000; i++) {
  kept.push({ i });
  if (kept.length > 200_000) kept = [];
}
const before = young();
if (gives === 'gives') giveBackIdleMemory(PERIOD_MS);
setTimeout(() => console.log(JSON.stringify({ before, after: young() })), IDLE_MS);

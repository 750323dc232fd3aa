// The seconds that the longest test files take, by which the sequencer orders them on a machine that has no durations.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { root } from '../build.mjs';

const FILE = join(root, 'scripts', 'jest', 'seconds.json');
const ENDING = '.test.ts';
/** Files that take less may start in any order. */
const MIN_SECONDS = 20;

/** Writes the durations of the files of a run to the list. Other files keep theirs. */
export function recordSeconds(files) {
  const seconds = JSON.parse(readFileSync(FILE, 'utf8'));
  for (const { name, startTime, endTime } of files) {
    seconds[relative(root, name).slice(0, -ENDING.length)] = Math.round((endTime - startTime) / 1000);
  }
  const longest = Object.entries(seconds).filter(
    ([name, each]) => each >= MIN_SECONDS && existsSync(join(root, `${name}${ENDING}`)),
  );
  longest.sort(([, a], [, b]) => b - a);
  writeFileSync(FILE, `${JSON.stringify(Object.fromEntries(longest), null, 2)}\n`);
}

// Runs the tests of all packages on the built code, with everything in one process. `--browser` runs the tests that
// need Chromium instead; `--servers` those that need MongoDB and NATS, and the end-to-end suites on a mesh. Other
// arguments select test files by name. Ends with the plain line `N passed, N failed, N skipped`.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { root } from './build.mjs';
import { recordSeconds } from './jest/seconds.mjs';
import { quickFolder } from './memory.mjs';

/** Memory in bytes that must be free. It is far more than tests use at a time. */
const ROOM = 8 * 2 ** 30;
/** Maximum number of failed files that are repeated. If more fail, a busy machine is not the cause. */
const MAX_REPEATED = 20;
/** Number of repetitions of a failed file. */
const MORE_ATTEMPTS = 2;

const USAGE = `node scripts/test.mjs [--browser | --servers] [--record] [part of a file's path…]

Runs the built tests whose files' paths contain one of the given parts, or all of them.

  --browser  the tests that need Chromium
  --servers  the tests that need MongoDB and NATS, and the end-to-end suites on a mesh
  --record   writes how long the longest files take, by which a new machine orders them
  --help     prints this text
`;
const OPTIONS = ['--browser', '--servers', '--record'];

const unknown = process.argv.slice(2).find((word) => word.startsWith('--') && !OPTIONS.includes(word));
if (unknown !== undefined) {
  if (unknown !== '--help') console.error(`There is no option ${unknown}.\n`);
  console.log(USAGE);
  process.exit(unknown === '--help' ? 0 : 64);
}

const servers = process.argv.includes('--servers');
const kind = servers ? 'servers.' : process.argv.includes('--browser') ? 'browser.' : '';
const names = process.argv.slice(2).filter((word) => !word.startsWith('--'));
// The servers choose their own folders.
const out = servers ? mkdtempSync(join(tmpdir(), 'commonplace-jest-')) : quickFolder('commonplace-tests', ROOM);
const env = {
  ...process.env,
  ...(servers ? {} : { TMPDIR: out }),
  COMMONPLACE_TEST_MODE: servers ? 'mesh' : 'embedded',
};

/**
 * Runs test files, all or those whose names contain one of `patterns`. Returns jest's JSON report; undefined if there
 * is none.
 */
function runFiles(patterns, options = []) {
  const report = join(out, 'report.json');
  rmSync(report, { force: true });
  spawnSync(
    process.execPath,
    [
      '--no-warnings',
      join(root, 'node_modules/jest/bin/jest.js'),
      '--config',
      join(root, `jest.${kind}config.json`),
      // The cache contains the durations of files, by which the next run orders them.
      `--cacheDirectory=${join(tmpdir(), 'commonplace-jest-cache')}`,
      '--json',
      `--outputFile=${report}`,
      ...options,
      ...patterns,
    ],
    // Jest's own report goes to standard error; its JSON report goes to the file.
    { cwd: root, stdio: ['ignore', 'ignore', 'inherit'], env },
  );
  return existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : undefined;
}

/** Counts the tests in the report of a file. A file that could not be loaded counts as one failed test. */
function countsOf({ status, assertionResults: tests }) {
  const count = (...outcomes) => tests.filter((test) => outcomes.includes(test.status)).length;
  const failed = count('failed');
  const broken = status === 'failed' && failed === 0 ? 1 : 0;
  return { passed: count('passed'), failed: failed + broken, skipped: count('pending', 'skipped') };
}

const sums = runFiles(names);
if (sums === undefined) {
  rmSync(out, { recursive: true, force: true });
  console.log('0 passed, 1 failed');
  process.exit(1);
}
// Files that run on servers take other times, and have an order of their own.
if (process.argv.includes('--record') && !servers) recordSeconds(sums.testResults);

// On a busy machine, a correct test can fail. If only few files fail, each is repeated separately, and files that then
// pass are listed, so that unreliable tests become known and can be fixed.
const results = new Map(sums.testResults.map((file) => [file.name, file]));
const failing = [...results.values()].filter((file) => countsOf(file).failed > 0);
if (failing.length <= MAX_REPEATED) {
  for (const { name } of failing) {
    for (let attempt = 2; attempt <= 1 + MORE_ATTEMPTS; attempt += 1) {
      const again = runFiles([name], ['--runInBand', '--runTestsByPath'])?.testResults[0];
      if (again === undefined || countsOf(again).failed > 0) continue;
      results.set(name, again);
      console.log(`passed at attempt ${attempt} only: ${relative(root, name)}`);
      break;
    }
  }
}
rmSync(out, { recursive: true, force: true });

let [passed, failed, skipped] = [0, 0, 0];
for (const file of results.values()) {
  for (const { status, fullName } of file.assertionResults) {
    if (status === 'pending' || status === 'skipped') console.log(`skipped: ${fullName}`);
  }
  const counts = countsOf(file);
  passed += counts.passed;
  failed += counts.failed;
  skipped += counts.skipped;
}
console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
process.exit(failed > 0 ? 1 : 0);

// Runs the tests of all packages on what is built, as one process of everything. `--browser` runs those that need
// Chromium instead; `--servers` those that need MongoDB and NATS, and the end-to-end suites on a mesh. Other words choose
// test files by name.
// Closes with the plain line `N passed, N failed, N skipped`.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from './build.mjs';
import { quickFolder } from './memory.mjs';

/** Bytes of memory that have to be free, far more than tests write at a time. */
const ROOM = 8 * 2 ** 30;

const servers = process.argv.includes('--servers');
const kind = servers ? 'servers.' : process.argv.includes('--browser') ? 'browser.' : '';
const names = process.argv.slice(2).filter((word) => !word.startsWith('--'));
// Servers have places of their own.
const out = servers ? mkdtempSync(join(tmpdir(), 'commonplace-jest-')) : quickFolder('commonplace-tests', ROOM);
const report = join(out, 'report.json');
const { status } = spawnSync(
  process.execPath,
  [
    '--import',
    pathToFileURL(join(root, 'scripts/jest/register.mjs')).href,
    '--enable-source-maps',
    '--no-warnings',
    join(root, 'node_modules/jest/bin/jest.js'),
    '--config',
    join(root, `jest.${kind}config.json`),
    // Remembers how long each file took, by which the next run orders them.
    `--cacheDirectory=${join(tmpdir(), 'commonplace-jest-cache')}`,
    '--json',
    `--outputFile=${report}`,
    ...names,
  ],
  {
    cwd: root,
    // jest's own report goes to standard error; its JSON is in the file.
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...process.env,
      ...(servers ? {} : { TMPDIR: out }),
      COMMONPLACE_TEST_MODE: servers ? 'mesh' : 'embedded',
    },
  },
);
const sums = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : undefined;
rmSync(out, { recursive: true, force: true });
if (sums === undefined) {
  console.log('0 passed, 1 failed');
  process.exit(status || 1);
}
for (const { assertionResults } of sums.testResults) {
  for (const { status: outcome, fullName } of assertionResults) {
    if (outcome === 'pending' || outcome === 'skipped') console.log(`skipped: ${fullName}`);
  }
}
// A suite that could not even be loaded has no tests to count.
const failed = sums.numFailedTests + sums.numRuntimeErrorTestSuites;
const skipped = sums.numPendingTests > 0 ? `, ${sums.numPendingTests} skipped` : '';
console.log(`${sums.numPassedTests} passed, ${failed} failed${skipped}`);
process.exit(status ?? 1);

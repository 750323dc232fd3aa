// Runs the tests of all packages on what is built. `--servers` adds those that need MongoDB and NATS.
// Closes with the plain line `N passed, N failed, N skipped`.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from './build.mjs';

const servers = process.argv.includes('--servers');
const names = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const out = mkdtempSync(join(tmpdir(), 'commonplace-jest-'));
const report = join(out, 'report.json');
const args = [
  '--experimental-vm-modules',
  '--no-warnings=ExperimentalWarning',
  join(root, 'node_modules/jest/bin/jest.js'),
  '--config',
  join(root, servers ? 'jest.servers.config.json' : 'jest.config.json'),
  '--json',
  `--outputFile=${report}`,
  ...names,
];
const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
if (!existsSync(report)) {
  console.log('0 passed, 1 failed');
  process.exit(status ?? 1);
}
const { numPassedTests, numFailedTests, numFailedTestSuites, numPendingTests, testResults } = JSON.parse(
  readFileSync(report, 'utf8'),
);
rmSync(out, { recursive: true, force: true });
for (const { assertionResults } of testResults) {
  for (const { status: outcome, fullName } of assertionResults) {
    if (outcome === 'pending' || outcome === 'skipped') console.log(`skipped: ${fullName}`);
  }
}
const broken = numFailedTests === 0 ? numFailedTestSuites : 0;
const skipped = numPendingTests > 0 ? `, ${numPendingTests} skipped` : '';
console.log(`${numPassedTests} passed, ${numFailedTests + broken} failed${skipped}`);
process.exit(status ?? 1);

// Runs tests like `npm test`, and prints the percentage of lines that they ran in each folder. Code in processes that
// tests start is included. Arguments select test files by name. A page for each file is written to
// `coverage/index.html`.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { root } from './build.mjs';

/** Number of folders in the path of a row: `services/files/src/imports` has four. */
const DEPTH = 4;

const raw = mkdtempSync(join(tmpdir(), 'commonplace-coverage-'));
const pages = join(root, 'coverage');
const node = (args, env = {}) =>
  spawnSync(process.execPath, ['--max-old-space-size=8192', ...args], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  }).status ?? 1;

const failed = node([join(root, 'scripts/test.mjs'), ...process.argv.slice(2)], { NODE_V8_COVERAGE: raw });
console.log('Reading the coverage data …');
const unreadable = node([
  ...[join(root, 'node_modules/c8/bin/c8.js'), 'report', '--all', '--merge-async', `--temp-directory=${raw}`],
  ...[
    '--include=**/src/**',
    '--exclude=proto/**',
    '--exclude=bench/**',
    '--exclude=acceptance/**',
    '--exclude=**/*.d.ts',
  ],
  ...[`--reports-dir=${pages}`, '--reporter=html', '--reporter=json-summary'],
]);
rmSync(raw, { recursive: true, force: true });
if (unreadable !== 0) process.exit(unreadable);

const { total, ...files } = JSON.parse(readFileSync(join(pages, 'coverage-summary.json'), 'utf8'));
const folders = new Map();
for (const [path, { lines }] of Object.entries(files)) {
  const name = dirname(relative(root, path)).split('/').slice(0, DEPTH).join('/');
  const sum = folders.get(name) ?? { covered: 0, total: 0 };
  folders.set(name, { covered: sum.covered + lines.covered, total: sum.total + lines.total });
}
const share = (sum) => `${((100 * sum.covered) / sum.total).toFixed(1).padStart(5)} %`;
for (const [name, sum] of [...folders].sort(([a], [b]) => a.localeCompare(b))) {
  console.log(`${share(sum)}  ${String(sum.total).padStart(6)} lines  ${name}`);
}
console.log(
  `${share(total.lines)}  ${String(total.lines.total).padStart(6)} lines  in all; by file in ${relative(root, pages)}/index.html`,
);
process.exit(failed);

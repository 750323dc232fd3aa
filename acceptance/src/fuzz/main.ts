// `npm run test:fuzz`: sends requests that Schemathesis generates from the OpenAPI document to separate servers, with
// the ids of existing records. `--cases 20000` sets the minimum number of cases; `--seed N` repeats a run. Ends with
// the plain line `N passed, N failed`, which counts operations without and with findings over all rounds.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { ROOT, startSystem } from '../system.js';
import { createWorld } from '../world.js';
import { knownIds, tomlOf } from './known-ids.js';

/** Number of cases in a sample, which CI runs. */
const SAMPLE_CASES = 2_000;
/**
 * Number of cases from which on every round includes the coverage phase. That phase tries the boundary values of each
 * schema and takes 10,000 cases by itself.
 */
const WHOLE_CASES = 10_000;
/**
 * Operations after which all others would be refused, because the workspace is read-only or the credential's tenant is
 * gone.
 */
const LAST = ['POST /api/v1/workspaces/{workspace_id}/archive', 'DELETE /api/v1/orgs/{org_id}'];

/** A run of Schemathesis: its phases, and the operations that it sends. */
interface Run {
  readonly phases: string;
  readonly filter: readonly string[];
}

const ALL_BUT_LAST = LAST.flatMap((name) => ['--exclude-name', name]);
const ONLY_LAST = LAST.flatMap((name) => ['--include-name', name]);
/**
 * A sample does not follow links in answers, which differ each time. With the same seed it fails only for changes of
 * the product.
 */
const SAMPLE_RUNS: readonly Run[] = [{ phases: 'fuzzing', filter: ALL_BUT_LAST }];
const WHOLE_RUNS: readonly Run[] = [
  { phases: 'coverage', filter: ALL_BUT_LAST },
  { phases: 'fuzzing', filter: ALL_BUT_LAST },
  { phases: 'stateful', filter: [] },
  { phases: 'coverage', filter: ONLY_LAST },
  { phases: 'fuzzing', filter: ONLY_LAST },
];
const HOOKS = join(ROOT, 'acceptance/fuzz/hooks.py');

const { values } = parseArgs({ options: { cases: { type: 'string' }, seed: { type: 'string' } } });
const wanted = Number(values.cases ?? SAMPLE_CASES);
const firstSeed = Number(values.seed ?? Date.now() % 1_000_000);
const whole = wanted >= WHOLE_CASES;

const { installTool } = (await import(pathToFileURL(join(ROOT, 'scripts/servers.mjs')).href)) as {
  installTool(name: string): Promise<string>;
};
const program = await installTool('schemathesis');
const home = mkdtempSync(join(tmpdir(), 'commonplace-fuzz-'));
let cases = 0;
let passed = 0;
let failed = 0;
try {
  // A complete run includes both kinds of tenant.
  for (let round = 0; cases < wanted || (whole && round < 2); round += 1) {
    for (const run of whole ? WHOLE_RUNS : SAMPLE_RUNS) await runOnce(run, round);
  }
} finally {
  rmSync(home, { recursive: true, force: true });
}
console.log(`${cases} cases, first seed ${firstSeed}`);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);

/** Runs Schemathesis on a separate server, because requests delete the records that they find. */
async function runOnce({ phases, filter }: Run, round: number): Promise<void> {
  const system = await startSystem({ COMMONPLACE_SIGN_UP: 'open' });
  try {
    const world = await createWorld(system);
    const tenant = round % 2 === 0 ? 'org' : 'personal';
    const { key, ids } = await knownIds(world, tenant);
    const config = join(home, 'schemathesis.toml');
    writeFileSync(config, tomlOf(ids, HOOKS));
    const began = Date.now();
    const args = ['--phases', phases, ...filter, '--seed', String(firstSeed + round)];
    const result = await fuzz(config, system.baseUrl, key, args, {
      FUZZ_PHASES: phases,
      FUZZ_IDS: JSON.stringify(ids),
    });
    const seconds = Math.round((Date.now() - began) / 1000);
    const outcome = `${result.cases} cases in ${seconds} s, ${result.failed} operations with findings`;
    console.log(`round ${round + 1} as ${tenant}, ${phases} ${filter[0] ?? ''}: ${outcome}`);
    cases += result.cases;
    passed += result.passed;
    failed += result.failed;
    if (result.cases === 0) throw new Error('Schemathesis generated no case');
  } finally {
    await system.stop();
  }
}

/** Runs Schemathesis once. Returns the number of cases, and the numbers of operations without and with findings. */
async function fuzz(config: string, baseUrl: string, key: string, more: readonly string[], env: NodeJS.ProcessEnv) {
  const args = [
    ['--config-file', config, 'run', `${baseUrl}/api/v1/openapi.json`, '--checks', 'all', '--continue-on-failure'],
    // Sessions, signed URLs and probes do not accept API keys.
    ['--exclude-path-regex', '^/(auth|blobs|health)/'],
    ['--header', `Authorization: Bearer ${key}`, '--no-color', ...more],
    // The threads of Schemathesis share one interpreter, so more of them are no faster. With two, CPython 3.11 fails to
    // describe strategies ("AST constructor recursion depth mismatch").
    ['--workers', '1'],
    ['--max-examples', String(whole ? 20 : Math.max(1, Math.ceil(wanted / 200))), '--request-timeout', '60'],
    ['--suppress-health-check', 'all'],
  ].flat();
  const said = await outputOf(program, args, env);
  const count = (pattern: RegExp) => Number(pattern.exec(said)?.[1] ?? 0);
  const tested = count(/Tested: (\d+)/);
  const findings = count(/(\d+) unique failures?/);
  const errors = count(/(\d+) errors?\b/);
  if (findings + errors > 0 || tested === 0) console.log(said);
  const operations = new Set(
    [...said.matchAll(/^_+ (?:\[\d+\/\d+\] )?((?:GET|POST|PUT|PATCH|DELETE) \S+|Stateful tests) _+$/gm)].map(
      ([, name]) => name,
    ),
  );
  const bad = findings + errors > 0 || tested === 0 ? Math.max(operations.size, 1) : 0;
  return { cases: count(/(\d+) generated/), passed: Math.max(tested - bad, 0), failed: bad };
}

function outputOf(command: string, args: readonly string[], more: NodeJS.ProcessEnv): Promise<string> {
  const env = { ...process.env, ...more };
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'], cwd: home, env });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk;
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => resolve(said));
  });
}

// `npm run test:sdk`: checks the SDKs in `sdk/` against the contract and against a server. Ends with the plain line `N
// passed, N failed, N skipped`. Checks whose tools can't be installed are skipped by name.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT, startSystem } from '../system.js';
import { type Driver, pythonDriver, typeScriptDriver } from './drivers.js';
import { callEveryOperation } from './every-operation.js';
import { readContract } from './operations.js';
import {
  runPythonReadme,
  runPythonTests,
  runTypeScriptReadme,
  runTypeScriptTests,
  typeCheckPython,
} from './programs.js';
import { run } from './run.js';

const { installTool } = (await import(pathToFileURL(join(ROOT, 'scripts/servers.mjs')).href)) as {
  installTool(name: string): Promise<string>;
};

const counts = { passed: 0, failed: 0, skipped: 0 };

/** Runs a check, which returns the number of tests that it represents. Counts and prints it. */
async function check(name: string, tools: readonly (string | undefined)[], test: () => Promise<number>): Promise<void> {
  if (tools.includes(undefined)) {
    counts.skipped += 1;
    console.log(`skipped: ${name}`);
    return;
  }
  const began = Date.now();
  try {
    counts.passed += await test();
    console.log(`passed: ${name} (${((Date.now() - began) / 1000).toFixed(1)} s)`);
  } catch (error) {
    counts.failed += 1;
    console.log(`failed: ${name}\n${(error as Error).message}`);
  }
}

const install = (name: string) =>
  installTool(name).catch((error: Error) => {
    console.error(error.message);
    return undefined;
  });

const tsc = join(ROOT, 'node_modules/.bin/tsc');
const typescript = await install('openapi-npm');
const python = await install('sdk-python');
const home = mkdtempSync(join(tmpdir(), 'commonplace-sdk-'));
// With these limits, the files of the examples are uploaded in parts.
const system = await startSystem({
  COMMONPLACE_SIGN_UP: 'open',
  COMMONPLACE_SINGLE_UPLOAD_BYTES: '262144',
  COMMONPLACE_UPLOAD_PART_BYTES: '1048576',
});
const place = { home, baseUrl: system.baseUrl, apiKey: system.owner.apiKey };

/**
 * Makes all calls with one driver. Returns their number. Throws an error that lists the calls with unexpected answers.
 */
async function callAll(driver: Driver): Promise<number> {
  try {
    const { operations } = await readContract();
    const { calls, problems } = await callEveryOperation(system, operations, driver);
    if (problems.length > 0) throw new Error(problems.join('\n'));
    return calls;
  } finally {
    await driver.stop();
  }
}

try {
  await check('the generated code is that of the contract', [typescript, python], async () => {
    await run(process.execPath, [join(ROOT, 'sdk/generate/main.mjs'), '--check'], ROOT);
    return 1;
  });
  await check('TypeScript: compiles', [tsc], async () => {
    await run(tsc, ['-p', join(ROOT, 'sdk/typescript')], ROOT);
    return 1;
  });
  await check('TypeScript: its tests', [tsc], () => runTypeScriptTests());
  await check('TypeScript: the examples of its README', [tsc], () => runTypeScriptReadme(tsc, place));
  await check('Python: its types', [python], () => typeCheckPython(python ?? ''));
  await check('Python: its tests', [python], () => runPythonTests(python ?? ''));
  await check('Python: the examples of its README', [python], () => runPythonReadme(python ?? '', place));
  // Each driver has its own people and Org, so that they can run concurrently.
  const { baseUrl } = system;
  await Promise.all([
    check('TypeScript: every operation', [tsc], async () => callAll(await typeScriptDriver(baseUrl))),
    check('Python: every operation, sync', [python], () => callAll(pythonDriver(python ?? '', baseUrl, 'sync'))),
    check('Python: every operation, async', [python], () => callAll(pythonDriver(python ?? '', baseUrl, 'async'))),
  ]);
} finally {
  await system.stop();
  rmSync(home, { recursive: true, force: true });
}
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
process.exit(counts.failed > 0 ? 1 : 0);

// `npm run test:clients`: lints the OpenAPI document of a server, generates a TypeScript and a Python client from it,
// and runs a small program with each against the server. Ends with the plain line `N passed, N failed, N skipped`.
// Checks whose tools can't be installed are skipped by name.
import { execFile } from 'node:child_process';
import { copyFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT, startSystem } from '../system.js';

const SAMPLES = join(ROOT, 'acceptance/clients');
const METHODS: ReadonlySet<string> = new Set(['get', 'post', 'put', 'patch', 'delete']);

interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** Folder and document of the checks, and the server that they call. */
interface Place {
  readonly home: string;
  readonly document: string;
  readonly operations: number;
  readonly baseUrl: string;
  readonly key: string;
}

const { installTool } = (await import(pathToFileURL(join(ROOT, 'scripts/servers.mjs')).href)) as {
  installTool(name: string): Promise<string>;
};

/** Runs a program. Returns its output. Throws an error with the output if the program fails. */
function run(command: string, args: readonly string[], cwd: string): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(command, args, { cwd, maxBuffer: 64 << 20 }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout + stderr);
      else reject(new Error(`${error.message}\n${stdout}${stderr}`));
    });
  });
}

/** Checks that the document has no errors or warnings. */
async function lint(tool: string, { home, document }: Place): Promise<void> {
  writeFileSync(join(home, 'redocly.yaml'), JSON.stringify({ extends: ['recommended'] }));
  const output = await run(tool, ['redocly', 'lint', '--format', 'json', '--max-problems', '1000', document], home);
  const { totals, problems } = JSON.parse(output.slice(output.indexOf('{\n'), output.lastIndexOf('}') + 1)) as {
    totals: { errors: number; warnings: number };
    problems: readonly { message: string; ruleId: string; location: readonly { pointer?: string }[] }[];
  };
  if (totals.errors + totals.warnings === 0) return;
  const lines = problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer ?? ''}`);
  throw new Error(lines.join('\n'));
}

/** Checks that the generated types compile, and that a program that uses them compiles and works. */
async function useTypeScript(tool: string, { home, document, baseUrl, key }: Place): Promise<void> {
  await run(tool, ['openapi-typescript', document, '-o', join(home, 'api.d.ts')], home);
  copyFileSync(join(SAMPLES, 'use.mts'), join(home, 'use.mts'));
  const options = ['--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess', '--target', 'es2022'];
  const modules = ['--module', 'nodenext', '--lib', 'es2022,dom', '--types', '', '--outDir', home];
  await run(join(ROOT, 'node_modules/.bin/tsc'), [...options, ...modules, 'use.mts', 'api.d.ts'], home);
  await run(process.execPath, [join(home, 'use.mjs'), baseUrl, key], home);
}

/** Checks that the generated package contains every operation, and that a program that uses it works. */
async function usePython(tool: string, { home, document, operations, baseUrl, key }: Place): Promise<void> {
  const folder = join(home, 'commonplace_client');
  const args = ['generate', '--path', document, '--output-path', folder, '--meta', 'none'];
  const output = await run(tool, args, home);
  if (/warning|error|omitted|missing|not be generated/i.test(output)) throw new Error(output);
  const modules = readdirSync(join(folder, 'api'), { recursive: true, encoding: 'utf8' });
  const generated = modules.filter((name) => name.endsWith('.py') && !name.endsWith('__init__.py')).length;
  if (generated !== operations) throw new Error(`${generated} of ${operations} operations were generated`);
  copyFileSync(join(SAMPLES, 'use.py'), join(home, 'use.py'));
  await run(join(dirname(tool), 'python3'), ['use.py', baseUrl, key], home);
}

const CHECKS: readonly {
  readonly name: string;
  readonly tool: string;
  check(tool: string, place: Place): Promise<void>;
}[] = [
  { name: 'Redocly finds nothing to say about the OpenAPI document', tool: 'openapi-npm', check: lint },
  { name: 'a TypeScript client is generated, compiles and works', tool: 'openapi-npm', check: useTypeScript },
  { name: 'a Python client is generated whole and works', tool: 'openapi-python-client', check: usePython },
];

const counts = { passed: 0, failed: 0, skipped: 0 };
const home = mkdtempSync(join(tmpdir(), 'commonplace-clients-'));
const system = await startSystem();
try {
  const { baseUrl, owner } = system;
  const text = await (await fetch(`${baseUrl}/api/v1/openapi.json`)).text();
  const document = join(home, 'openapi.json');
  writeFileSync(document, text);
  const { paths } = JSON.parse(text) as Description;
  const operations = Object.values(paths).flatMap((item) => Object.keys(item).filter((name) => METHODS.has(name)));
  const place = { home, document, operations: operations.length, baseUrl, key: owner.apiKey };
  for (const { name, tool, check } of CHECKS) {
    const program = await installTool(tool).catch((error: Error) => console.error(error.message));
    if (program === undefined) {
      counts.skipped += 1;
      console.log(`skipped: ${name}`);
      continue;
    }
    try {
      await check(program, place);
      counts.passed += 1;
      console.log(`passed: ${name}`);
    } catch (error) {
      counts.failed += 1;
      console.log(`failed: ${name}\n${(error as Error).message}`);
    }
  }
} finally {
  await system.stop();
  rmSync(home, { recursive: true, force: true });
}
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
process.exit(counts.failed > 0 ? 1 : 0);

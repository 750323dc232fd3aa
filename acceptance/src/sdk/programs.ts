import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../system.js';
import { run } from './run.js';

/** A folder for programs, and the server that they call. */
interface Place {
  readonly home: string;
  readonly baseUrl: string;
  readonly apiKey: string;
}

const TYPESCRIPT = join(ROOT, 'sdk/typescript');
const PYTHON = join(ROOT, 'sdk/python');
const pythonEnv = { ...process.env, PYTHONPATH: join(PYTHON, 'src'), PYTHONDONTWRITEBYTECODE: '1' };

/** Runs the tests of the TypeScript SDK. Returns their number. */
export async function runTypeScriptTests(): Promise<number> {
  const folder = join(TYPESCRIPT, 'test');
  const files = readdirSync(folder).filter((name) => name.endsWith('.test.mjs'));
  const output = await run(process.execPath, ['--test', ...files.map((name) => join(folder, name))], TYPESCRIPT);
  return countOf(output, /^(?:#|ℹ) pass (\d+)/m);
}

/** Runs the tests of the Python SDK. Returns their number. */
export async function runPythonTests(python: string): Promise<number> {
  const args = ['-W', 'error::ResourceWarning', '-m', 'unittest', 'discover', '-s', 'tests', '-t', '.'];
  return countOf(await run(python, args, PYTHON, pythonEnv), /^Ran (\d+) tests?/m);
}

/** Checks the package and its tests with mypy for Python 3.10, the oldest version that mypy supports. */
export async function typeCheckPython(python: string): Promise<number> {
  await run(python, ['-m', 'mypy', '--python-version', '3.10', '--cache-dir', '/dev/null'], PYTHON);
  return 1;
}

/** Compiles and runs the examples of a README as one program. Returns their number. */
export async function runTypeScriptReadme(tsc: string, place: Place): Promise<number> {
  const examples = examplesOf(join(TYPESCRIPT, 'README.md'), 'ts');
  const modules = join(place.home, 'node_modules/@commonplace');
  mkdirSync(modules, { recursive: true });
  symlinkSync(TYPESCRIPT, join(modules, 'sdk'));
  symlinkSync(join(ROOT, 'node_modules/@types'), join(place.home, 'node_modules/@types'));
  writeFileSync(join(place.home, 'readme.mts'), examples.join('\n'));
  const options = ['--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess', '--target', 'es2022'];
  await run(tsc, [...options, '--module', 'nodenext', '--types', 'node', 'readme.mts'], place.home);
  await run(process.execPath, [join(place.home, 'readme.mjs')], place.home, envOf(place, process.env));
  return examples.length;
}

/** Checks the types of the examples of a README and runs them as one program. Returns their number. */
export async function runPythonReadme(python: string, place: Place): Promise<number> {
  const examples = examplesOf(join(PYTHON, 'README.md'), 'python');
  writeFileSync(join(place.home, 'readme.py'), examples.join('\n'));
  const env = { ...envOf(place, pythonEnv), MYPYPATH: join(PYTHON, 'src') };
  const check = ['-m', 'mypy', '--strict', '--follow-imports', 'silent', '--cache-dir', '/dev/null', 'readme.py'];
  await run(python, check, place.home, env);
  await run(python, ['readme.py'], place.home, env);
  return examples.length;
}

function envOf({ baseUrl, apiKey }: Place, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...env, COMMONPLACE_URL: baseUrl, COMMONPLACE_API_KEY: apiKey };
}

/** Returns the fenced code blocks in one language. Throws if there are none. */
function examplesOf(file: string, language: string): string[] {
  const blocks = [...readFileSync(file, 'utf8').matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)];
  const examples = blocks.filter(([, name]) => name === language).map(([, , text = '']) => text);
  if (examples.length === 0) throw new Error(`${file} has no example`);
  return examples;
}

/** Reads the number of passed tests. Throws if there are none. */
function countOf(output: string, pattern: RegExp): number {
  const count = Number(output.match(pattern)?.[1] ?? 0);
  if (count === 0) throw new Error(`no test ran:\n${output}`);
  return count;
}

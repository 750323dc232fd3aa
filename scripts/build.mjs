// Builds everything that has changed: generated code from the contract, then all packages, then the bundle of the
// programs. With development dependencies, TypeScript checks and compiles everything. With production dependencies
// only, esbuild compiles what the programs need. `--force` builds everything.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = join(dirname(fileURLToPath(import.meta.url)), '..');
/** File whose modification time is that of the last complete build, including tests and benchmarks. */
const STAMP = join(root, 'dist', 'built');
/** File whose modification time is that of the last build of the programs with production dependencies only. */
const PROGRAMS_STAMP = join(root, 'dist', 'built-programs');
/** File without which programs start from their modules. */
export const BUNDLE_NOTE = join(root, 'dist', 'bundle', 'made.json');
const COMPILER = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
const GENERATED = join(root, 'proto', 'gen', 'generated');
const PACKAGES = ['kit', 'adapters', 'platform', 'site', 'gateway', 'services', 'cli', 'acceptance', 'bench'];
/** Packages that are only needed for development. */
const FOR_DEVELOPMENT = ['acceptance', 'bench'];

/** Builds if a source is newer than the last build. Returns whether it built. Ends the process if the build fails. */
export function build({ force = false, say = () => {} } = {}) {
  const started = Date.now();
  const checks = existsSync(COMPILER);
  const sources = checks ? PACKAGES : PACKAGES.filter((name) => !FOR_DEVELOPMENT.includes(name));
  const protoTime = newest(join(root, 'proto'), ['.proto', '.yaml']);
  const sourceTime = Math.max(
    protoTime,
    newest(join(root, 'proto', 'schemas'), ['.ts']),
    newest(root, ['package-lock.json', 'tsconfig.base.json'], false),
    ...sources.map((name) => newest(join(root, name), ['.ts', '.tsx', 'tsconfig.json'])),
  );
  const stamps = checks ? [STAMP] : [STAMP, PROGRAMS_STAMP];
  if (!force && stamps.some((file) => modified(file) >= sourceTime)) return false;
  say('Building Commonplace (later starts build only what has changed) …');
  if (force || modified(GENERATED) < protoTime) {
    run('npm', ['run', '--silent', 'generate', '--workspace', 'proto']);
    stamp(GENERATED, started);
  }
  // If the build ends before its last step, programs start from their modules.
  rmSync(BUNDLE_NOTE, { force: true });
  if (checks) run(process.execPath, [COMPILER, '-b', ...(force ? ['--force'] : [])]);
  else run(process.execPath, [join(root, 'scripts', 'strip-types.mjs'), 'proto', ...programPackages()]);
  run(process.execPath, [join(root, 'scripts', 'bundle.mjs')]);
  stamp(checks ? STAMP : PROGRAMS_STAMP, started);
  say(`Built in ${((Date.now() - started) / 1000).toFixed(1)} s.`);
  return true;
}

/** Returns the folders of all packages of which programs consist, except the contract. */
function programPackages() {
  return PACKAGES.filter((name) => !FOR_DEVELOPMENT.includes(name)).flatMap((name) =>
    name === 'services' ? readdirSync(join(root, name)).map((service) => `${name}/${service}`) : [name],
  );
}

/** Returns a file's modification time in epoch milliseconds; negative infinity if it does not exist. */
function modified(file) {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Number.NEGATIVE_INFINITY;
}

function run(command, args) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit' });
  if (error !== undefined) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

/** Gives a file the time at which a build began, because what is saved during the build has to be built again. */
function stamp(file, started) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${new Date(started).toISOString()}\n`);
  utimesSync(file, started / 1000, started / 1000);
}

/** Returns the latest modification time of the files below a folder whose names have one of the endings. */
function newest(folder, endings, deep = true) {
  let latest = 0;
  for (const entry of existsSync(folder) ? readdirSync(folder, { withFileTypes: true }) : []) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      if (deep && !['dist', 'gen', 'node_modules'].includes(entry.name))
        latest = Math.max(latest, newest(path, endings));
    } else if (endings.some((ending) => entry.name.endsWith(ending))) latest = Math.max(latest, statSync(path).mtimeMs);
  }
  return latest;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  build({ force: process.argv.includes('--force'), say: console.log });
}

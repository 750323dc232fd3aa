// Builds what has changed: generated code from the contract, then all packages, then the one process in a few files.
// `--force` builds all.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const STAMP = join(root, 'dist', 'built');
const GENERATED = join(root, 'proto', 'gen', 'generated');
const PACKAGES = ['kit', 'gateway', 'services', 'cli', 'acceptance', 'bench'];

/** Builds if a source is newer than the last build. Tells whether it did; ends the process when it can't. */
export function build({ force = false, say = () => {} } = {}) {
  const protoTime = newest(join(root, 'proto'), ['.proto', '.yaml']);
  const sourceTime = Math.max(
    protoTime,
    newest(root, ['package-lock.json', 'tsconfig.base.json'], false),
    ...PACKAGES.map((name) => newest(join(root, name), ['.ts', 'tsconfig.json'])),
  );
  if (!force && existsSync(STAMP) && statSync(STAMP).mtimeMs >= sourceTime) return false;
  say('Building Commonplace (after this only when something has changed) …');
  const started = Date.now();
  if (force || !existsSync(GENERATED) || statSync(GENERATED).mtimeMs < protoTime) {
    run('npm', ['run', '--silent', 'generate', '--workspace', 'proto']);
    stamp(GENERATED);
  }
  run(process.execPath, [join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-b', ...(force ? ['--force'] : [])]);
  run(process.execPath, [join(root, 'scripts', 'bundle.mjs')]);
  stamp(STAMP);
  say(`Built in ${((Date.now() - started) / 1000).toFixed(1)} s.`);
  return true;
}

function run(command, args) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit' });
  if (error !== undefined) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

function stamp(file) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${new Date().toISOString()}\n`);
}

/** The latest change of a file below a folder whose name ends in one of these. */
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

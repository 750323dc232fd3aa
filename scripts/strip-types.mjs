// Compiles the programs with esbuild, which removes types without checking them, for a checkout with production
// dependencies only. Writes the same files as `tsc -b`, except for declarations and tests.
// usage: strip-types.mjs PACKAGE … (PACKAGE: its folder below the project's root)
import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';

const root = resolve(import.meta.dirname, '..');
/** Folders of each package that programs load. */
const FOLDERS = { proto: ['gen', 'schemas'], default: ['src'] };
const SOURCE = /(?<!\.d)\.tsx?$/;

await Promise.all(process.argv.slice(2).map(compile));

function compile(name) {
  const home = join(root, name);
  const folders = FOLDERS[name] ?? FOLDERS.default;
  return build({
    entryPoints: folders.flatMap((folder) => sourcesIn(join(home, folder))),
    outbase: home,
    outdir: join(home, 'dist'),
    format: 'esm',
    platform: 'node',
    target: 'es2023',
    sourcemap: 'linked',
    sourcesContent: false,
    absWorkingDir: root,
    logLevel: 'error',
  });
}

function sourcesIn(folder) {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries.filter((one) => one.isFile() && SOURCE.test(one.name)).map((one) => join(one.parentPath, one.name));
}

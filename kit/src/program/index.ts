import { readFileSync, statSync } from 'node:fs';
import nodeModule from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { requireNode } from './node-version.js';
import { endInSources } from './stack.js';

export { nodeProblem, requireNode } from './node-version.js';
export { inSources } from './stack.js';

/** A file from which the bundle was built: its path from the project root, modification time and size. */
type Made = readonly [path: string, mtimeMs: number, size: number];

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const FOLDER = join(ROOT, 'dist', 'bundle');

/**
 * Runs one of the project's programs, either from the bundle that `npm run build` creates for all programs together, or
 * from its modules, which take longer to load.
 */
export async function startProgram(name: string, modules: () => Promise<unknown>): Promise<void> {
  requireNode();
  // Coverage counts the lines of modules, which the bundle does not have.
  const bundle = process.env.NODE_V8_COVERAGE === undefined ? freshBundle(name) : undefined;
  if (bundle === undefined) return void (await modules());
  prepareForBundle();
  await import(bundle);
}

/**
 * Returns the URL of a program in the bundle; undefined if there is no bundle or a file has changed since it was built.
 * The modules themselves are always current.
 */
export function freshBundle(name: string, folder = FOLDER, root = ROOT): string | undefined {
  try {
    const made = JSON.parse(readFileSync(join(folder, 'made-of.json'), 'utf8')) as readonly Made[];
    return made.every((one) => isAsItWas(root, one)) ? pathToFileURL(join(folder, `${name}.js`)).href : undefined;
  } catch {
    return undefined;
  }
}

function isAsItWas(root: string, [path, mtimeMs, size]: Made): boolean {
  const now = statSync(join(root, path), { throwIfNoEntry: false });
  return now?.mtimeMs === mtimeMs && now.size === size;
}

/**
 * Prepares for running the bundle. On Node 22 and later, compiled code is cached next to the bundle for the next start.
 */
function prepareForBundle(): void {
  endInSources();
  const { enableCompileCache } = nodeModule as { enableCompileCache?: (folder: string) => unknown };
  enableCompileCache?.(join(FOLDER, 'compiled'));
}

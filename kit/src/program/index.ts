import { readFileSync, statSync } from 'node:fs';
import nodeModule from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { endInSources } from './stack.js';

export { inSources } from './stack.js';

/** A file that the bundle was made of: its path from the root of the project, when it was written and its size. */
type Made = readonly [path: string, mtimeMs: number, size: number];

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const FOLDER = join(ROOT, 'dist', 'bundle');

/**
 * Runs one of the project's programs: its code in a few files, as `npm run build` makes them for all programs
 * together, or else its modules themselves, which take longer to load.
 */
export async function startProgram(name: string, modules: () => Promise<unknown>): Promise<void> {
  const bundle = freshBundle(name);
  if (bundle === undefined) return void (await modules());
  prepareForBundle();
  await import(bundle);
}

/**
 * The URL of a program in the bundle; undefined where there is none, or where a file has changed since: the modules
 * themselves are always right.
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

/** From Node 22 on what was compiled is kept beside the bundle, for the next start. */
function prepareForBundle(): void {
  endInSources();
  const { enableCompileCache } = nodeModule as { enableCompileCache?: (folder: string) => unknown };
  enableCompileCache?.(join(FOLDER, 'compiled'));
}

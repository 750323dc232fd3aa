import { fileURLToPath } from 'node:url';
import { Bundle, freshBundle, type Program, type Programs } from './bundle.js';
import { requireNode } from './node-version.js';
import { endInSources } from './stack.js';

export { Bundle, compiledFile, freshBundle, type Programs } from './bundle.js';
export { nodeProblem, requireNode } from './node-version.js';
export { inSources } from './stack.js';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));

/**
 * Runs one of the project's programs, either from the bundle that `npm run build` creates for all programs together, or
 * from its modules, which take longer to load.
 */
export async function startProgram(name: string, modules: () => Promise<Program>): Promise<void> {
  requireNode();
  const load = bundled(name) ?? modules;
  const { start } = await load();
  await start();
}

function bundled(name: string): (() => Promise<Program>) | undefined {
  // Coverage counts the lines of modules, which the bundle does not have.
  if (process.env.NODE_V8_COVERAGE !== undefined) return undefined;
  const path = freshBundle(ROOT);
  if (path === undefined) return undefined;
  endInSources();
  return (new Bundle().run(path) as { programs: Programs }).programs[name];
}

import { Bundle, type Program, type Programs } from './bundle.js';
import { currentBundle } from './current.js';
import { requireNode } from './node-version.js';
import { endInSources } from './stack.js';

export { Bundle, compile, compiledFile, freshBundle, type Programs } from './bundle.js';
export { nodeProblem, requireNode } from './node-version.js';
export { inSources } from './stack.js';
export { entryOf, startThread } from './thread.js';

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
  const { programs } = currentBundle() ?? {};
  if (programs === undefined) return undefined;
  endInSources();
  return (new Bundle().run(programs) as { programs: Programs }).programs[name];
}

import { fileURLToPath } from 'node:url';
import { type FreshBundle, freshBundle } from './bundle.js';

/** The root of the project. */
export const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));

let current: FreshBundle | undefined | 'unread' = 'unread';

/** Returns the project's bundle as it was at the first call; undefined if this process runs from modules. */
export function currentBundle(): FreshBundle | undefined {
  // Coverage counts the lines of modules, which the bundle does not have.
  if (current === 'unread') current = process.env.NODE_V8_COVERAGE === undefined ? freshBundle(ROOT) : undefined;
  return current;
}

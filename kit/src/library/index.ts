import { createRequire } from 'node:module';

export { loadInIdleTime, loadWhenIdle } from './idle.js';

/**
 * Returns a function that loads a library at its first call. Most processes never use such a library, and everything
 * loaded at start costs time and memory. `importer` is the caller's `import.meta.url`.
 */
export function lazyLibrary<T>(name: string, importer: string): () => T {
  let library: T | undefined;
  return () => {
    library ??= createRequire(importer)(name) as T;
    return library;
  };
}

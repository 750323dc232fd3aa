import { createRequire } from 'node:module';

/**
 * A library that is loaded with its first use, which most processes never come to: what a start loads
 * costs every start time and memory. `importer` is the caller's `import.meta.url`.
 */
export function lazyLibrary<T>(name: string, importer: string): () => T {
  let library: T | undefined;
  return () => {
    library ??= createRequire(importer)(name) as T;
    return library;
  };
}

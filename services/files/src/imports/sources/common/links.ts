import type { LinkTarget } from '../port.js';
import { folderOf, join } from './paths.js';

/** Returns whether a link leads out of the source: it has a scheme or a host. */
export const isOutside = (href: string): boolean => /^(?:[a-z][a-z\d+.-]*:|\/\/)/i.test(href.trim());

/** Returns a link's path without query and fragment. */
const bare = (href: string): string => href.trim().replace(/[?#].*$/s, '');

function decoded(text: string, decode = decodeURIComponent): string {
  try {
    return decode(text);
  } catch {
    return text;
  }
}

/** Joins a relative path to a folder. Returns undefined when it leads above the top. */
function within(folder: string, path: string): string | undefined {
  const parts: string[] = [];
  for (const part of join(path.startsWith('/') ? '' : folder, path).split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') parts.push(part);
    else if (parts.pop() === undefined) return undefined;
  }
  return parts.join('/');
}

/** Finds items by path, tolerating differences in case and Unicode normalization. */
export interface PathIndex {
  /** Stores the item at a path; the first one of a path is kept. */
  set(path: string, item: string): void;
  get(path: string): string | undefined;
}

const exact = (path: string): string => path.normalize('NFC');
const loose = (path: string): string => path.normalize('NFKC').toLowerCase();

export function createPathIndex(): PathIndex {
  const byPath = new Map<string, string>();
  const byLoose = new Map<string, string>();
  return {
    set(path, item) {
      if (!byPath.has(exact(path))) byPath.set(exact(path), item);
      if (!byLoose.has(loose(path))) byLoose.set(loose(path), item);
    },
    get: (path) => byPath.get(exact(path)) ?? byLoose.get(loose(path)),
  };
}

/** Returns the paths that a link in the entry `from` may mean, most likely ones first. */
export function pathsOf(from: string, href: string): string[] {
  const folder = folderOf(from);
  const raw = bare(href).replaceAll('\\', '/');
  // Some tools do not escape a `?` or `#` in a name.
  const whole = decoded(href.trim());
  const found = [decoded(raw), raw, decoded(raw, decodeURI), whole].flatMap((path) => within(folder, path) ?? []);
  return [...new Set(found)];
}

/** Resolves a relative link to an item: by its exact path, or with one of the `endings`. */
export function resolveRelative(
  from: string,
  href: string,
  index: PathIndex,
  endings: readonly string[] = [],
): LinkTarget {
  if (isOutside(href)) return { outside: true };
  for (const path of pathsOf(from, href)) {
    for (const ending of ['', ...endings]) {
      const item = index.get(path + ending);
      if (item !== undefined) return { item };
    }
  }
  return { broken: true };
}

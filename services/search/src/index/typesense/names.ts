import { randomBytes } from 'node:crypto';
import { STAMP } from './schema.js';

/** Names the two collections of an index, or their aliases. */
export interface Names {
  readonly entries: string;
  readonly words: string;
}

/** Names the collections and aliases of an installation. */
export interface Naming {
  /** Aliases of the index that answers. */
  readonly current: Names;
  /** Alias of the index that is being filled. */
  readonly next: string;
  readonly models: string;
  readonly locks: string;
  /** Returns a name for a new index. The name of one that is not filled yet shows this. */
  generation(incomplete: boolean): string;
  /** Returns whether a collection belongs to an index of this installation, of any version. */
  isGeneration(collection: string): boolean;
  chunks(key: string): string;
}

const INCOMPLETE_SUFFIX = '-young';
const WORDS = '-words';

export function namingFor(prefix: string): Naming {
  const base = `${prefix}-${STAMP}`;
  return {
    current: namesOf(base),
    next: `${base}-next`,
    models: `${prefix}-models`,
    locks: `${prefix}-locks`,
    generation: (incomplete) =>
      `${base}-g${Date.now().toString(36)}${randomBytes(3).toString('hex')}${incomplete ? INCOMPLETE_SUFFIX : ''}`,
    isGeneration: (collection) =>
      collection.startsWith(`${prefix}-`) && /^[0-9a-f]{8}-g[0-9a-z]+/.test(collection.slice(prefix.length + 1)),
    chunks: (key) => `${prefix}-chunks-${key}`,
  };
}

/** Returns the collections of an index by the name of its collection of entries. */
export function namesOf(entries: string): Names {
  return { entries, words: `${entries}${WORDS}` };
}

export function isIncomplete(entries: string): boolean {
  return entries.endsWith(INCOMPLETE_SUFFIX);
}

/** Returns when an index was begun, in epoch milliseconds. */
export function createdAt(entries: string): number {
  const stamp = /-g([0-9a-z]+)[0-9a-f]{6}(?:-young)?(?:-words)?$/.exec(entries)?.[1] ?? '';
  return Number.parseInt(stamp, 36) || 0;
}

import { randomBytes } from 'node:crypto';
import { STAMP } from './schema.js';

/** The two collections of an index, or aliases of them. */
export interface Names {
  readonly entries: string;
  readonly words: string;
}

/** What an installation's collections and aliases are called. */
export interface Naming {
  /** Aliases of the index that answers. */
  readonly current: Names;
  /** Alias of the index that is being filled. */
  readonly next: string;
  readonly models: string;
  readonly locks: string;
  /** A name for a new index. One that was not filled yet says so in its name. */
  generation(young: boolean): string;
  /** Tells whether a collection is one of an index of this installation, made by this version or another. */
  isGeneration(collection: string): boolean;
  chunks(key: string): string;
}

const YOUNG = '-young';
const WORDS = '-words';

export function namingFor(prefix: string): Naming {
  const base = `${prefix}-${STAMP}`;
  return {
    current: namesOf(base),
    next: `${base}-next`,
    models: `${prefix}-models`,
    locks: `${prefix}-locks`,
    generation: (young) => `${base}-g${Date.now().toString(36)}${randomBytes(3).toString('hex')}${young ? YOUNG : ''}`,
    isGeneration: (collection) =>
      collection.startsWith(`${prefix}-`) && /^[0-9a-f]{8}-g[0-9a-z]+/.test(collection.slice(prefix.length + 1)),
    chunks: (key) => `${prefix}-chunks-${key}`,
  };
}

/** The collections of an index by the name of that of its entries. */
export function namesOf(entries: string): Names {
  return { entries, words: `${entries}${WORDS}` };
}

export function isYoung(entries: string): boolean {
  return entries.endsWith(YOUNG);
}

/** When an index was begun, in milliseconds. */
export function bornAt(entries: string): number {
  const stamp = /-g([0-9a-z]+)[0-9a-f]{6}(?:-young)?(?:-words)?$/.exec(entries)?.[1] ?? '';
  return Number.parseInt(stamp, 36) || 0;
}

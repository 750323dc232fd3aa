import { nameIn } from '../../domain/wiki-links.js';
import type { LinkTarget, Source, SourceItem } from '../port.js';
import { baseName, folderOf } from './names.js';

const SCHEME = /^(?:[a-z][a-z0-9+.-]*:|\/\/)/i;
const OUTSIDE: LinkTarget = { outside: true };
const BROKEN: LinkTarget = { broken: true };

/**
 * Resolves links as a reader of the files would, and as static site generators do: with or without `.md`, with `.html`
 * for `.md`, to a folder with an index, from the top of the archive, and ignoring case. Names, as in `[[page]]`, are
 * resolved as Obsidian does.
 */
export function resolverOf(items: readonly SourceItem[], indexes: ReadonlyMap<string, string>): Source['resolve'] {
  const { folded, others } = indexOf(items);
  const top = topOf(items);
  const isHeld = (path: string): boolean => {
    const known = folded.get(path.toLowerCase());
    return (known?.path === path && known.kind !== 'folder') || others.has(path);
  };

  const find = (path: string): string | undefined => {
    const index = indexes.get(path) ?? indexes.get(folded.get(path.toLowerCase())?.path ?? path);
    if (index !== undefined) return index;
    for (const one of formsOf(path)) if (isHeld(one)) return one;
    // A page takes precedence over a folder of its name that has no index.
    for (const one of [...formsOf(path).slice(1), path]) {
      const known = folded.get(one.toLowerCase());
      if (known !== undefined) return known.path;
    }
    return undefined;
  };

  const byName = createNames(items);
  /** Finds what a name means: next to the page, from the top, or the item closest to the top whose path ends with it. */
  const named = (from: SourceItem, name: string): LinkTarget => {
    const target = name.replaceAll('\\', '/');
    if (SCHEME.test(target)) return OUTSIDE;
    if (target === '') return { item: from.path };
    const isRelative = /^\.\.?\//.test(target);
    for (const base of isRelative ? [folderOf(from.path)] : [folderOf(from.path), '', top]) {
      const path = joined(base, target);
      const item = path === undefined ? undefined : find(path);
      if (item !== undefined) return { item };
    }
    const item = isRelative ? undefined : byName(target.normalize('NFC'));
    return item === undefined ? BROKEN : { item };
  };

  return (from, href) => {
    const name = nameIn(href);
    if (name !== undefined) return named(from, name);
    if (href === '' || SCHEME.test(href)) return OUTSIDE;
    const target = decoded(href.replace(/\?.*$/s, '').replaceAll('\\', '/'));
    const isRooted = target.startsWith('/');
    const bases = isRooted ? ['', top] : [folderOf(from.path)];
    for (const base of bases) {
      const path = joined(base, target);
      const item = path === undefined ? undefined : find(path);
      if (item !== undefined) return { item };
    }
    return target === '' ? OUTSIDE : BROKEN;
  };
}

/**
 * Indexes items by the lower case of their paths: pages and files before folders, and the last of several. `others`
 * holds the paths of the pages and files that another one hides.
 */
function indexOf(items: readonly SourceItem[]) {
  const folded = new Map<string, SourceItem>();
  const others = new Set<string>();
  for (const item of items) {
    const key = item.path.toLowerCase();
    const known = folded.get(key);
    if (known !== undefined && known.kind !== 'folder') {
      if (item.kind === 'folder') continue;
      others.add(known.path);
    }
    folded.set(key, item);
  }
  return { folded, others };
}

/** Returns a function that finds the page or file closest to the top whose path ends with a name. */
function createNames(items: readonly SourceItem[]): (name: string) => string | undefined {
  let byBase: Map<string, string[]> | undefined;
  const index = (): Map<string, string[]> => {
    const made = new Map<string, string[]>();
    for (const { path, kind } of items) {
      if (kind === 'folder') continue;
      const base = baseName(path).toLowerCase();
      const known = made.get(base);
      if (known === undefined) made.set(base, [path]);
      else known.push(path);
    }
    for (const paths of made.values()) paths.sort((a, b) => depthOf(a) - depthOf(b));
    return made;
  };
  return (name) => {
    byBase ??= index();
    for (const form of formsOf(name.toLowerCase())) {
      const found = byBase.get(baseName(form))?.find((path) => `/${path.toLowerCase()}`.endsWith(`/${form}`));
      if (found !== undefined) return found;
    }
    return undefined;
  };
}

const depthOf = (path: string): number => path.split('/').length;

/** Returns the folder that contains all items, if there is one, else the top. */
function topOf(items: readonly SourceItem[]): string {
  const tops = items.filter(({ parent }) => parent === undefined);
  const [only] = tops;
  return tops.length === 1 && only?.kind === 'folder' ? only.path : '';
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Joins a relative path to a folder, normalized. Returns undefined when it leads out of the archive. */
function joined(base: string, target: string): string | undefined {
  const parts = base === '' ? [] : base.split('/');
  for (const part of target.split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') parts.push(part);
    else if (parts.pop() === undefined) return undefined;
  }
  return parts.join('/').normalize('NFC');
}

function formsOf(path: string): string[] {
  return [path, `${path}.md`, path.replace(/\.html?$/i, '.md'), `${path}.markdown`, `${path}.mdx`];
}

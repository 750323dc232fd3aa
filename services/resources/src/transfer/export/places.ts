import type { Node } from '../../domain/node.js';
import type { TransferParts } from '../parts.js';

/** Assigns paths in a readable archive: folders by name, with the end of the id appended to each name. */
export interface Places {
  /** Returns the path without an extension; descendants are in the folder of this name. */
  of(node: Node): Promise<string>;
  /** Returns nodes and paths of some live resources by id; leaves out those of other workspaces. */
  many(workspaceId: string, ids: readonly string[]): Promise<ReadonlyMap<string, { node: Node; path: string }>>;
  /** Returns the end of an artifact's path, which its content tells: `read` reads it unless it was read before. */
  endOfArtifact(id: string, read: () => Promise<string>): Promise<string>;
}

/** Maximum number of cached names. */
const MAX_CACHED_NAMES = 50_000;

export function createPlaces({ tree }: Pick<TransferParts, 'tree'>): Places {
  const names = new Map<string, string>();
  const ends = new Map<string, string>();

  async function nameOf(ids: readonly string[]): Promise<void> {
    const missing = ids.filter((id) => !names.has(id));
    if (missing.length === 0) return;
    if (names.size > MAX_CACHED_NAMES) names.clear();
    for (const node of await tree.getMany([...new Set(missing)])) names.set(node.id, componentOf(node));
  }

  async function pathOf(node: Node): Promise<string> {
    await nameOf(node.ancestors);
    return [...node.ancestors.flatMap((id) => names.get(id) ?? []), componentOf(node)].join('/');
  }

  return {
    of: pathOf,
    async endOfArtifact(id, read) {
      const end = ends.get(id) ?? (await read());
      if (ends.size > MAX_CACHED_NAMES) ends.clear();
      ends.set(id, end);
      return end;
    },
    async many(workspaceId, ids) {
      const found = ids.length === 0 ? [] : await tree.getMany([...new Set(ids)]);
      const here = found.filter((node) => node.workspaceId === workspaceId && node.state === 'active');
      await nameOf(here.flatMap(({ ancestors }) => ancestors));
      return new Map(
        await Promise.all(here.map(async (node) => [node.id, { node, path: await pathOf(node) }] as const)),
      );
    },
  };
}

/** Maximum characters of a name in a path, so that 32 levels stay within the limits of most file systems. */
const MAX_NAME_CHARS = 60;

/** Returns a unique name that every file system accepts, and none hides. */
function componentOf({ id, name, type }: Pick<Node, 'id' | 'name' | 'type'>): string {
  const dot = type === 'file' ? name.lastIndexOf('.') : -1;
  const stem = dot > 0 ? name.slice(0, dot) : name;
  const plain = [
    ...stem
      .replace(/[\p{Cc}<>:"/\\|?*#%]+/gu, ' ')
      .replace(/\s+/g, ' ')
      .replace(/^[. ]+|[. ]+$/g, ''),
  ]
    .slice(0, MAX_NAME_CHARS)
    .join('');
  return `${plain.replace(/[. ]+$/, '') || 'Untitled'} ${id.slice(-8)}`;
}

/** Returns the end of the path of a resource that is no artifact in an archive of a format. */
export function extensionOf({ type, name }: Pick<Node, 'type' | 'name'>, format: 'markdown' | 'html'): string {
  const page = format === 'markdown' ? '.md' : '.html';
  if (type === 'document') return page;
  if (type === 'table') return format === 'markdown' ? '.csv' : '.html';
  if (type === 'file') return /\.[\p{L}\p{N}]{1,16}$/u.exec(name)?.[0] ?? '';
  return format === 'markdown' ? '' : '/index.html';
}

/** Returns the relative link from one path to another. */
export function linkBetween(from: string, to: string): string {
  const [here, there] = [from.split('/').slice(0, -1), to.split('/')];
  let common = 0;
  while (common < here.length && common < there.length - 1 && here[common] === there[common]) common++;
  const up = here.slice(common).map(() => '..');
  return [...up, ...there.slice(common).map((part) => encodeURIComponent(part).replace(/[()']/g, escaped))].join('/');
}

/** Escapes a character that `encodeURIComponent` leaves and that would end a link in Markdown. */
function escaped(char: string): string {
  return `%${char.charCodeAt(0).toString(16)}`;
}

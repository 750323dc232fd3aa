import type { Parts } from '../parts.js';
import type { Node } from '../stores/nodes.js';

/** Where resources lie in an archive for people: in folders by name, each name with the end of the id. */
export interface Places {
  /** Path without an extension; what lies below a resource lies in the folder of this name. */
  of(node: Node): Promise<string>;
  /** The same of some resources by id, with their nodes; what is not in the workspace is left out. */
  many(workspaceId: string, ids: readonly string[]): Promise<ReadonlyMap<string, { node: Node; path: string }>>;
}

/** Names that are kept at once. */
const KNOWN = 50_000;

export function createPlaces({ tree }: Parts): Places {
  const names = new Map<string, string>();

  async function nameOf(ids: readonly string[]): Promise<void> {
    const missing = ids.filter((id) => !names.has(id));
    if (missing.length === 0) return;
    if (names.size > KNOWN) names.clear();
    for (const node of await tree.getMany([...new Set(missing)])) names.set(node.id, componentOf(node));
  }

  async function pathOf(node: Node): Promise<string> {
    await nameOf(node.ancestors);
    return [...node.ancestors.flatMap((id) => names.get(id) ?? []), componentOf(node)].join('/');
  }

  return {
    of: pathOf,
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

/** Characters of a name in a path: 32 levels of them stay below what file systems take in most trees. */
const LENGTH = 60;

/** A name that every file system takes, unlike any other's. */
function componentOf({ id, name, type }: Pick<Node, 'id' | 'name' | 'type'>): string {
  const dot = type === 'file' ? name.lastIndexOf('.') : -1;
  const stem = dot > 0 ? name.slice(0, dot) : name;
  const plain = [
    ...stem
      .replace(/[\p{Cc}<>:"/\\|?*#%]+/gu, ' ')
      .replace(/\s+/g, ' ')
      .trim(),
  ]
    .slice(0, LENGTH)
    .join('');
  return `${plain.replace(/[. ]+$/, '') || 'Untitled'} ${id.slice(-8)}`;
}

/** What a resource's entry ends with in an archive of a format. */
export function extensionOf({ type, name }: Pick<Node, 'type' | 'name'>, format: 'markdown' | 'html'): string {
  const page = format === 'markdown' ? '.md' : '.html';
  if (type === 'document') return page;
  if (type === 'table') return format === 'markdown' ? '.csv' : '.html';
  if (type === 'file') return /\.[\p{L}\p{N}]{1,16}$/u.exec(name)?.[0] ?? '';
  return type === 'artifact' ? '.txt' : format === 'markdown' ? '' : '/index.html';
}

/** A path as a link from another's place leads to it. */
export function linkBetween(from: string, to: string): string {
  const [here, there] = [from.split('/').slice(0, -1), to.split('/')];
  let common = 0;
  while (common < here.length && common < there.length - 1 && here[common] === there[common]) common++;
  const up = here.slice(common).map(() => '..');
  return [...up, ...there.slice(common).map((part) => encodeURIComponent(part).replace(/[()']/g, escaped))].join('/');
}

/** What `encodeURIComponent` leaves, and what would end a link in Markdown. */
function escaped(char: string): string {
  return `%${char.charCodeAt(0).toString(16)}`;
}

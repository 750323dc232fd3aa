import { createHash } from 'node:crypto';
import type { Breathe } from '@commonplace/kit/slices';
import type { Node } from '../domain/node.js';
import type { PinnedPage, PublicationRecord } from './records.js';
import { endOf } from './slugs.js';

/** One page or file of a publication, as its readers see it. */
export type ShownItem = Pick<
  Node,
  | 'id'
  | 'parentKey'
  | 'position'
  | 'type'
  | 'name'
  | 'icon'
  | 'description'
  | 'attachment'
  | 'file'
  | 'contentVersion'
  | 'sizeBytes'
  | 'updatedBy'
  | 'createdAt'
  | 'updatedAt'
> & {
  /** The node's current state. Its current content is read unless `keptId` names stored content. */
  readonly node: Node;
  readonly keptId?: string;
};

export interface Entry {
  readonly shown: ShownItem;
  /** Levels below the published item: 1 for its direct children. */
  readonly depth: number;
}

/** What readers see of a publication, computed from its nodes. */
export interface Outline {
  /** The published resource; undefined for a workspace. */
  readonly head: ShownItem | undefined;
  /** Pages below the head, depth first. */
  readonly entries: readonly Entry[];
  /** The same pages by the id of the item above them, the published one included, in their order. */
  readonly children: ReadonlyMap<string, readonly ShownItem[]>;
  /** Everything that may be requested by id: the head, the pages, and the attachments of both. */
  readonly byId: ReadonlyMap<string, ShownItem>;
  /** The same items by the end of their ids, which the addresses of pages contain. */
  readonly byEnd: ReadonlyMap<string, ShownItem>;
  /** When something in the outline was last changed; undefined if it is empty. */
  readonly updatedAt: string | undefined;
  /** Changes whenever anything in the outline changes. */
  readonly fingerprint: string;
}

/** Maximum number of pages and files of one publication; further ones are not shown. */
export const MAX_PAGES = 10_000;

type OutlineTerms = Pick<PublicationRecord, 'itemId' | 'kind' | 'includeChildren'>;

/** Number of pages that are handled before the clock is read. */
const PAGES_AT_ONCE = 200;

/**
 * Builds an outline, and yields to other requests in between. `nodes` are the active nodes of the publication's boundary,
 * including the head if there is one. `pinned` are the stored pages if readers see a pinned edition. A node is shown if all
 * nodes above it are shown.
 */
export async function outlineOf(
  { itemId, kind, includeChildren }: OutlineTerms,
  nodes: readonly Node[],
  breathe: Breathe,
  pinned?: readonly PinnedPage[],
): Promise<Outline> {
  const shown = pinned === undefined ? await shownNow(nodes, breathe) : shownAsPinned(nodes, pinned);
  const below = new Map<string, ShownItem[]>();
  for (const one of shown) {
    if (one.id === itemId) continue;
    const siblings = below.get(one.parentKey);
    if (siblings === undefined) below.set(one.parentKey, [one]);
    else siblings.push(one);
  }
  for (const siblings of below.values()) {
    siblings.sort(byPosition);
    await breathe();
  }
  const head = kind === 'resource' ? shown.find(({ id }) => id === itemId) : undefined;
  const byId = new Map<string, ShownItem>();
  const entries: Entry[] = [];
  const children = new Map<string, ShownItem[]>();
  if (head !== undefined) byId.set(head.id, head);
  if (head !== undefined || kind === 'workspace') {
    await walk(itemId, 1, { below, includeChildren, byId, entries, children, breathe });
  }
  await breathe();
  const byEnd = new Map([...byId].map(([id, one]) => [endOf(id), one]));
  await breathe();
  return { head, entries, children, byId, byEnd, ...(await changesOf(byId.values(), breathe)) };
}

interface Walk {
  /** Everything by the item above it, including what is not shown. */
  readonly below: ReadonlyMap<string, readonly ShownItem[]>;
  readonly includeChildren: boolean;
  readonly byId: Map<string, ShownItem>;
  readonly entries: Entry[];
  readonly children: Map<string, ShownItem[]>;
  readonly breathe: Breathe;
}

async function walk(parentKey: string, depth: number, to: Walk): Promise<void> {
  const pages: ShownItem[] = [];
  for (const one of to.below.get(parentKey) ?? []) {
    if (one.attachment) to.byId.set(one.id, one);
    else if (to.includeChildren) {
      to.byId.set(one.id, one);
      to.entries.push({ shown: one, depth });
      pages.push(one);
      if (to.below.has(one.id)) await walk(one.id, depth + 1, to);
      if (to.byId.size % PAGES_AT_ONCE === 0) await to.breathe();
    }
  }
  if (pages.length > 0) to.children.set(parentKey, pages);
}

function byPosition(a: ShownItem, b: ShownItem): number {
  if (a.position !== b.position) return a.position < b.position ? -1 : 1;
  return a.id < b.id ? -1 : 1;
}

async function shownNow(nodes: readonly Node[], breathe: Breathe): Promise<ShownItem[]> {
  const shown: ShownItem[] = [];
  for (const node of nodes) {
    if (shown.push({ ...pick(node), node }) % PAGES_AT_ONCE === 0) await breathe();
  }
  return shown;
}

/** Returns the pinned pages that still exist; later names, positions and contents are ignored. */
function shownAsPinned(nodes: readonly Node[], pinned: readonly PinnedPage[]): ShownItem[] {
  const live = new Map(nodes.map((node) => [node.id, node]));
  return pinned.flatMap((page) => {
    const node = live.get(page.nodeId);
    return node === undefined ? [] : [{ ...pick({ ...page, id: page.nodeId }), node, keptId: page.keptId }];
  });
}

/** Picks the fields of a page from a record. */
export function pick(
  from: { [F in keyof Omit<ShownItem, 'node' | 'keptId'>]: ShownItem[F] | undefined },
): Omit<ShownItem, 'node'> {
  const { id, parentKey, position, type, name, icon, description, attachment, file } = from as ShownItem;
  const { contentVersion, sizeBytes, updatedBy, createdAt, updatedAt } = from as ShownItem;
  return {
    id,
    parentKey,
    position,
    type,
    name,
    ...(icon === undefined ? {} : { icon }),
    ...(description === undefined ? {} : { description }),
    ...(attachment === undefined ? {} : { attachment }),
    ...(file === undefined ? {} : { file }),
    contentVersion,
    sizeBytes,
    updatedBy,
    createdAt,
    updatedAt,
  };
}

/** Returns the fingerprint and the time of the last change of what is shown. */
async function changesOf(
  shown: Iterable<ShownItem>,
  breathe: Breathe,
): Promise<Pick<Outline, 'updatedAt' | 'fingerprint'>> {
  const hash = createHash('sha256');
  let latest: string | undefined;
  let count = 0;
  for (const { id, keptId, node, updatedAt } of shown) {
    hash.update(`${id} ${keptId ?? node.version}\n`);
    if (latest === undefined || updatedAt > latest) latest = updatedAt;
    if (++count % PAGES_AT_ONCE === 0) await breathe();
  }
  return { updatedAt: latest, fingerprint: hash.digest('base64url').slice(0, 22) };
}

import { createHash } from 'node:crypto';
import type { Node } from '../stores/nodes.js';
import type { PinnedPage, PublicationRecord } from '../stores/publications.js';
import { endOf } from './slugs.js';

/** One page or file of a publication, as its readers see it. */
export type Shown = Pick<
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
  /** The node as it is now: its content is read by it unless a kept one is named. */
  readonly node: Node;
  readonly keptId?: string;
};

export interface Entry {
  readonly shown: Shown;
  /** Below what is published: 1 for what is right below it. */
  readonly depth: number;
}

/** What readers see of a publication, worked out of its nodes. */
export interface Outline {
  /** The published resource; undefined for a workspace. */
  readonly head: Shown | undefined;
  /** Pages below it, depth first. */
  readonly entries: readonly Entry[];
  /** Everything that may be asked for by its id: the head, the pages, and the attachments of both. */
  readonly byId: ReadonlyMap<string, Shown>;
  /** The same by the end of the id, which stands in addresses. */
  readonly byEnd: ReadonlyMap<string, Shown>;
  /** Another one whenever anything of this is. */
  readonly fingerprint: string;
}

/** Pages and files of one publication; what is beyond is not shown. */
export const MOST_PAGES = 10_000;

export type OutlineTerms = Pick<PublicationRecord, 'itemId' | 'kind' | 'includeChildren'>;

/**
 * Puts an outline together. `nodes` are live nodes of the publication's boundary, `head` among them where there is
 * one; `pinned` what was kept of them, where that is what readers see. A node is shown when the way down to it is.
 */
export function outlineOf(
  { itemId, kind, includeChildren }: OutlineTerms,
  nodes: readonly Node[],
  pinned?: readonly PinnedPage[],
): Outline {
  const shown = pinned === undefined ? nodes.map(shownNow) : shownAsPinned(nodes, pinned);
  const children = new Map<string, Shown[]>();
  for (const one of shown) {
    if (one.id === itemId) continue;
    const siblings = children.get(one.parentKey);
    if (siblings === undefined) children.set(one.parentKey, [one]);
    else siblings.push(one);
  }
  for (const siblings of children.values()) siblings.sort(byPosition);
  const head = kind === 'resource' ? shown.find(({ id }) => id === itemId) : undefined;
  const byId = new Map<string, Shown>();
  const entries: Entry[] = [];
  if (head !== undefined) byId.set(head.id, head);
  if (head !== undefined || kind === 'workspace') {
    walk(itemId, 1, { children, includeChildren, byId, entries });
  }
  const byEnd = new Map([...byId].map(([id, one]) => [endOf(id), one]));
  return { head, entries, byId, byEnd, fingerprint: fingerprintOf(byId.values()) };
}

interface Walk {
  readonly children: ReadonlyMap<string, readonly Shown[]>;
  readonly includeChildren: boolean;
  readonly byId: Map<string, Shown>;
  readonly entries: Entry[];
}

function walk(parentKey: string, depth: number, to: Walk): void {
  for (const one of to.children.get(parentKey) ?? []) {
    if (one.attachment) to.byId.set(one.id, one);
    else if (to.includeChildren) {
      to.byId.set(one.id, one);
      to.entries.push({ shown: one, depth });
      walk(one.id, depth + 1, to);
    }
  }
}

function byPosition(a: Shown, b: Shown): number {
  if (a.position !== b.position) return a.position < b.position ? -1 : 1;
  return a.id < b.id ? -1 : 1;
}

const shownNow = (node: Node): Shown => ({ ...pick(node), node });

/** What was pinned and is still there to be shown: later names, places and contents do not count. */
function shownAsPinned(nodes: readonly Node[], pinned: readonly PinnedPage[]): Shown[] {
  const live = new Map(nodes.map((node) => [node.id, node]));
  return pinned.flatMap((page) => {
    const node = live.get(page.nodeId);
    return node === undefined ? [] : [{ ...pick({ ...page, id: page.nodeId }), node, keptId: page.keptId }];
  });
}

/** What a record says of a page, without all else that it holds. */
export function pick(from: { [F in keyof Omit<Shown, 'node' | 'keptId'>]: Shown[F] | undefined }): Omit<Shown, 'node'> {
  const { id, parentKey, position, type, name, icon, description, attachment, file } = from as Shown;
  const { contentVersion, sizeBytes, updatedBy, createdAt, updatedAt } = from as Shown;
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

function fingerprintOf(shown: Iterable<Shown>): string {
  const hash = createHash('sha256');
  for (const { id, keptId, node } of shown) hash.update(`${id} ${keptId ?? node.version}\n`);
  return hash.digest('base64url').slice(0, 22);
}

import { createBreathe } from '@commonplace/kit/slices';
import { type Collection, findPages, type Query } from '@commonplace/kit/store';
import { LRUCache } from 'lru-cache';
import type { Node } from '../domain/node.js';
import type { Counters } from '../nodes/counters.js';
import type { PendingJobs } from '../nodes/pending.js';
import type { Tree } from '../nodes/tree.js';
import { MAX_PAGES, type Outline, outlineOf } from './outline.js';
import { restrictedSince } from './publication-state.js';
import type { PinnedPage, PublicationRecord } from './records.js';

export type OutlineTarget = Pick<
  PublicationRecord,
  'id' | 'itemId' | 'kind' | 'workspaceId' | 'boundary' | 'includeChildren' | 'mode' | 'edition' | 'version'
>;

/** Computes what readers see of publications. */
export interface Outlines {
  /**
   * Returns the outline; undefined if the published item is missing, in the trash, or was restricted after publishing.
   */
  of(publication: OutlineTarget): Promise<Outline | undefined>;
  /** Returns the current outline without using or filling the cache. */
  fresh(publication: OutlineTarget): Promise<Outline | undefined>;
  /** Returns the current nodes that a publication shows: the resource itself first, including attachments. */
  nodesOf(publication: OutlineTarget): Promise<Node[] | undefined>;
}

interface CachedOutline {
  readonly stamp: string;
  readonly readAt: number;
  /** Readers who come while it is read wait for the same outline. */
  readonly outline: Promise<Outline | undefined>;
}

/**
 * Milliseconds that an outline is cached at most; a visible change in the workspace invalidates it earlier. The limit
 * is needed because the clocks of two processes may differ, so that a change can look older than it is.
 */
const MAX_AGE_MS = 2000;

interface OutlineParts {
  readonly tree: Tree;
  readonly pinned: Collection<PinnedPage>;
  readonly counters: Counters;
  readonly pending: PendingJobs;
}

export function createOutlines({ tree, pinned, counters, pending }: OutlineParts): Outlines {
  const known = new LRUCache<string, CachedOutline>({ max: 500 });

  async function nodesOf(publication: OutlineTarget): Promise<Node[] | undefined> {
    return publication.kind === 'workspace' ? nodesOfWorkspace(tree, publication) : nodesBelow(tree, publication);
  }

  async function read(publication: OutlineTarget): Promise<Outline | undefined> {
    const nodes = await nodesOf(publication);
    if (nodes === undefined) return undefined;
    const { edition } = publication;
    const pages = edition === undefined ? undefined : await pinned.find({ where: { edition }, limit: MAX_PAGES });
    return outlineOf(publication, nodes, createBreathe(), pages);
  }

  /**
   * Returns a stamp that changes with nearly every change to the visible tree. It reads only the ends of three indexes.
   */
  async function stampOf({ id, version, workspaceId, kind, itemId, boundary }: OutlineTarget): Promise<string> {
    const head = kind === 'resource' ? await tree.get(itemId) : undefined;
    const where = head?.workspaceId ?? workspaceId;
    const [[changed], [trashed], count, jobs] = await Promise.all([
      tree.nodes.find({ where: { workspaceId: where, state: 'active' }, sort: ['-updatedAt'], limit: 1 }),
      tree.nodes.find({ where: { workspaceId: where, state: 'trashed' }, sort: ['-trashedAt'], limit: 1 }),
      counters.ofBoundaries([head?.boundary ?? boundary]),
      pending.in(where),
    ]);
    const heads = jobs.map((job) => `${job.id}:${job.version}`).join(',');
    const last = [changed?.id, changed?.version, trashed?.id, trashed?.version];
    return [id, version, head?.version, head?.state, head?.boundary, ...last, count, heads].join(' ');
  }

  return {
    nodesOf,
    fresh: read,
    async of(publication) {
      const stamp = await stampOf(publication);
      const remembered = known.get(publication.id);
      const now = performance.now();
      if (remembered?.stamp === stamp && now - remembered.readAt < MAX_AGE_MS) return remembered.outline;
      const outline = read(publication);
      known.set(publication.id, { stamp, readAt: now, outline });
      outline.catch(() => {
        if (known.peek(publication.id)?.outline === outline) known.delete(publication.id);
      });
      return outline;
    },
  };
}

async function nodesOfWorkspace(tree: Tree, { itemId }: OutlineTarget): Promise<Node[]> {
  const where = { workspaceId: itemId, state: 'active', boundary: itemId } as const;
  return openNodes(tree, { where, sort: ['position'] }, itemId);
}

async function nodesBelow(tree: Tree, publication: OutlineTarget): Promise<Node[] | undefined> {
  const head = await tree.get(publication.itemId);
  if (head === undefined || head.state !== 'active') return undefined;
  if (restrictedSince(head, publication)) return undefined;
  const where = { ancestors: { contains: head.id }, state: 'active', boundary: head.boundary } as const;
  return [head, ...(await openNodes(tree, { where }, head.boundary))];
}

/** Number of nodes that one query reads. */
const PAGE = 200;

/** Returns the nodes of a query that a publication may show; of more than `MAX_PAGES`, the first. */
async function openNodes(tree: Tree, query: Pick<Query<Node>, 'where' | 'sort'>, boundary: string): Promise<Node[]> {
  const open: Node[] = [];
  let read = 0;
  for await (const page of findPages(tree.nodes, query, PAGE)) {
    for (const node of await tree.resolve(page)) if (isOpen(node, boundary)) open.push(node);
    read += page.length;
    if (read >= MAX_PAGES) break;
  }
  return open;
}

function isOpen(node: Node, boundary: string): boolean {
  return node.state === 'active' && node.boundary === boundary && node.template === undefined;
}

import type { Collection, CollectionSpec, StoredRecord, UnitOfWork } from '@commonplace/kit/store';
import type { Node } from '../domain/node.js';
import { type TagUsage, USAGE_SLOTS } from './tag-usage.js';

/** Number of live nodes in a boundary, split into slots that are summed. */
interface Counter extends StoredRecord {
  readonly workspaceId: string;
  readonly boundary: string;
  readonly active: number;
}

export const counterCollection: CollectionSpec<Counter> = {
  name: 'counters',
  // They contain what is summed, so that a list's total reads no record.
  indexes: [{ fields: ['boundary', 'active'] }, { fields: ['workspaceId', 'boundary', 'active'] }],
};

/** Number of slots of a counter, so that concurrent creations do not contend on one record. */
const SLOTS = 8;

/** The fields of a node that decide which counters count it. */
type CountedNode = Pick<Node, 'id' | 'boundary' | 'workspaceId' | 'tags' | 'attachment'>;

/** The fields that decide whether and where a record is counted. */
type StoredNode = CountedNode & Pick<Node, 'state'>;

export interface Counters {
  /** Adds live nodes to the counters of their boundaries and tags; subtracts them if `by` is −1. */
  add(work: UnitOfWork, nodes: readonly CountedNode[], by: 1 | -1): void;
  /** Moves nodes from the counters of their records to those of what replaces these. Trashed nodes are not counted. */
  replace(work: UnitOfWork, changes: readonly { readonly before: StoredNode; readonly after: StoredNode }[]): void;
  /** Returns the number of live nodes in a workspace, attachments included. */
  ofWorkspace(workspaceId: string): Promise<number>;
  /** Returns that number by workspace id; workspaces that have never held a node are left out. */
  ofWorkspaces(workspaceIds: readonly string[]): Promise<Map<string, number>>;
  /** Returns the number of live nodes in some boundaries, without attachments. */
  ofBoundaries(boundaries: readonly string[]): Promise<number>;
  attachmentsIn(workspaceId: string): Promise<number>;
  /**
   * Counts the live nodes of a workspace, or of some boundaries, without attachments, and the attachments of the
   * workspace in one read.
   */
  inWorkspace(workspaceId: string, boundaries: readonly string[] | undefined): Promise<WorkspaceCount>;
}

interface WorkspaceCount {
  readonly nodes: number;
  readonly attachments: number;
}

export function createCounters(collection: Collection<Counter>, usage: Collection<TagUsage>): Counters {
  function write(work: UnitOfWork, changes: readonly { readonly node: CountedNode; readonly by: 1 | -1 }[]): void {
    const boundaries = new Map<string, { fixed: Pick<Counter, 'workspaceId' | 'boundary'>; count: number }>();
    const tags = new Map<string, { fixed: Pick<TagUsage, 'workspaceId' | 'tagId'>; count: number }>();
    for (const { node, by } of changes) {
      const { workspaceId } = node;
      const boundary = node.attachment ? attachmentsOf(workspaceId) : node.boundary;
      const slot = slotOf(node.id);
      sum(boundaries, `${keyOf({ workspaceId, boundary })}:${slot}`, { workspaceId, boundary }, by);
      for (const tagId of node.tags) {
        sum(tags, `${workspaceId}:${tagId}:${slot % USAGE_SLOTS}`, { workspaceId, tagId }, by);
      }
    }
    for (const [id, { fixed, count }] of boundaries) {
      if (count !== 0) work.increment(collection, id, 'active', count, fixed);
    }
    for (const [id, { fixed, count }] of tags) {
      if (count !== 0) work.increment(usage, id, 'active', count, fixed);
    }
  }

  return {
    add: (work, nodes, by) =>
      write(
        work,
        nodes.map((node) => ({ node, by })),
      ),
    replace(work, changes) {
      const moved = changes.filter(({ before, after }) => !isCountedAlike(before, after));
      if (moved.length === 0) return;
      const gone = moved.filter(({ before }) => before.state === 'active').map(({ before }) => before);
      const come = moved.filter(({ after }) => after.state === 'active').map(({ after }) => after);
      write(work, [
        ...gone.map((node) => ({ node, by: -1 }) as const),
        ...come.map((node) => ({ node, by: 1 }) as const),
      ]);
    },
    ofWorkspace: (workspaceId) => collection.sum('active', { workspaceId }),
    ofWorkspaces: (workspaceIds) =>
      collection.sumBy({ sum: 'active', by: 'workspaceId' }, { workspaceId: { in: workspaceIds } }),
    ofBoundaries: (boundaries) => collection.sum('active', { boundary: { in: boundaries } }),
    attachmentsIn: (workspaceId) => collection.sum('active', { boundary: attachmentsOf(workspaceId) }),
    async inWorkspace(workspaceId, boundaries) {
      const own = attachmentsOf(workspaceId);
      const where = boundaries === undefined ? { workspaceId } : { boundary: { in: [...boundaries, own] } };
      const counts = await collection.sumBy({ sum: 'active', by: 'boundary' }, where);
      const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
      const attachments = counts.get(own) ?? 0;
      return { nodes: all - attachments, attachments };
    },
  };
}

function isCountedAlike(a: StoredNode, b: StoredNode): boolean {
  const alike = a.state === b.state && a.boundary === b.boundary && a.workspaceId === b.workspaceId;
  return alike && a.tags === b.tags && a.attachment === b.attachment;
}

function sum<F>(sums: Map<string, { fixed: F; count: number }>, id: string, fixed: F, by: number): void {
  const known = sums.get(id);
  if (known === undefined) sums.set(id, { fixed, count: by });
  else known.count += by;
}

/** Returns the key under which attachments are counted: apart from boundaries, because tree listings leave them out. */
function attachmentsOf(workspaceId: string): string {
  return `attachments:${workspaceId}`;
}

/**
 * Returns the id of a boundary's counter. A restricted node that moves to another workspace keeps its boundary, so the
 * key includes the workspace.
 */
function keyOf({ boundary, workspaceId }: Pick<Node, 'boundary' | 'workspaceId'>): string {
  return boundary === workspaceId ? boundary : `${workspaceId}:${boundary}`;
}

/** Returns the slot of a node. Ids end in random bits, so nodes spread evenly. */
function slotOf(id: string): number {
  return id.charCodeAt(id.length - 1) % SLOTS;
}

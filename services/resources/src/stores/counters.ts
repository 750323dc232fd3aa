import type { Collection, CollectionSpec, StoredRecord, UnitOfWork } from '@commonplace/kit/store';
import type { Node } from './nodes.js';

/** How many live nodes a boundary holds, in slots that are added up. */
export interface Counter extends StoredRecord {
  readonly workspaceId: string;
  readonly boundary: string;
  readonly active: number;
}

export const counterCollection: CollectionSpec<Counter> = {
  name: 'counters',
  indexes: [{ fields: ['boundary'] }, { fields: ['workspaceId'] }],
};

/** Slots a counter has, so that concurrent creations do not wait for one record. */
const SLOTS = 8;

export interface Counters {
  /** Adds nodes to the counters of their boundaries, or takes them away (`by` −1). */
  add(work: UnitOfWork, nodes: readonly Pick<Node, 'id' | 'boundary' | 'workspaceId'>[], by: 1 | -1): void;
  ofWorkspace(workspaceId: string): Promise<number>;
  ofBoundaries(boundaries: readonly string[]): Promise<number>;
}

export function createCounters(collection: Collection<Counter>): Counters {
  return {
    add(work, nodes, by) {
      const sums = new Map<string, { node: Pick<Node, 'boundary' | 'workspaceId'>; count: number }>();
      for (const node of nodes) {
        const id = `${node.boundary}:${slotOf(node.id)}`;
        const sum = sums.get(id) ?? { node, count: 0 };
        sum.count += by;
        sums.set(id, sum);
      }
      for (const [id, { node, count }] of sums) {
        const { workspaceId, boundary } = node;
        work.increment(collection, id, 'active', count, { workspaceId, boundary });
      }
    },
    ofWorkspace: (workspaceId) => collection.sum('active', { workspaceId }),
    ofBoundaries: (boundaries) => collection.sum('active', { boundary: { in: boundaries } }),
  };
}

/** Ids end in random bits. */
function slotOf(id: string): number {
  return id.charCodeAt(id.length - 1) % SLOTS;
}

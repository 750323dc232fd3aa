import type { Collection, CollectionSpec, StoredRecord, UnitOfWork } from '@commonplace/kit/store';
import { MAX_DEPTH } from '../config.js';

/**
 * Numbers of the subtrees that have arrived in a workspace. A move checks the depth of the descendants that it reads. If
 * another subtree arrives below one of these meanwhile, both could exceed the depth together, and only this record is
 * written by one and expected by the other.
 */
export interface Arrivals extends StoredRecord {
  readonly all: number;
  /** Number of those with at least `TALL` levels below their head. */
  readonly tall: number;
}

/** Records have the ids of their workspaces. */
export const arrivalCollection: CollectionSpec<Arrivals> = { name: 'arrivals', indexes: [] };

const TALL = MAX_DEPTH / 2;

type Field = 'all' | 'tall';

/** A subtree that arrives in a workspace. */
interface Arrival {
  readonly workspaceId: string;
  /** Number of levels below its head; without any, it is not counted. */
  readonly height: number;
}

/** Counts a new or restored subtree, in the unit of work that brings it. Arrivals do not conflict with each other. */
export async function countArrival(
  arrivals: Collection<Arrivals>,
  work: UnitOfWork,
  { workspaceId, height }: Arrival,
): Promise<void> {
  if (height > 0) write(arrivals, work, workspaceId, await work.get(arrivals, workspaceId), countsOf(height));
}

/**
 * Counts a subtree that moves, and makes the commit fail if another one that could exceed the depth has arrived in the
 * workspace that it was in, since `before` was read there. Few moves conflict: where half of the levels stay free, only
 * tall subtrees matter.
 */
export async function countMove(
  arrivals: Collection<Arrivals>,
  work: UnitOfWork,
  { workspaceId, height, depth }: Arrival & { /** Depth of its head, 1 at the root. */ readonly depth: number },
  from: { readonly workspaceId: string; readonly before: Arrivals | undefined },
): Promise<void> {
  if (height === 0) return;
  const expected = MAX_DEPTH - depth - height < TALL ? 'all' : 'tall';
  const stays = from.workspaceId === workspaceId;
  write(arrivals, work, from.workspaceId, from.before, stays ? countsOf(height) : { all: 0, tall: 0 }, expected);
  if (!stays) await countArrival(arrivals, work, { workspaceId, height });
}

const countsOf = (height: number) => ({ all: 1, tall: height < TALL ? 0 : 1 });

function write(
  arrivals: Collection<Arrivals>,
  work: UnitOfWork,
  id: string,
  before: Arrivals | undefined,
  counts: Pick<Arrivals, Field>,
  expected?: Field,
): void {
  if (before === undefined) {
    work.insert(arrivals, { id, ...counts });
    return;
  }
  for (const field of ['all', 'tall'] as const) {
    const sum = before[field] + counts[field];
    if (field === expected) work.incrementWithin(arrivals, id, field, counts[field], { atLeast: sum, atMost: sum });
    else if (counts[field] > 0) work.incrementWithin(arrivals, id, field, counts[field], {});
  }
}

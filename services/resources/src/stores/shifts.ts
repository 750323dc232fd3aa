import { newId } from '@commonplace/kit/id';
import type { Collection, CollectionSpec, StoredRecord, UnitOfWork } from '@commonplace/kit/store';
import type { Node, Place } from './nodes.js';

/**
 * That a subtree has come into another boundary or workspace. Whoever holds copies of places, as search does, learns of
 * it some time after; until then they say that the subtree stands where it stood.
 */
export interface Shift extends StoredRecord {
  readonly tenant: string;
  readonly headId: string;
  /** Where the head stands since, and where it stood. */
  readonly workspaceId: string;
  readonly fromWorkspaceId: string;
  /** The boundary that it stood in. */
  readonly fromBoundary: string;
  /** Copies are right again by then. */
  readonly until: string;
}

export const shiftCollection: CollectionSpec<Shift> = {
  name: 'shifts',
  indexes: [{ fields: ['workspaceId', 'until'] }, { fields: ['until'] }],
};

/** Milliseconds that copies of a place may take to follow: far longer than they do, unless the broker is away. */
const FOLLOWED_MS = 600_000;
/** The same for subtrees that a job rewrites after the request. */
const LARGE_FOLLOWED_MS = 3_600_000;

/** Notes down a shift with the unit of work that makes it; nothing where boundary and workspace stay. */
export function noteShift(
  shifts: Collection<Shift>,
  work: UnitOfWork,
  before: Node,
  after: Place,
  large: boolean,
): void {
  if (before.boundary === after.boundary && before.workspaceId === after.workspaceId) return;
  work.insert(shifts, {
    id: newId(),
    tenant: after.tenant,
    headId: before.id,
    workspaceId: after.workspaceId,
    fromWorkspaceId: before.workspaceId,
    fromBoundary: before.boundary,
    until: new Date(Date.now() + (large ? LARGE_FOLLOWED_MS : FOLLOWED_MS)).toISOString(),
  });
}

import { newId } from '@commonplace/kit/id';
import type { Collection, CollectionSpec, StoredRecord, UnitOfWork } from '@commonplace/kit/store';
import type { Node, Place } from '../domain/node.js';

/**
 * Record that a subtree has moved to where other people can see it: to another boundary or workspace, or within one out
 * of or into a folder that was granted to somebody. Services with copies of places, such as search, update these with a
 * delay; until then their copies contain the old place.
 */
export interface Shift extends StoredRecord {
  readonly tenant: string;
  readonly headId: string;
  /** Workspace that the head is in now, and the one that it was in before. */
  readonly workspaceId: string;
  readonly fromWorkspaceId: string;
  /** Boundary that the head had before. */
  readonly fromBoundary: string;
  /** Time after which copies in other services are up to date again. */
  readonly until: string;
}

export const shiftCollection: CollectionSpec<Shift> = {
  name: 'shifts',
  cachesQueries: true,
  indexes: [{ fields: ['workspaceId', 'until'] }, { fields: ['fromWorkspaceId', 'until'] }, { fields: ['until'] }],
  expires: 'until',
};

/**
 * Milliseconds after which other services have updated their copies of places: far longer than they need unless the
 * broker is down.
 */
const FOLLOWED_MS = 600_000;
/** Milliseconds for a subtree that a job rewrites after the request. */
const LARGE_FOLLOWED_MS = 3_600_000;

/**
 * Records a move in its unit of work. Does nothing if boundary and workspace stay the same, unless `changesAccess` says
 * that somebody gains or loses access all the same.
 */
export function noteShift(
  shifts: Collection<Shift>,
  work: UnitOfWork,
  before: Node,
  after: Place,
  { large, changesAccess }: { readonly large: boolean; readonly changesAccess: boolean },
): void {
  if (before.boundary === after.boundary && before.workspaceId === after.workspaceId && !changesAccess) return;
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

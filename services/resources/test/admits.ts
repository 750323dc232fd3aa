import type { IndexEntry, SearchFilter } from '@commonplace/proto/resources/v1/index_service.js';

/** Returns whether a search with a filter finds an entry, as the search index port specifies. */
export function admits(filter: SearchFilter, entry: IndexEntry): boolean {
  if (!filter.workspaceIds.includes(entry.workspaceId)) return false;
  const isBelow = (id: string): boolean => id === entry.id || entry.ancestorIds.includes(id);
  const isLost = filter.lost.some(
    ({ resourceId, boundaryId, keptIds }) =>
      (resourceId === entry.id || (entry.boundaryId === boundaryId && isBelow(resourceId))) && !keptIds.some(isBelow),
  );
  if (isLost) return false;
  return (
    filter.openWorkspaceIds.includes(entry.workspaceId) ||
    filter.boundaryIds.includes(entry.boundaryId) ||
    filter.principals.some((principal) => entry.directPrincipals.includes(principal)) ||
    filter.granted.some(
      ({ resourceId, boundaryId }) =>
        resourceId === entry.id || (entry.boundaryId === boundaryId && entry.ancestorIds.includes(resourceId)),
    )
  );
}

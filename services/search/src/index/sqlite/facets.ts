import type { FacetName } from '../port.js';
import { listItems } from './lists.js';

const COLUMNS: Record<FacetName, string> = {
  type: 'e.type',
  workspace: 'e.workspace_id',
  tag: 'e.tags',
  created_by: 'e.created_by',
};

/** The column of each facet, for `matchingEntries`. */
export function facetColumns(facets: readonly FacetName[]): string {
  return facets.map((facet) => COLUMNS[facet]).join(', ');
}

export type FacetCounts = Partial<Record<FacetName, [string, number][]>>;

/** Counts the values in such columns, the most frequent first. */
export function countFacets(facets: readonly FacetName[], rows: readonly (readonly unknown[])[]): FacetCounts {
  const counts: FacetCounts = {};
  facets.forEach((facet, column) => {
    const byValue = new Map<string, number>();
    for (const row of rows) {
      const cell = String(row[column]);
      for (const value of facet === 'tag' ? listItems(cell) : [cell]) {
        if (value !== '') byValue.set(value, (byValue.get(value) ?? 0) + 1);
      }
    }
    counts[facet] = [...byValue].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  });
  return counts;
}

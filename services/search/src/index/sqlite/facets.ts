import type { Row } from '@commonplace/adapters/sqlite/file';
import type { FacetName } from '../../domain/narrowing.js';
import type { IndexFile } from './file.js';
import { listItems } from './lists.js';

const COLUMNS: Record<FacetName, string> = {
  type: 'e.type',
  workspace: 'e.workspace_id',
  tag: 'e.tags',
  created_by: 'e.created_by',
};

/** Returns the columns of facets, for `columnsOf`. */
export function facetColumns(facets: readonly FacetName[]): string {
  return facets.map((facet) => COLUMNS[facet]).join(', ');
}

type FacetCounts = Partial<Record<FacetName, [string, number][]>>;

/** Counts the values in such columns, most frequent first. */
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

/** Returns columns of some entries, by their rows. */
export function columnsOf(file: IndexFile, rows: readonly number[], columns: string): Row[] {
  const sql = `SELECT ${columns} FROM json_each(?) j CROSS JOIN entries e ON e.row = j.value`;
  return file.db.all(sql, [JSON.stringify(rows)]);
}

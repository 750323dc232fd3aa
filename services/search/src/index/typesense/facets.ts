import type { FacetName } from '../../domain/narrowing.js';
import type { IndexAnswer } from '../port.js';
import type { Document, SearchResult } from './client.js';
import { tokenValue } from './tokens.js';

const FIELDS: Record<FacetName, string> = {
  type: 'type',
  workspace: 'workspace',
  tag: 'tags',
  created_by: 'created_by',
};

export const FACET_FIELDS = Object.values(FIELDS).join(',');
const MAX_FACET_VALUES = 1000;

type Counts = IndexAnswer['facets'];

/** Returns the parameters that make Typesense count facets over all matches. */
export function facetParameters(facets: readonly FacetName[]): Record<string, string | number> {
  if (facets.length === 0) return {};
  return { facet_by: facets.map((facet) => FIELDS[facet]).join(','), max_facet_values: MAX_FACET_VALUES };
}

export function facetsOf(facets: readonly FacetName[], { facets: found }: SearchResult): Counts {
  return Object.fromEntries(facets.map((facet) => [facet, sorted(facet, found.get(FIELDS[facet]) ?? [])]));
}

/** Counts facets over documents. */
export function facetsCounted(facets: readonly FacetName[], documents: readonly Document[]): Counts {
  const counted = facets.map((facet) => {
    const counts = new Map<string, number>();
    for (const document of documents) {
      const value = document[FIELDS[facet]];
      for (const token of Array.isArray(value) ? value : value === undefined ? [] : [value]) {
        counts.set(String(token), (counts.get(String(token)) ?? 0) + 1);
      }
    }
    return [facet, sorted(facet, [...counts])] as const;
  });
  return Object.fromEntries(counted);
}

/** Sorts by count, most frequent first. Values too long to be decoded from their token are left out. */
function sorted(facet: FacetName, counts: readonly (readonly [string, number])[]): [string, number][] {
  const values = counts.flatMap(([token, count]): [string, number][] => {
    const value = tokenValue(token);
    if (value === undefined || value === '') return [];
    return [[facet === 'type' ? value.toUpperCase() : value, count]];
  });
  return values.sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
}

/** Subtracts counts from others that include them. */
export function withoutCounts(all: Counts, excluded: Counts): Counts {
  const names = Object.keys(all) as FacetName[];
  return Object.fromEntries(
    names.map((facet) => {
      const fewer = new Map(excluded[facet]);
      const left = (all[facet] ?? []).map(([value, count]) => [value, count - (fewer.get(value) ?? 0)] as const);
      return [facet, left.filter(([, count]) => count > 0).sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))];
    }),
  );
}

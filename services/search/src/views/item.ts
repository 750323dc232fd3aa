import type { AccessibleResource } from '@commonplace/proto/resources/v1/index_service.js';
import { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import {
  type FacetCounts,
  type Highlight,
  SearchField,
  type SearchItem,
} from '@commonplace/proto/search/v1/search_service.js';
import { nameOfType } from '../domain/request.js';
import type { Field, Hit, IndexAnswer } from '../index/port.js';

const FIELDS: readonly Field[] = ['name', 'text'];

/** A hit as the answer has it; all but the match is as the owner of the tree tells it now. */
export function searchItem(hit: Hit, resource: AccessibleResource): SearchItem {
  const { id, type, name, workspaceId, path, icon, updatedAt, tags, role } = resource;
  return {
    resource: { id, type, name, workspaceId, path, icon, updatedAt, tags },
    score: hit.score,
    scores: { keyword: hit.score, semantic: undefined },
    matchedIn: hit.matchedIn.map((field) => fieldOf(field, type)),
    highlights: FIELDS.flatMap((field) => highlight(hit, field, type)),
    chunk: undefined,
    access: { role },
  };
}

function highlight({ snippets }: Hit, field: Field, type: ResourceType): Highlight[] {
  const snippet = snippets[field];
  if (snippet === undefined) return [];
  const ranges = snippet.ranges.map(([start, end]) => ({ bounds: [start, end] }));
  return [{ field: fieldOf(field, type), snippet: snippet.text, ranges, blockId: undefined }];
}

/** The text of a table is its rows, that of a file is what was read out of it. */
function fieldOf(field: Field, type: ResourceType): SearchField {
  if (field === 'name') return SearchField.NAME;
  if (type === ResourceType.TABLE) return SearchField.ROWS;
  return type === ResourceType.FILE ? SearchField.FILES : SearchField.CONTENT;
}

export function facetCounts(facets: IndexAnswer['facets']): { [facet: string]: FacetCounts } {
  const counts = Object.entries(facets).map(([facet, values]) => [
    facet,
    { values: values.map(([value, count]) => ({ value: facet === 'type' ? nameOfType(value) : value, count })) },
  ]);
  return Object.fromEntries(counts);
}

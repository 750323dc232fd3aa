import { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import {
  type FacetCounts,
  type Highlight,
  type SearchChunk,
  SearchField,
  type SearchItem,
} from '@commonplace/proto/search/v1/search_service.js';
import type { Field } from '../domain/narrowing.js';
import { nameOfType } from '../domain/request.js';
import type { IndexAnswer } from '../index/port.js';
import type { FoundPlace } from '../ranking/found.js';
import type { ShownPlace } from '../ranking/places.js';

const FIELDS: readonly Field[] = ['name', 'text', 'comments'];

/** Converts a place in an answer to its message. Everything except the match is the present state in the tree. */
export function searchItem(found: FoundPlace, shown: ShownPlace): SearchItem {
  const { id, type, name, workspaceId, path, icon, updatedAt, tags, role } = found.resource;
  return {
    resource: { id, type, name, workspaceId, path, icon, updatedAt, tags },
    score: found.score,
    scores: { keyword: found.keyword, semantic: found.semantic },
    matchedIn: fieldsOf(found),
    highlights: highlightsOf(found, shown),
    chunk: chunkOf(found, shown),
    access: { role },
  };
}

function chunkOf({ chunk }: FoundPlace, { passagePart }: ShownPlace): SearchChunk | undefined {
  if (chunk === undefined) return undefined;
  return { text: chunk.text, blockId: passagePart?.blockId, page: passagePart?.page };
}

function fieldsOf({ hit, chunk, byMeaning, resource: { type } }: FoundPlace): SearchField[] {
  const fields = (hit?.matchedIn ?? []).map((field) => fieldOf(field, type));
  // A passage without text was embedded for its name.
  if (byMeaning) fields.push(fieldOf(chunk?.text === '' ? 'name' : 'text', type));
  return [...new Set(fields)];
}

function highlightsOf({ resource: { type } }: FoundPlace, { snippets, snippetPart }: ShownPlace): Highlight[] {
  return FIELDS.flatMap((field) => {
    const snippet = snippets[field];
    if (snippet === undefined) return [];
    const ranges = snippet.ranges.map(([start, end]) => ({ bounds: [start, end] }));
    const { blockId, rowId, page } = (field === 'text' ? snippetPart : undefined) ?? {};
    return [{ field: fieldOf(field, type), snippet: snippet.text, ranges, blockId, rowId, page }];
  });
}

/** Returns the API's name of a field. The text of a table is its rows, that of a file what was extracted from it. */
function fieldOf(field: Field, type: ResourceType): SearchField {
  if (field === 'name') return SearchField.NAME;
  if (field === 'comments') return SearchField.COMMENTS;
  if (type === ResourceType.TABLE) return SearchField.ROWS;
  return type === ResourceType.FILE ? SearchField.FILES : SearchField.CONTENT;
}

export function facetCounts(
  facets: IndexAnswer['facets'],
  requested: readonly (keyof IndexAnswer['facets'])[],
): { [facet: string]: FacetCounts } {
  const counts = requested.map((facet) => [
    facet,
    {
      values: (facets[facet] ?? []).map(([value, count]) => ({
        value: facet === 'type' ? nameOfType(value) : value,
        count,
      })),
    },
  ]);
  return Object.fromEntries(counts);
}

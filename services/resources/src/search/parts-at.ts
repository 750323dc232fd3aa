import { createBreathe } from '@commonplace/kit/slices';
import type { Place, PlacePart } from '@commonplace/proto/resources/v1/index_service.js';
import type { Part } from '../content/kind.js';
import type { NodeType } from '../domain/node.js';
import { locateIn } from '../kinds.js';
import { nodeType } from '../wire.js';
import type { SearchParts } from './parts.js';
import { pagePortions } from './portions.js';

type PlacesById = Map<string, Place[]>;

/**
 * Returns the part of its content that contains each place: a block of a document, a row of a table or a page of a file.
 * Places in documents beyond the bytes that are read for one page of results have none.
 */
export async function partsAt(
  { kinds, tree }: SearchParts,
  places: readonly Place[],
  signal: AbortSignal,
): Promise<PlacePart[]> {
  const byType = placesByType(places);
  const documents: PlacesById = byType.get('document') ?? new Map();
  const others = new Map([...byType].filter(([type]) => type !== 'document'));
  const found = new Map(await locateIn(kinds, others));
  const breathe = createBreathe(signal);
  for (const { nodes, isBeyond } of pagePortions(await tree.nodes.getMany([...documents.keys()]))) {
    if (isBeyond) break;
    const portion = new Map(nodes.map(({ id }) => [id, documents.get(id) ?? []]));
    for (const [id, some] of await locateIn(kinds, new Map([['document', portion]]))) found.set(id, some);
    await breathe();
  }
  const partOf = new Map<Place, Part | undefined>();
  for (const some of byType.values()) {
    for (const [id, ofNode] of some) for (const [i, place] of ofNode.entries()) partOf.set(place, found.get(id)?.[i]);
  }
  return places.map((place) => ({ blockId: undefined, rowId: undefined, page: undefined, ...partOf.get(place) }));
}

function placesByType(places: readonly Place[]): Map<NodeType, PlacesById> {
  const byType = new Map<NodeType, PlacesById>();
  for (const place of places) {
    const type = nodeType(place.type);
    if (type === undefined) continue;
    const some = byType.get(type) ?? new Map<string, Place[]>();
    byType.set(type, some.set(place.resourceId, [...(some.get(place.resourceId) ?? []), place]));
  }
  return byType;
}

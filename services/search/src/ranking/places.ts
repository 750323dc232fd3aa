import type { CallContext } from '@commonplace/kit/rpc';
import type { PlacePart } from '@commonplace/proto/resources/v1/index_service.js';
import { type Place, placeAt, type Snippet } from '../domain/highlight.js';
import type { Field } from '../domain/narrowing.js';
import { isMarkdown, passageSnippet } from '../domain/passage.js';
import type { Search } from '../domain/request.js';
import type { FoundPlace } from './found.js';
import type { TreeOwner } from './recheck.js';

/** Holds what is shown of a place, and which parts of its content contain that. */
export interface ShownPlace {
  readonly snippets: Readonly<Partial<Record<Field, Snippet>>>;
  /** Part that contains the snippet of the text. */
  readonly snippetPart?: PlacePart | undefined;
  /** Part that contains the beginning of the passage. */
  readonly passagePart?: PlacePart | undefined;
}

/** Milliseconds that an answer waits for the blocks of its passages. */
const PLACES_TIMEOUT_MS = 1000;

/**
 * Returns what is shown of a page's places. The owner of the contents determines which blocks and rows these are,
 * because an index of them would need an update of all blocks with each change of a text. If it does not answer, the
 * blocks are left out.
 */
export async function shownOf(
  resources: Pick<TreeOwner, 'locatePlaces'>,
  found: readonly FoundPlace[],
  request: Pick<Search, 'plan' | 'highlight'>,
  { onward }: Pick<CallContext, 'onward'>,
): Promise<ShownPlace[]> {
  const snippets = found.map((one) => (request.highlight ? snippetsOf(one, request) : {}));
  const wanted = found.flatMap((one, i) => {
    const { id, type } = one.resource;
    const places = [snippets[i]?.text?.place, passagePlace(one)];
    return places.flatMap((place) => (place === undefined ? [] : { resourceId: id, type, ...place }));
  });
  const deadline = Math.min(onward.deadline, Date.now() + PLACES_TIMEOUT_MS);
  const parts = wanted.length === 0 ? [] : await partsOf(resources, wanted, { ...onward, deadline });
  let next = 0;
  return found.map((one, i) => {
    const shown = snippets[i] ?? {};
    const snippetPart = shown.text === undefined ? undefined : parts[next++];
    const passagePart = passagePlace(one) === undefined ? undefined : parts[next++];
    return { snippets: shown, snippetPart, passagePart };
  });
}

async function partsOf(
  resources: Pick<TreeOwner, 'locatePlaces'>,
  places: Parameters<TreeOwner['locatePlaces']>[0]['places'],
  call: CallContext['onward'],
): Promise<readonly PlacePart[]> {
  try {
    return (await resources.locatePlaces({ places }, call)).parts;
  } catch {
    return [];
  }
}

function snippetsOf({ hit, chunk, resource }: FoundPlace, { plan }: Pick<Search, 'plan'>): ShownPlace['snippets'] {
  if (hit?.snippets.text !== undefined || chunk === undefined || chunk.text === '') return hit?.snippets ?? {};
  const snippet = passageSnippet(chunk.text, plan, { isMarkdown: isMarkdown('text', resource.type) });
  const place = { ...snippet.place, offset: chunk.start + snippet.place.offset };
  return { ...hit?.snippets, text: { ...snippet, place } };
}

function passagePlace({ chunk }: FoundPlace): Place | undefined {
  if (chunk === undefined || chunk.text === '') return undefined;
  const { offset, text } = placeAt(chunk.text, 0);
  return { offset: chunk.start + offset, text };
}

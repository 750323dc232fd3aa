import { isOfOlderPeer } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import type { GetShownTextsRequest, ShownText } from '@commonplace/proto/resources/v1/index_service.js';
import { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import type { Field } from '../domain/narrowing.js';
import { passageSnippet } from '../domain/passage.js';
import type { Search } from '../domain/request.js';
import type { FoundPlace } from './found.js';
import type { TreeOwner } from './recheck.js';

/**
 * Returns the places of a page without the names of resources that are hidden from the caller, which documents and
 * comments may contain. Matches in such names alone are neither shown nor stated. One call asks for all places.
 */
export async function disclosed(
  resources: Pick<TreeOwner, 'getShownTexts'>,
  found: readonly FoundPlace[],
  { plan }: Pick<Search, 'plan'>,
  { onward }: Pick<CallContext, 'onward'>,
): Promise<readonly FoundPlace[]> {
  const places = found.filter(mayName);
  if (places.length === 0) return found;
  const { texts } = await resources.getShownTexts(questionOf(places), onward).catch(noneFromOlderPeer);
  if (texts.length === 0) return found;
  const shown = new Map(texts.map((text) => [text.resourceId, text]));
  return found.map((place) => {
    const text = shown.get(place.resource.id);
    return text === undefined ? place : withShown(place, text, plan);
  });
}

function questionOf(places: readonly FoundPlace[]): GetShownTextsRequest {
  const idsOf = (some: readonly FoundPlace[]) => new Set(some.map(({ resource }) => resource.id));
  const commented = idsOf(places.filter(({ hit }) => hit?.matchedIn.includes('comments')));
  const ids = [...idsOf(places)];
  return { ids, textOnlyIds: ids.filter((id) => !commented.has(id)) };
}

/** Hides nothing while resources has the version before, which hides nothing in searches either. */
function noneFromOlderPeer(error: unknown): { readonly texts: readonly ShownText[] } {
  if (isOfOlderPeer(error)) return { texts: [] };
  throw error;
}

/** Returns whether something of a place is stated or shown that may contain the name of another resource. */
function mayName({ resource, hit, chunk }: FoundPlace): boolean {
  if (resource.type !== ResourceType.DOCUMENT) return false;
  if (chunk !== undefined && chunk.text !== '') return true;
  return hit?.matchedIn.some((field) => field !== 'name') === true;
}

function withShown(place: FoundPlace, shown: ShownText, plan: Search['plan']): FoundPlace {
  const { hit, chunk } = place;
  return {
    ...place,
    ...(hit !== undefined && { hit: shownHit(hit, shown, plan) }),
    ...(chunk !== undefined && chunk.text !== '' && { chunk: shownChunk(chunk, shown) }),
  };
}

type Hit = NonNullable<FoundPlace['hit']>;

function shownHit({ matchedIn, snippets }: Hit, shown: ShownText, plan: Search['plan']): Hit {
  const texts: Readonly<Partial<Record<Field, string>>> = { text: shown.text, comments: shown.comments.join('\n\n') };
  const matches = matchedIn.flatMap((field) => {
    const text = texts[field];
    const snippet = text === undefined ? undefined : passageSnippet(text, plan, { isMarkdown: true });
    return snippet === undefined || snippet.ranges.length > 0 ? [{ field, snippet: snippet ?? snippets[field] }] : [];
  });
  const visible = matches.filter(({ field }) => snippets[field] !== undefined);
  return {
    matchedIn: matches.map(({ field }) => field),
    snippets: Object.fromEntries(visible.map(({ field, snippet }) => [field, snippet])),
  };
}

/** Returns the passage of the shown text that corresponds to one of the entry's text. */
function shownChunk(
  chunk: NonNullable<FoundPlace['chunk']>,
  { text, ...change }: ShownText,
): NonNullable<FoundPlace['chunk']> {
  const start = moved(chunk.start, change);
  const end = Math.max(start, moved(chunk.end, change));
  return { start, end, text: text.slice(start, end) };
}

/** Returns where an offset of the entry's text is in the shown text. */
function moved(offset: number, { start, end, formerEnd }: Omit<ShownText, 'text'>): number {
  if (offset <= start) return offset;
  if (offset >= formerEnd) return offset + end - formerEnd;
  return start + Math.round(((offset - start) * (end - start)) / (formerEnd - start));
}

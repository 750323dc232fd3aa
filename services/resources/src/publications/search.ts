import { fold } from '@commonplace/kit/analysis';
import type { CallContext } from '@commonplace/kit/rpc';
import { createBreathe } from '@commonplace/kit/slices';
import { wordsOf } from '@commonplace/kit/words';
import type {
  SearchedPage,
  SearchPublicationRequest,
  SearchPublicationResponse,
} from '@commonplace/proto/resources/v1/reader_service.js';
import { candidatesIn } from './candidates.js';
import { addressesOf, entryOf, faceOf, homeEntry } from './face.js';
import { openAddress } from './open.js';
import type { OpenedPublication } from './opening.js';
import type { Entry } from './outline.js';
import type { PublicationParts } from './parts.js';
import { closedOutcome } from './read-page.js';
import { excerptOf, holdsAll, textsThatHold } from './texts.js';

const DEFAULT_LIMIT = 20;
const MAX_RESULTS = 50;
const MAX_QUERY_CHARS = 200;
/** Largest offset of a page of results; every page of results searches everything before it again. */
const MAX_OFFSET = 1000;

/**
 * Returns the pages of one publication that hold all words of a query, in name and text: first those whose names do.
 * Words are compared as in the search of members: case, width and accents do not count.
 */
export async function searchPublication(
  parts: PublicationParts,
  { address, query, limit, offset }: SearchPublicationRequest,
  context: CallContext,
): Promise<SearchPublicationResponse> {
  const opening = await openAddress(parts, address, context);
  const { revision } = opening;
  if (opening.kind !== 'open') return { ...NONE, revision, ...closedOutcome(opening) };
  const { opened } = opening;
  const words = wordsOf(fold(query.slice(0, MAX_QUERY_CHARS)).text);
  const max = Math.min(limit > 0 ? limit : DEFAULT_LIMIT, MAX_RESULTS);
  const end = Math.min(Math.max(offset, 0), MAX_OFFSET) + max;
  const found = words.length === 0 ? [] : await matches(parts, opened, words, end + 1, context);
  const items = found.slice(end - max, end);
  const pages = { face: await faceOf(parts, opened), items, hasMore: found.length > end && end <= MAX_OFFSET };
  return { ...NONE, revision, pages };
}

const NONE = { pages: undefined, passwordRequired: undefined, missing: undefined };

async function matches(
  parts: PublicationParts,
  opened: OpenedPublication,
  words: readonly string[],
  max: number,
  context: CallContext,
): Promise<SearchedPage[]> {
  const { head, entries } = opened.outline;
  const found: SearchedPage[] = [];
  const others: Entry[] = [];
  const breathe = createBreathe(context.signal);
  for (const entry of head === undefined ? entries : [{ shown: head, depth: 0 }, ...entries]) {
    if (holdsAll(fold(entry.shown.name), words)) found.push({ entry: messageOf(opened, entry), excerpt: '' });
    else others.push(entry);
    if (found.length === max) return found;
    await breathe();
  }
  for await (const some of candidatesIn(parts, opened, others, words, context)) {
    const texts = await textsThatHold(parts, opened, some, words, context);
    for (const entry of some) {
      const text = texts.get(entry.shown.id);
      if (text !== undefined) found.push({ entry: messageOf(opened, entry), excerpt: excerptOf(text, words) });
    }
    if (found.length >= max) break;
  }
  return found.slice(0, max);
}

function messageOf(opened: OpenedPublication, entry: Entry) {
  return entry.depth === 0 ? homeEntry(opened) : entryOf(entry, addressesOf(opened));
}

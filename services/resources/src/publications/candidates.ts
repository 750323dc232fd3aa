import { AppError } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import { createBreathe } from '@commonplace/kit/slices';
import type { FindEntriesResponse } from '@commonplace/proto/search/v1/entry_service.js';
import type { OpenedPublication } from './opening.js';
import type { Entry } from './outline.js';
import type { PublicationParts } from './parts.js';

/** Up to this size, all pages of a publication are searched; for larger ones the search index names the candidates. */
const MAX_FULL_SEARCH = { pages: 1000, bytes: 8 * 1024 * 1024 } as const;
/** Maximum size of one batch of candidates. */
const MAX_BATCH = { pages: 50, bytes: 4 * 1024 * 1024 } as const;
/** Maximum number of candidates from the index in one search: many times the number of results. */
const MAX_CANDIDATES = 2000;

/**
 * Yields batches of pages out of `entries` that may contain the words: all pages, or those that the search index names.
 * Pinned pages are in no index, and are always few enough to be searched. If the index is unavailable or incomplete,
 * all remaining pages follow.
 */
export async function* candidatesIn(
  parts: PublicationParts,
  opened: OpenedPublication,
  entries: readonly Entry[],
  words: readonly string[],
  context: CallContext,
): AsyncGenerator<readonly Entry[]> {
  const left = new Map<string, Entry>();
  for (const entry of entries) {
    const { id, type } = entry.shown;
    if (type !== 'file' && type !== 'folder') left.set(id, entry);
  }
  if (opened.publication.edition === undefined && isLarge(left.values())) {
    const isComplete = yield* namedByIndex(parts, opened, left, words, context);
    if (isComplete) return;
  }
  const breathe = createBreathe(context.signal);
  for (const some of inBatches(left.values())) {
    yield some;
    await breathe();
  }
}

/** Removes the pages that the index names from `left` and yields them. Returns whether the index named all of them. */
async function* namedByIndex(
  parts: PublicationParts,
  opened: OpenedPublication,
  left: Map<string, Entry>,
  words: readonly string[],
  context: CallContext,
): AsyncGenerator<readonly Entry[], boolean> {
  const take = (ids: readonly string[]): Entry[] =>
    ids.flatMap((id) => {
      const entry = left.get(id);
      left.delete(id);
      return entry ?? [];
    });
  const { head } = opened.outline;
  // The index finds resources below the head, but not the head itself.
  if (head !== undefined) yield take([head.id]);
  for (let offset = 0; offset < MAX_CANDIDATES; ) {
    const answer = await askIndex(parts, opened, words, offset, context);
    if (answer === undefined || !answer.complete) return false;
    yield take(answer.ids);
    offset += answer.ids.length;
    if (!answer.more || answer.ids.length === 0) break;
  }
  return true;
}

/** Queries the search index. Returns undefined if it is unavailable. */
async function askIndex(
  { peers, log }: PublicationParts,
  { publication, terms, outline }: OpenedPublication,
  words: readonly string[],
  offset: number,
  context: CallContext,
): Promise<FindEntriesResponse | undefined> {
  const { head } = outline;
  const { workspaceId } = terms;
  const place = { workspaceId, boundaryId: head?.node.boundary ?? workspaceId, parentId: head?.id ?? '' };
  try {
    return await peers.entries.findEntries(
      { ...place, words: [...words], offset, limit: MAX_BATCH.pages },
      context.onward,
    );
  } catch (error) {
    context.signal.throwIfAborted();
    if (!(error instanceof AppError)) throw error;
    log.warn('publications.index_unavailable', { publicationId: publication.id, error });
    return undefined;
  }
}

function isLarge(entries: Iterable<Entry>): boolean {
  let pages = 0;
  let bytes = 0;
  for (const { shown } of entries) {
    pages += 1;
    bytes += shown.sizeBytes;
  }
  return pages > MAX_FULL_SEARCH.pages || bytes > MAX_FULL_SEARCH.bytes;
}

function* inBatches(entries: Iterable<Entry>): Generator<readonly Entry[]> {
  let batch: Entry[] = [];
  let bytes = 0;
  for (const entry of entries) {
    if (batch.length === MAX_BATCH.pages || (batch.length > 0 && bytes + entry.shown.sizeBytes > MAX_BATCH.bytes)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(entry);
    bytes += entry.shown.sizeBytes;
  }
  if (batch.length > 0) yield batch;
}

import { AppError } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import type { FindEntriesResponse } from '@commonplace/proto/search/v1/entry_service.js';
import type { Parts } from '../parts.js';
import { createBreathe } from '../tables/slices.js';
import type { Opened } from './open.js';
import type { Entry } from './outline.js';

/** Publications of no more than this are looked through; of larger ones the search index names candidates. */
const LOOKED_THROUGH = { pages: 1000, bytes: 8 * 1024 * 1024 } as const;
/** What is looked at at once. */
const AT_ONCE = { pages: 50, bytes: 4 * 1024 * 1024 } as const;
/** Candidates that one search looks at, at the most: many times what it tells of. */
const MOST_NAMED = 2000;

/**
 * Pages out of `entries` that may hold the words, some at a time: all of them, or what the search index names. What is
 * kept of a pinned publication is in no index, and is never more than can be looked through. An index that does not
 * answer, or does not hold everything yet, leaves the slow way.
 */
export async function* candidatesIn(
  parts: Parts,
  opened: Opened,
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
    const toldAll = yield* namedByIndex(parts, opened, left, words, context);
    if (toldAll) return;
  }
  const breathe = createBreathe(context.signal);
  for (const some of inBatches(left.values())) {
    yield some;
    await breathe();
  }
}

/** Takes what the index names out of `left`. Gives whether that is all there is. */
async function* namedByIndex(
  parts: Parts,
  opened: Opened,
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
  // The index looks below a resource, and not at it.
  if (head !== undefined) yield take([head.id]);
  for (let offset = 0; offset < MOST_NAMED; ) {
    const answer = await askIndex(parts, opened, words, offset, context);
    if (answer === undefined || !answer.complete) return false;
    yield take(answer.ids);
    offset += answer.ids.length;
    if (!answer.more || answer.ids.length === 0) break;
  }
  return true;
}

/** Undefined where the index does not answer. */
async function askIndex(
  { peers, log }: Parts,
  { publication, terms, outline }: Opened,
  words: readonly string[],
  offset: number,
  context: CallContext,
): Promise<FindEntriesResponse | undefined> {
  const { head } = outline;
  const { workspaceId } = terms;
  const place = { workspaceId, boundaryId: head?.node.boundary ?? workspaceId, parentId: head?.id ?? '' };
  try {
    return await peers.entries.findEntries(
      { ...place, words: [...words], offset, limit: AT_ONCE.pages },
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
  return pages > LOOKED_THROUGH.pages || bytes > LOOKED_THROUGH.bytes;
}

function* inBatches(entries: Iterable<Entry>): Generator<readonly Entry[]> {
  let batch: Entry[] = [];
  let bytes = 0;
  for (const entry of entries) {
    if (batch.length === AT_ONCE.pages || (batch.length > 0 && bytes + entry.shown.sizeBytes > AT_ONCE.bytes)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(entry);
    bytes += entry.shown.sizeBytes;
  }
  if (batch.length > 0) yield batch;
}

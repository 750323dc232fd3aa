import { createBreathe } from '@commonplace/kit/slices';
import type { UnitOfWork } from '@commonplace/kit/store';
import { queryTerms } from '../domain/words.js';
import { estimateTokens } from '../models/estimate.js';
import type { Parts } from '../parts.js';
import { type MemoryRecord, termWithin } from '../stores/memories.js';
import { activeIn, type MemoryAsker, type MemoryReach, type RunParts, reachOf, withReadableSources } from './of-run.js';
import { rankMemories } from './rank.js';
import { memoryText } from './text.js';

/**
 * Maximum number of pinned memories, and of matching memories of each holder, that are considered; the newest are read.
 */
const MAX_PINNED = 200;
const MAX_COMPARED = 500;
/** Maximum number of words of a question that are searched for. */
const MAX_TERMS = 64;

/**
 * Returns the memories for the start of a run: pinned ones first, the newest first, then those that match the question,
 * by relevance and importance, as far as they fit into the token limit.
 */
export async function chooseMemories(parts: RunParts, question: string, asker: MemoryAsker): Promise<MemoryRecord[]> {
  const reach = await reachOf(parts, asker);
  if (reach === undefined || parts.settings.memoryTokens === 0) return [];
  const where = { and: [activeIn(reach.groups), { place: { prefix: '1:' } }] };
  const pinned = await parts.memories.find({ where, sort: ['-place'], limit: MAX_PINNED });
  const relevant = await findRelevant(parts, reach, question, asker);
  const known = new Set(pinned.map(({ id }) => id));
  const all = [...pinned, ...relevant.filter(({ id }) => !known.has(id))];
  return fitting(await withReadableSources(parts, all, asker), parts.settings.memoryTokens);
}

/** Returns the active memories that contain words of a question, best first. */
export async function findRelevant(
  parts: RunParts,
  { groups }: MemoryReach,
  question: string,
  asker: MemoryAsker,
): Promise<MemoryRecord[]> {
  const terms = queryTerms(question).slice(0, MAX_TERMS);
  if (terms.length === 0) return [];
  const found = await Promise.all(
    groups.map((group) => {
      const words = { terms: { containsAny: terms.map(termWithin(group.holder)) } };
      return parts.memories.find({
        where: { and: [activeIn([group]), words] },
        sort: ['-place'],
        limit: MAX_COMPARED,
      });
    }),
  );
  const open = await withReadableSources(parts, found.flat(), asker);
  return rankMemories(question, open, createBreathe());
}

/**
 * Returns the memories that fit into `maxTokens` together. A memory that does not fit is skipped in favour of shorter
 * ones.
 */
function fitting(memories: readonly MemoryRecord[], maxTokens: number): MemoryRecord[] {
  let left = maxTokens;
  return memories.filter((memory) => {
    const tokens = estimateTokens(memoryText(memory));
    if (tokens > left) return false;
    left -= tokens;
    return true;
  });
}

/** Milliseconds between two writes of the time of last use. */
const LAST_USED_MS = 60_000;

/**
 * Counts a use of memories, in the unit of work that records the use. It does not change their versions, and skips
 * memories that were erased.
 */
export async function countUse(
  { memories }: Pick<Parts, 'memories'>,
  ids: readonly string[],
  work: UnitOfWork,
): Promise<void> {
  const now = Date.now();
  for (const id of ids) {
    const memory = await work.get(memories, id);
    if (memory === undefined) continue;
    work.incrementWithin(memories, id, 'usedCount', 1, { atLeast: 0 });
    // If two units increase the time concurrently, it would lie in the future; the second one is refused and runs
    // again.
    const by = now - memory.lastUsedMs;
    if (by >= LAST_USED_MS) work.incrementWithin(memories, id, 'lastUsedMs', by, { atMost: now });
  }
}

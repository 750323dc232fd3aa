import type { Breathe } from '@commonplace/kit/slices';
import { questionTerms } from '../models/extractive/terms.js';
import type { MemoryRecord } from '../stores/memories.js';

/** Constants of BM25. */
const [K1, B] = [1.2, 0.75];
/** Minimum score of a relevant memory, as a share of the best score. */
const MIN_SCORE_SHARE = 0.2;

/** Returns the memories that contain words of a question, by relevance and importance, best first. */
export async function rankMemories(
  question: string,
  memories: readonly MemoryRecord[],
  breathe: Breathe,
): Promise<MemoryRecord[]> {
  const terms = questionTerms(question);
  const counted: { memory: MemoryRecord; frequencies: Map<number, number>; length: number }[] = [];
  const having = terms.terms.map(() => 0);
  for (const memory of memories) {
    const words = terms.find(memory.content);
    const frequencies = new Map<number, number>();
    for (const word of words) if (word >= 0) frequencies.set(word, (frequencies.get(word) ?? 0) + 1);
    for (const term of frequencies.keys()) having[term] = (having[term] ?? 0) + 1;
    counted.push({ memory, frequencies, length: words.length });
    await breathe();
  }
  const mean = counted.reduce((sum, { length }) => sum + length, 0) / Math.max(counted.length, 1) || 1;
  const rarity = having.map((count) => Math.log(1 + (counted.length - count + 0.5) / (count + 0.5)));
  const scored = counted.map(({ memory, frequencies, length }) => {
    let score = 0;
    for (const [term, frequency] of frequencies) {
      score += ((rarity[term] ?? 0) * frequency * (K1 + 1)) / (frequency + K1 * (1 - B + (B * length) / mean));
    }
    return { memory, score: score * memory.importance };
  });
  scored.sort((a, b) => b.score - a.score || (a.memory.place < b.memory.place ? 1 : -1));
  const minScore = MIN_SCORE_SHARE * (scored[0]?.score ?? 0);
  return scored.filter(({ score }) => score > 0 && score >= minScore).map(({ memory }) => memory);
}

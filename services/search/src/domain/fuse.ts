/** A result of one search method. */
export interface RankedResult {
  readonly id: string;
  /** Higher is better; 0 or more for keywords, on any scale for semantic search. */
  readonly score: number;
}

interface FusedResult {
  readonly id: string;
  /** From 0 to 1. */
  readonly score: number;
  /** Original scores of the methods that found it. */
  readonly keyword: number | undefined;
  readonly semantic: number | undefined;
}

/** A result whose score is being added up. */
type Mutable = { -readonly [K in keyof FusedResult]: FusedResult[K] };

/** Number of best results that determine the scale of a list; results after them count like the last of these. */
export const SCALED_BY = 500;

/**
 * Fuses two rankings, each best first. Scores of both are scaled to the range from 0 to 1 and added with the weights `1
 * - alpha` and `alpha`; a list without results takes nothing from the other. Results that only a list of weight 0
 * contains are left out. Equal scores are ordered by the keyword ranking, then by the semantic one. The head of the
 * order depends only on the first `SCALED_BY` results of each list, so that pages cut from longer lists fit together.
 */
export function fuse(
  keyword: readonly RankedResult[],
  semantic: readonly RankedResult[],
  alpha: number,
): FusedResult[] {
  const wordShare = keyword.length === 0 ? 0 : 1 - alpha;
  const meaningShare = semantic.length === 0 ? 0 : alpha;
  const all = wordShare + meaningShare;
  const fused = new Map<string, Mutable>();
  if (wordShare > 0) {
    // A text without any of the words scores 0; in meaning all texts are similar to some degree, the last result least.
    const place = scaleOf(keyword, keyword.length < SCALED_BY ? 0 : undefined);
    for (const { id, score } of keyword) {
      fused.set(id, { id, score: (wordShare * place(score)) / all, keyword: score, semantic: undefined });
    }
  }
  if (meaningShare > 0) {
    const place = scaleOf(semantic);
    for (const { id, score } of semantic) {
      const found = fused.get(id);
      const added = (meaningShare * place(score)) / all;
      if (found === undefined) {
        fused.set(id, { id, score: Math.min(1, added), keyword: undefined, semantic: score });
      } else {
        found.score = Math.min(1, found.score + added);
        found.semantic = score;
      }
    }
  }
  // The sort is stable: results by keywords were inserted first, then the others, each in rank order.
  return [...fused.values()].sort((a, b) => b.score - a.score);
}

/** Returns a function that places a score between the lowest of a list (0) and the best (1). */
function scaleOf(list: readonly RankedResult[], foot?: number): (score: number) => number {
  const best = list[0]?.score ?? 0;
  const lowest = foot ?? list[Math.min(list.length, SCALED_BY) - 1]?.score ?? 0;
  const room = best - lowest;
  if (room <= 0) return (score) => (score >= best ? 1 : 0);
  return (score) => Math.min(1, Math.max(0, (score - lowest) / room));
}

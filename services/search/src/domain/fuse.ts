/** What one way of searching found. */
export interface Ranked {
  readonly id: string;
  /** The more the better; 0 or more by words, of any scale by meaning. */
  readonly score: number;
}

export interface Fused {
  readonly id: string;
  /** 0 to 1. */
  readonly score: number;
  /** What the ways by which it was found gave it. */
  readonly keyword?: number;
  readonly semantic?: number;
}

/** The rank at which nearness in meaning counts as none: every text is near to some degree. */
export const MEANING_ENDS = 200;

/**
 * Makes one ranking of two, each best first: `(1 - alpha) * keyword + alpha * semantic`, both on a scale from 0 to 1.
 * A score by words is its share of the best one; what has none of the words has 0. One by meaning is its place between
 * the best one and the one at rank MEANING_ENDS, or the last. What only a way of no weight has found is left out.
 * Of equal scores the better one by words stands first, then the better one by meaning. The same lists give the same
 * order, so that all pages of a search are cut from lists of one length.
 */
export function fuse(keyword: readonly Ranked[], semantic: readonly Ranked[], alpha: number): Fused[] {
  const fused = new Map<string, Fused>();
  if (alpha < 1) {
    const best = keyword[0]?.score ?? 0;
    for (const { id, score } of keyword) {
      fused.set(id, { id, score: (1 - alpha) * share(score, 0, best), keyword: score });
    }
  }
  if (alpha > 0) {
    const best = semantic[0]?.score ?? 0;
    const least = semantic[Math.min(MEANING_ENDS, semantic.length) - 1]?.score ?? 0;
    for (const { id, score } of semantic) {
      const { score: before = 0, keyword: words } = fused.get(id) ?? {};
      fused.set(id, { id, score: before + alpha * share(score, least, best), keyword: words, semantic: score });
    }
  }
  // The sort is stable: those found by words were put in first, then the others, each in rank order.
  return [...fused.values()].sort((a, b) => b.score - a.score);
}

function share(score: number, least: number, best: number): number {
  if (best <= least) return score >= best ? 1 : 0;
  return Math.min(1, Math.max(0, (score - least) / (best - least)));
}

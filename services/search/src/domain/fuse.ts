/** One place in a ranking, best first. */
export interface Ranked {
  readonly id: string;
  /** 0 to 1. */
  readonly score: number;
}

export interface Fused {
  readonly id: string;
  /** 0 to 1; 1 for what stands first in both rankings. */
  readonly score: number;
}

/** Ranks count less the smaller this is (Cormack, Clarke and Büttcher 2009). */
const RANK_CONSTANT = 60;

/**
 * One ranking of two by reciprocal ranks: `(1 - alpha) / (60 + rank) + alpha / (60 + rank)`, as a part of what the
 * first place in both gets. `alpha` is the weight of the second, 0 to 1; what only a ranking without weight has is left out.
 */
export function fuse(keyword: readonly Ranked[], semantic: readonly Ranked[], alpha: number): Fused[] {
  const scores = new Map<string, number>();
  for (const [ranking, weight] of [[keyword, 1 - alpha] as const, [semantic, alpha] as const]) {
    if (weight <= 0) continue;
    ranking.forEach(({ id }, i) => {
      scores.set(id, (scores.get(id) ?? 0) + (weight * (RANK_CONSTANT + 1)) / (RANK_CONSTANT + 1 + i));
    });
  }
  return [...scores].map(([id, score]) => ({ id, score: Math.min(score, 1) })).sort((a, b) => b.score - a.score);
}

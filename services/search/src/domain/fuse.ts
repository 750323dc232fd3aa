/** What one way of searching found. */
export interface Ranked {
  readonly id: string;
  /** The more the better; by words 0 or more, by meaning of any scale. */
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

/** Of each list, this many of the best set its scale; what stands behind counts as its last. */
export const SCALED_BY = 200;

/** How many deviations above its foot the best of a list may stand. */
const LEAST_HEIGHT = 3;
const MOST_HEIGHT = 6;

/**
 * Makes one ranking of two, each best first. Scores of both are brought to a scale from 0 to 1 and added up in the
 * shares `1 - alpha` and `alpha`, each times its list's height: a list whose best stands out says more than one in
 * which all are alike. The one by meaning counts `trust` times as much. What only a way of no share has found is left out. Of equal scores the better one by words
 * stands first, then the better one by meaning. The head of the order hangs on the first SCALED_BY of each list
 * alone, so that pages cut from longer lists fit together.
 */
export function fuse(keyword: readonly Ranked[], semantic: readonly Ranked[], alpha: number, trust = 1): Fused[] {
  // What has none of the words has 0; in meaning all texts are near to some degree, the last one least.
  const words = scaleOf(keyword, keyword.length < SCALED_BY ? 0 : undefined);
  const meaning = scaleOf(semantic);
  const wordShare = (1 - alpha) * words.height;
  const meaningShare = alpha * meaning.height * trust;
  const all = wordShare + meaningShare;
  const fused = new Map<string, Fused>();
  if (wordShare > 0) {
    for (const { id, score } of keyword) {
      fused.set(id, { id, score: (wordShare * words.place(score)) / all, keyword: score });
    }
  }
  if (meaningShare > 0) {
    for (const { id, score } of semantic) {
      const found = fused.get(id);
      const added = (meaningShare * meaning.place(score)) / all;
      fused.set(id, { ...found, id, score: Math.min(1, (found?.score ?? 0) + added), semantic: score });
    }
  }
  // The sort is stable: those found by words were put in first, then the others, each in rank order.
  return [...fused.values()].sort((a, b) => b.score - a.score);
}

interface Scale {
  /** How far the best stands above the foot, in standard deviations; 0 for a list without items. */
  readonly height: number;
  /** Where a score lies between the foot, 0, and the best, 1. */
  place(score: number): number;
}

function scaleOf(list: readonly Ranked[], foot?: number): Scale {
  const scores = list.slice(0, SCALED_BY).map(({ score }) => score);
  const best = scores[0];
  if (best === undefined) return { height: 0, place: () => 0 };
  const least = foot ?? (scores.at(-1) as number);
  const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length;
  const deviation = Math.sqrt(scores.reduce((sum, score) => sum + (score - mean) ** 2, 0) / scores.length);
  const room = best - least;
  if (room <= 0) return { height: LEAST_HEIGHT, place: (score) => (score >= best ? 1 : 0) };
  return {
    height: Math.min(MOST_HEIGHT, Math.max(LEAST_HEIGHT, room / deviation)),
    place: (score) => Math.min(1, Math.max(0, (score - least) / room)),
  };
}

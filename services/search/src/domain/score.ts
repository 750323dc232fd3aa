/** Number of times that a word in the name counts, relative to one in the text. */
export const NAME_TIMES = 3;

/** Factor by which the frequency of a completed or corrected form of a word is multiplied. */
export const OTHER_FORM = 0.5;

/** BM25 weight that is mapped to the middle of a tier's range of scores. */
const HALF_WEIGHT = 6;

/**
 * Converts a BM25 weight to a score from 0 to 1 that is the same on each page: at least 0.5 for an entry with all
 * terms, less for one with some of them.
 */
export function scoreOf(weight: number, all: boolean): number {
  const within = Math.max(0, weight) / (Math.max(0, weight) + HALF_WEIGHT);
  return all ? 0.5 + within / 2 : Math.min(within / 2, 0.499_999);
}

/** Returns the position of a score within the range of its tier, from 0 to 1: its weight, whatever terms are missing. */
export function withinTier(score: number): number {
  return score >= 0.5 ? 2 * score - 1 : 2 * score;
}

/** A found text that a question is asked again with. */
export interface Example {
  /** The more, the better it answers. */
  readonly weight: number;
  /** Of its passage that is nearest to the question; of unit length. */
  readonly vector: Float32Array;
}

/** What a question weighs against what it has found. */
const ASKED = 0.4;

/**
 * The question mixed with what it has found: a vector whose product with another is how alike that is to the question,
 * in the share ASKED, and to the examples, in the rest. It is not longer than 1.
 */
export function mixed(vector: Float32Array, examples: readonly Example[]): Float32Array {
  const whole = examples.reduce((sum, { weight }) => sum + weight, 0);
  if (whole <= 0) return vector;
  const mixture = vector.map((number) => ASKED * number);
  for (const { weight, vector: found } of examples) {
    const share = ((1 - ASKED) * weight) / whole;
    for (let d = 0; d < mixture.length; d++) mixture[d] = (mixture[d] as number) + share * (found[d] as number);
  }
  return mixture;
}

/** Answers that a question is asked again with. */
const MOST = 3;

/** An entry that answers a question, and how well beside the other answers. */
export interface Answering {
  readonly id: string;
  readonly weight: number;
}

/**
 * The first entries of a ranking, each weighed by how far it stands above the first that is not among them: one that
 * stands out speaks for itself, and where all are alike none does.
 */
export function answering(ranking: Iterable<{ readonly id: string; readonly score: number }>): Answering[] {
  const first = new Map<string, number>();
  let foot = 0;
  for (const { id, score } of ranking) {
    if (first.has(id)) continue;
    if (first.size === MOST) {
      foot = score;
      break;
    }
    first.set(id, score);
  }
  return [...first].map(([id, score]) => ({ id, weight: score - foot })).filter(({ weight }) => weight > 0);
}

/** The usual constants of BM25: how soon repetitions of a term stop counting, and how much long texts are penalized. */
const [K1, B] = [1.2, 0.75];

/**
 * Returns the inverse document frequency of a term as Lucene computes it, which is always above 0
 * (https://lucene.apache.org/core/10_0_0/core/org/apache/lucene/search/similarities/BM25Similarity.html).
 */
export function rarity(entries: number, matching: number): number {
  return Math.log(1 + (Math.max(0, entries - matching) + 0.5) / (matching + 0.5));
}

/** Returns the normalization that dampens term frequencies in a text of `length`, relative to the mean length. */
export function damping(length: number, mean: number): number {
  return K1 * (1 - B + (B * length) / mean);
}

/** Returns the weight of a term's frequency, by which its rarity is multiplied; always below 2.2. */
export function saturated(frequency: number, against: number): number {
  return (frequency * (K1 + 1)) / (frequency + against);
}

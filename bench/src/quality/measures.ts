/** Grades of documents for one query. */
type Grades = ReadonlyMap<string, number>;

/**
 * Returns the normalized discounted cumulative gain of the first `depth` results. The gain is 2^grade - 1; the ideal
 * order is that of the grades.
 */
export function ndcg(ranked: readonly string[], grades: Grades, depth: number): number {
  const ideal = dcg(
    [...grades.values()].sort((a, b) => b - a),
    depth,
  );
  if (ideal === 0) return 0;
  return (
    dcg(
      ranked.map((id) => grades.get(id) ?? 0),
      depth,
    ) / ideal
  );
}

function dcg(grades: readonly number[], depth: number): number {
  return grades.slice(0, depth).reduce((sum, grade, i) => sum + (2 ** grade - 1) / Math.log2(i + 2), 0);
}

/** Returns the fraction of documents with a grade above 0 that are among the first `depth` results. */
export function recall(ranked: readonly string[], grades: Grades, depth: number): number {
  const wanted = [...grades].filter(([, grade]) => grade > 0).map(([id]) => id);
  const found = new Set(ranked.slice(0, depth));
  return wanted.length === 0 ? 0 : wanted.filter((id) => found.has(id)).length / wanted.length;
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Returns the percentile of the values at `share`, a fraction from 0 to 1. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** A mean with its standard error. */
export interface Estimate {
  readonly mean: number;
  readonly error: number;
}

/** Estimates the mean of a population from a sample of it. */
export function estimate(sample: readonly number[]): Estimate {
  const average = mean(sample);
  const variance = sample.reduce((sum, value) => sum + (value - average) ** 2, 0) / (sample.length - 1);
  return { mean: average, error: Math.sqrt(variance / sample.length) };
}

import { beside, type Figures } from './measure.js';

/** The result of one benchmark: what was measured, and the floors that it has to meet. */
export interface Row {
  readonly figures: readonly Figures[];
  readonly checks: readonly Check[];
  /** Additional findings of the measurement. */
  readonly notes?: readonly string[];
  /** Lines of a Markdown table with all figures, for rows with many measurements. */
  readonly table?: readonly string[];
}

/** A figure and the floor with which it is compared. */
export interface Check {
  readonly what: string;
  readonly value: number;
  readonly unit: '' | 's' | 'ms' | 'MB' | '×' | '/s';
  /** Whether the floor is a minimum or a maximum. */
  readonly right: 'at least' | 'at most';
  readonly floor: number;
  readonly aim?: number;
}

export function isMet({ right, value }: Check, bound: number): boolean {
  return right === 'at least' ? value >= bound : value <= bound;
}

/** Compares the throughput of the first contestant with that of the second. */
export function ratioOf([subject, limit]: readonly Figures[], floor: number, aim?: number): Check {
  if (subject === undefined || limit === undefined) throw new Error('Nothing to compare with.');
  const value = beside(subject, limit, (round) => round.requestsPerSecond);
  return { what: `requests/s beside ${limit.name}`, value, unit: '', right: 'at least', floor, aim };
}

export class Skipped extends Error {}

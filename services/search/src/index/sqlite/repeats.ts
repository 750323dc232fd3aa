import { NAME_TIMES } from '../../domain/score.js';

/** The highest frequency of a term that counts. */
const MAX_FREQUENCY = 256;

/**
 * Columns of the table of repeated terms. FTS5 does not report how often a row has a term, so a term with the frequency
 * n is also in the columns whose numbers add up to n - 1.
 */
export const REPEAT_COLUMNS = Array.from({ length: Math.log2(MAX_FREQUENCY) }, (_, i) => ({
  column: `r${2 ** i}`,
  times: 2 ** i,
}));

/** Returns the terms of each column, given those of a name and a text. */
export function repeatsOf(name: string, text: string): string[] {
  const counts = new Map<string, number>();
  const add = (terms: string, times: number): void => {
    for (const term of terms === '' ? [] : terms.split(' ')) counts.set(term, (counts.get(term) ?? 0) + times);
  };
  add(name, NAME_TIMES);
  add(text, 1);
  const columns: string[][] = REPEAT_COLUMNS.map(() => []);
  for (const [term, count] of counts) {
    const further = Math.min(count, MAX_FREQUENCY) - 1;
    if (further === 0) continue;
    for (const [i, { times }] of REPEAT_COLUMNS.entries()) if ((further & times) !== 0) columns[i]?.push(term);
  }
  return columns.map((column) => column.join(' '));
}

/**
 * Returns the number of edits between two words, at most `limit + 1`: insertions, deletions, replacements, and swaps of
 * adjacent characters (optimal string alignment).
 */
export function editsBetween(a: string, b: string, limit: number): number {
  const over = limit + 1;
  if (Math.abs(a.length - b.length) > limit) return over;
  let start = 0;
  while (start < a.length && start < b.length && a.charCodeAt(start) === b.charCodeAt(start)) start++;
  let enda = a.length;
  let endb = b.length;
  while (enda > start && endb > start && a.charCodeAt(enda - 1) === b.charCodeAt(endb - 1)) {
    enda--;
    endb--;
  }
  if (enda === start || endb === start) return Math.min(enda + endb - 2 * start, over);
  return align(a.slice(start, enda), b.slice(start, endb), limit);
}

function align(a: string, b: string, limit: number): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    let lowest = i;
    for (let j = 1; j <= b.length; j++) {
      const same = a.charCodeAt(i - 1) === b.charCodeAt(j - 1) ? 0 : 1;
      let cost = Math.min(at(previous, j) + 1, at(row, j - 1) + 1, at(previous, j - 1) + same);
      if (swapped(a, b, i, j)) cost = Math.min(cost, at(before, j - 2) + 1);
      row.push(cost);
      if (cost < lowest) lowest = cost;
    }
    if (lowest > limit) return limit + 1;
    before = previous;
    previous = row;
  }
  return Math.min(at(previous, b.length), limit + 1);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY;
}

function swapped(a: string, b: string, i: number, j: number): boolean {
  return i > 1 && j > 1 && a.charCodeAt(i - 1) === b.charCodeAt(j - 2) && a.charCodeAt(i - 2) === b.charCodeAt(j - 1);
}

/** Maximum number of words that correct a misspelt one. */
const MAX_CORRECTIONS = 5;

/**
 * Returns the candidates that correct a word: those with the fewest edits, at most `limit`. Of those with one edit, some
 * with the word's first letter exclude the others, because most typos spare it.
 */
export function correctionsOf(word: string, candidates: Iterable<string>, limit: number): string[] {
  let fewest = limit;
  let found: string[] = [];
  for (const candidate of candidates) {
    // The word itself may remain from texts that are deleted or not searched.
    if (candidate === word) continue;
    const edits = editsBetween(word, candidate, fewest);
    if (edits > fewest) continue;
    if (edits < fewest) found = [];
    fewest = edits;
    found.push(candidate);
  }
  const spared = fewest === 1 ? found.filter((candidate) => candidate.charAt(0) === word.charAt(0)) : [];
  return (spared.length > 0 ? spared : found).sort().slice(0, MAX_CORRECTIONS);
}

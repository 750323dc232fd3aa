/**
 * Maximum lines of a text for which a difference is computed; longer texts are shown completely, as removed and added.
 */
const MAX_LINES = 400;
/** Number of unchanged lines shown around a change. */
const AROUND = 2;

type Line = readonly [sign: ' ' | '-' | '+', text: string];

/** Returns the difference between two texts as diff lines, at most `max` characters. */
export function lineDiff(before: string, after: string, max: number): string {
  const lines = shortened(differenceOf(before.split('\n'), after.split('\n')));
  const text = lines.map(([sign, line]) => `${sign}${line}`).join('\n');
  return text.length <= max ? text : `${text.slice(0, max)}\n… (${text.length - max} more characters)`;
}

function differenceOf(before: readonly string[], after: readonly string[]): Line[] {
  let from = 0;
  while (from < before.length && from < after.length && before[from] === after[from]) from++;
  let end = 0;
  const most = Math.min(before.length, after.length) - from;
  while (end < most && before[before.length - 1 - end] === after[after.length - 1 - end]) end++;
  const head = before.slice(0, from).map((line): Line => [' ', line]);
  const tail = before.slice(before.length - end).map((line): Line => [' ', line]);
  const middle = changesIn(before.slice(from, before.length - end), after.slice(from, after.length - end));
  return [...head, ...middle, ...tail];
}

/** Returns the changes between two lists of lines by their longest common subsequence. */
function changesIn(before: readonly string[], after: readonly string[]): Line[] {
  const removed = before.map((line): Line => ['-', line]);
  const added = after.map((line): Line => ['+', line]);
  if (before.length === 0 || after.length === 0 || before.length > MAX_LINES || after.length > MAX_LINES) {
    return [...removed, ...added];
  }
  const numbers = new Map<string, number>();
  const numbered = (line: string) => {
    const number = numbers.get(line) ?? numbers.size;
    numbers.set(line, number);
    return number;
  };
  // Comparing a million pairs of long lines takes a quarter of a second.
  const [old, fresh] = [before.map(numbered), after.map(numbered)];
  const width = after.length + 1;
  const lengths = new Uint16Array((before.length + 1) * width);
  const at = (i: number, j: number) => lengths[i * width + j] as number;
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      lengths[i * width + j] = old[i] === fresh[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: Line[] = [];
  let i = 0;
  let j = 0;
  while (i < before.length && j < after.length) {
    if (old[i] === fresh[j]) {
      lines.push([' ', before[i] as string]);
      i++;
      j++;
    } else if (at(i + 1, j) >= at(i, j + 1)) lines.push(removed[i++] as Line);
    else lines.push(added[j++] as Line);
  }
  return [...lines, ...removed.slice(i), ...added.slice(j)];
}

/** Replaces unchanged lines that are far from a change by an ellipsis. */
function shortened(lines: readonly Line[]): Line[] {
  const isNear = lines.map(() => false);
  for (const [i, [sign]] of lines.entries()) {
    if (sign === ' ') continue;
    for (let near = Math.max(0, i - AROUND); near <= Math.min(lines.length - 1, i + AROUND); near++)
      isNear[near] = true;
  }
  const found: Line[] = [];
  for (const [i, line] of lines.entries()) {
    if (isNear[i]) found.push(line);
    else if (i === 0 || isNear[i - 1]) found.push([' ', '…']);
  }
  return found;
}

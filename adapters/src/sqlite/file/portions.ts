import type { Param } from './binding.js';
import type { Pieces, Step } from './writer-protocol.js';

/** Characters of statements that are checked and sent to the writer at a time: some two milliseconds. */
const PORTION_CHARS = 1024 * 1024;

/** Divides the statements of a unit into portions, each with at least one; one portion if they are not large together. */
export function portionsOf(steps: readonly Step[]): (readonly Step[])[] {
  const portions: (readonly Step[])[] = [];
  let [from, chars] = [0, 0];
  for (const [at, [, params]] of steps.entries()) {
    for (const param of params) chars += charsOf(param);
    if (chars < PORTION_CHARS || at === steps.length - 1) continue;
    portions.push(steps.slice(from, at + 1));
    from = at + 1;
    chars = 0;
  }
  return [...portions, from === 0 ? steps : steps.slice(from)];
}

function charsOf(param: Param | Pieces): number {
  if (typeof param === 'string') return param.length;
  return Array.isArray(param) ? param.reduce((sum, piece) => sum + piece.length, 0) : 0;
}

import { Kind, pageOf } from './characters.js';

/** Characters from which on a block ends with its line. */
const LONG_BLOCK = 8192;
/** A line ends its block where so many bits of its hash are 0: one in 32 does. */
const END_BITS = 0x1f;
/** Characters of a line that its hash reads. */
const HASHED = 64;

/**
 * A text in blocks of whole lines, whose terms one after the other are those of the text. Where a block ends is told
 * by its own lines, so that a change within a long text leaves the other blocks as they were.
 */
export function blocksOf(text: string): string[] {
  const blocks: string[] = [];
  let from = 0;
  for (let line = 0; line < text.length; ) {
    const end = text.indexOf('\n', line) + 1 || text.length;
    if (end === text.length || ((endsBlock(text, line, end) || end - from >= LONG_BLOCK) && beginsAlone(text, end))) {
      blocks.push(text.slice(from, end));
      from = end;
    }
    line = end;
  }
  return blocks;
}

function endsBlock(text: string, from: number, to: number): boolean {
  let hash = 0x811c9dc5;
  for (let at = from; at < Math.min(to, from + HASHED); at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return ((hash ^ (hash >>> 15)) & END_BITS) === 0;
}

/** Whether the character at an offset folds without a look at what stands before it. */
function beginsAlone(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return (pageOf(unit >> 8).kinds[unit & 255] as number) < Kind.IGNORED;
}

import { Kind, kindOfUnit } from '@commonplace/kit/analysis';

/** Characters after which a block ends with its current line. */
const LONG_BLOCK_CHARS = 8192;
/** Bit mask: a line ends its block when these bits of its hash are 0, as for one line in 32. */
const END_BITS = 0x1f;
/** Characters of a line that are hashed. */
const HASHED_CHARS = 64;

/**
 * Splits a text into blocks of whole lines whose concatenated terms are those of the text. Only a block's own lines
 * determine where it ends, so that an edit in a long text leaves the other blocks unchanged.
 */
export function blocksOf(text: string): string[] {
  const blocks: string[] = [];
  let from = 0;
  for (let line = 0; line < text.length; ) {
    const end = text.indexOf('\n', line) + 1 || text.length;
    if (
      end === text.length ||
      ((endsBlock(text, line, end) || end - from >= LONG_BLOCK_CHARS) && beginsAlone(text, end))
    ) {
      blocks.push(text.slice(from, end));
      from = end;
    }
    line = end;
  }
  return blocks;
}

function endsBlock(text: string, from: number, to: number): boolean {
  let hash = 0x811c9dc5;
  for (let at = from; at < Math.min(to, from + HASHED_CHARS); at++)
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return ((hash ^ (hash >>> 15)) & END_BITS) === 0;
}

/** Returns whether the character at an offset folds independently of the preceding ones. */
function beginsAlone(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return kindOfUnit(unit) < Kind.IGNORED;
}

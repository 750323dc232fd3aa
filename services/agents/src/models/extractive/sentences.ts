/** A heading, a paragraph, a list item or a table row, as one line. */
interface Block {
  /** The verbatim text without leading markup, with a space for each line break. */
  readonly text: string;
  /** Whether it is a heading. */
  readonly isHeading: boolean;
}

/** Maximum characters of a sentence; tables and code may contain no sentence ends. */
const MAX_CHARS = 500;
/** Maximum words of a heading without markup. */
const MAX_HEADING_WORDS = 10;

/** Matches the beginning of a line that does not continue the previous one. */
const STARTS_BLOCK = /^\s*(?:#{1,6}\s|[-*+•]\s|\d{1,3}[.)]\s|\||>|```|~~~)/;
const MARKUP = /^\s*(?:#{1,6}\s+|>\s*|[-*+•]\s+(?:\[[ xX]\]\s+)?|\d{1,3}[.)]\s+)+/;
const NO_TEXT = /^[\s|:=\-_*#`~>+]*$/;
const ENDS = /[.!?…:;。！？)\]"'”’|]\s*$/;

const segmenter = new Intl.Segmenter(undefined, { granularity: 'sentence' });

/** Splits the text of a passage into blocks. */
export function blocksOf(passage: string): Block[] {
  return linesOf(passage).flatMap((line): Block[] => {
    const text = line.replace(MARKUP, '').trim();
    return NO_TEXT.test(text) ? [] : [{ text, isHeading: isHeading(line, text) }];
  });
}

/** Returns one line for each block. */
function linesOf(passage: string): string[] {
  const lines: string[] = [];
  let open = false;
  for (const line of passage.split(/\r?\n/)) {
    if (line.trim() === '') open = false;
    else if (open && !STARTS_BLOCK.test(line)) lines.push(`${lines.pop()} ${line.trim()}`);
    else {
      lines.push(line);
      // Headings and table rows end with their line.
      open = !/^\s*(?:#|\|)/.test(line);
    }
  }
  return lines;
}

function isHeading(line: string, text: string): boolean {
  if (/^\s*#{1,6}\s/.test(line)) return true;
  return !STARTS_BLOCK.test(line) && !ENDS.test(text) && text.split(/\s+/).length <= MAX_HEADING_WORDS;
}

/** Splits a block into sentences. */
export function sentencesOf(block: string): string[] {
  const sentences: string[] = [];
  for (const { segment } of segmenter.segment(block)) {
    for (const part of cut(segment.trim())) {
      // A sentence does not end after `e.g.` or `No. 5`, nor before a lower-case letter.
      const last = sentences.at(-1);
      if (last !== undefined && continues(last, part)) sentences[sentences.length - 1] = `${last} ${part}`;
      else if (part !== '') sentences.push(part);
    }
  }
  return sentences;
}

const ABBREVIATION = /(?:^|[\s(])(?:e\.g|i\.e|etc|vs|no|dr|mr|mrs|ms|st|approx|incl|cf|[a-z])\.$/i;

function continues(before: string, after: string): boolean {
  if (before.length + after.length >= MAX_CHARS) return false;
  return ABBREVIATION.test(before) || (/^\p{Ll}/u.test(after) && /\.$/.test(before));
}

function cut(sentence: string): string[] {
  if (sentence.length <= MAX_CHARS) return [sentence];
  const space = sentence.lastIndexOf(' ', MAX_CHARS);
  const at = space > MAX_CHARS / 2 ? space : MAX_CHARS;
  return [sentence.slice(0, at).trim(), ...cut(sentence.slice(at).trim())];
}

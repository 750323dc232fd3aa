import { tokensIn } from './tokens.js';

/** Describes a heading, a paragraph, or a part of one that is too long; never white space only. */
export interface Piece {
  readonly start: number;
  readonly end: number;
  readonly tokens: number;
  /** Level of a heading; absent for text. */
  readonly level?: number;
  /** The headings above, including its own. */
  readonly path: readonly string[];
}

const ATX = /^ {0,3}(#{1,6})(?:[ \t]|$)/;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const UNDERLINE = /^ {0,3}(=+|-{2,})[ \t]*$/;
const MAX_HEADING_CHARS = 120;

interface Line {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

interface Heading {
  readonly level: number;
  readonly title: string;
}

/** Reads a text piece by piece, each of at most `maxTokens` tokens. Headings are recognized only in Markdown. */
export function* readPieces(text: string, markdown: boolean, maxTokens: number): Generator<Piece> {
  let headings: Heading[] = [];
  let path: readonly string[] = [];
  let paragraph: Line[] = [];
  let fence: string | undefined;
  for (const line of linesOf(text)) {
    const mark = markdown ? FENCE.exec(line.text)?.[1] : undefined;
    if (fence !== undefined) {
      if (mark?.startsWith(fence)) fence = undefined;
      paragraph.push(line);
      continue;
    }
    const found = markdown ? headingOf(paragraph, line) : undefined;
    if (found !== undefined) {
      if (found.start === line.start) yield* piecesOf(text, paragraph, maxTokens, path);
      paragraph = [];
      headings = [...headings.filter(({ level }) => level < found.level), found];
      path = headings.map(({ title }) => title).filter((title) => title !== '');
      yield* headingPieces(text, found, maxTokens, path);
    } else if (line.text.trim() === '') {
      yield* piecesOf(text, paragraph, maxTokens, path);
      paragraph = [];
    } else {
      fence = mark;
      paragraph.push(line);
    }
  }
  yield* piecesOf(text, paragraph, maxTokens, path);
}

/** Returns the heading that a line is, or that it makes of the preceding line by underlining it. */
function headingOf(paragraph: readonly Line[], line: Line): (Heading & { start: number; end: number }) | undefined {
  const { start, end } = line;
  const atx = ATX.exec(line.text);
  if (atx !== null) {
    const title = plain(withoutClosing(line.text.slice(atx[0].length)));
    return { level: atx[1]?.length ?? 1, title, start, end };
  }
  const [over] = paragraph;
  if (over === undefined || paragraph.length > 1 || !UNDERLINE.test(line.text)) return undefined;
  return { level: line.text.includes('=') ? 1 : 2, title: plain(over.text), start: over.start, end };
}

/** Returns the text of a heading without the `#`s that may close it, in time that does not depend on its white space. */
function withoutClosing(text: string): string {
  const title = text.trim();
  let end = title.length;
  while (title[end - 1] === '#') end--;
  return end === 0 || /[ \t]/.test(title.charAt(end - 1)) ? title.slice(0, end).trimEnd() : title;
}

/** Yields a heading as one piece; one that is too long is treated as a paragraph. */
function* headingPieces(
  text: string,
  { level, start, end }: Heading & { readonly start: number; readonly end: number },
  maxTokens: number,
  path: readonly string[],
): Generator<Piece> {
  const tokens = tokensIn(text, start, end);
  if (tokens > maxTokens) yield* partsOf(text, start, end, maxTokens, path);
  else yield { start, end, tokens, level, path };
}

/** Returns a heading without Markdown syntax. */
function plain(title: string): string {
  return title
    .replace(/!?\[([^\][]*)\]\([^()\s]*\)/g, '$1')
    .replace(/[*`]/g, '')
    .trim()
    .slice(0, MAX_HEADING_CHARS);
}

function* linesOf(text: string): Generator<Line> {
  for (let start = 0; start < text.length; ) {
    const feed = text.indexOf('\n', start);
    const end = feed < 0 ? text.length : feed;
    const bare = end > start && text.charCodeAt(end - 1) === 0x0d ? end - 1 : end;
    // Headings are short, so only the beginning of a long line is examined.
    yield { start, end: bare, text: text.slice(start, Math.min(bare, start + 1000)) };
    start = end + 1;
  }
}

/** Yields a paragraph as one piece, or line by line in parts if it is too long. */
function* piecesOf(text: string, lines: readonly Line[], maxTokens: number, path: readonly string[]): Generator<Piece> {
  const start = lines[0]?.start ?? 0;
  const end = lines.at(-1)?.end ?? start;
  if (end === start) return;
  const tokens = tokensIn(text, start, end);
  if (tokens <= maxTokens) yield { start, end, tokens, path };
  else for (const line of lines) yield* partsOf(text, line.start, line.end, maxTokens, path);
}

/** Ends of sentences; then white space between words. */
const SENTENCE = /[.!?…]["'”’)\]]*\s|[。！？；]/g;
const SPACE = /\s/;

function* partsOf(
  text: string,
  from: number,
  to: number,
  maxTokens: number,
  path: readonly string[],
): Generator<Piece> {
  let start = from;
  while (start < to) {
    while (start < to && SPACE.test(text.charAt(start))) start++;
    if (start >= to) return;
    const end = cutAt(text, start, to, maxTokens);
    yield { start, end, tokens: tokensIn(text, start, end), path };
    start = end;
  }
}

/**
 * Returns where a part that begins at `start` ends: after a sentence if possible, else after a word, else at the limit.
 */
function cutAt(text: string, start: number, to: number, maxTokens: number): number {
  let furthest = start;
  let tokens = 0;
  // Counts in small steps. A word that a step divides counts a little too much.
  while (furthest < to && tokens <= maxTokens) {
    const next = Math.min(to, furthest + STEP_UNITS);
    tokens += tokensIn(text, furthest, next);
    if (tokens > maxTokens && furthest > start) break;
    furthest = next;
  }
  if (furthest >= to) return to;
  const range = text.slice(start, furthest);
  let sentence = 0;
  for (const match of range.matchAll(SENTENCE)) sentence = match.index + match[0].length;
  if (sentence > range.length / 3) return start + sentence;
  for (let at = range.length; at > range.length / 3; at--) if (SPACE.test(range.charAt(at - 1))) return start + at;
  return (text.charCodeAt(furthest) & 0xfc00) === 0xdc00 ? furthest + 1 : furthest;
}

const STEP_UNITS = 24;

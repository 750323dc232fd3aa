/** A range of a text: `[from, to)` in UTF-16 code units. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Returns where a passage occurs in a text, ignoring differences in white space; undefined if it does not occur. */
export function locate(text: string, passage: string): Span | undefined {
  const wanted = passage.trim();
  if (wanted === '') return undefined;
  const at = text.indexOf(wanted);
  if (at >= 0) return { from: at, to: at + wanted.length };
  const words = wanted.split(/\s+/).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  const found = new RegExp(words.join('\\s+'), 'u').exec(text);
  return found === null ? undefined : { from: found.index, to: found.index + found[0].length };
}

/** Extends a span to whole lines, up to `max` characters. */
export function widen(text: string, { from, to }: Span, max: number): Span {
  let start = Math.max(0, text.lastIndexOf('\n', from - 1) + 1);
  let end = text.indexOf('\n', to);
  if (end < 0) end = text.length;
  while (end - start < max) {
    const before = start > 0 ? text.lastIndexOf('\n', start - 2) + 1 : start;
    const next = end < text.length ? text.indexOf('\n', end + 1) : -1;
    const after = next < 0 ? text.length : next;
    if (after > end && after - start <= max) end = after;
    else if (before < start && end - before <= max) start = before;
    else break;
  }
  if (end - start <= max) return { from: start, to: end };
  const spare = Math.max(0, max - (to - from));
  return atCharacters(text, {
    from: Math.max(start, from - (spare >> 1)),
    to: Math.min(end, Math.max(start, from - (spare >> 1)) + max),
  });
}

/** Returns the beginning of a passage, at most `max` characters, cut at the end of a sentence or word. */
export function shorten(text: string, { from, to }: Span, max: number): Span {
  if (to - from <= max) return { from, to };
  const head = text.slice(from, from + max);
  const sentence = Math.max(head.lastIndexOf('. '), head.lastIndexOf('\n'));
  const word = head.lastIndexOf(' ');
  const length = sentence > max / 2 ? sentence + 1 : word > 0 ? word : max;
  return atCharacters(text, { from, to: from + length });
}

/** Moves the ends of a span so that they do not split a surrogate pair. */
function atCharacters(text: string, { from, to }: Span): Span {
  const splits = (at: number) => /[\uDC00-\uDFFF]/.test(text[at] ?? '') && /[\uD800-\uDBFF]/.test(text[at - 1] ?? '');
  return { from: splits(from) ? from + 1 : from, to: splits(to) ? to - 1 : to };
}

/** Returns where words of a question occur in a snippet: `[start, end)` in code points, at most `max` ranges. */
export function matches(snippet: string, question: string, max = 20): [number, number][] {
  const words = stems(question);
  const found: [number, number][] = [];
  for (const match of snippet.matchAll(/[\p{L}\p{N}]+/gu)) {
    if (found.length === max) break;
    if (!words.has(stem(match[0]))) continue;
    const start = [...snippet.slice(0, match.index)].length;
    found.push([start, start + [...match[0]].length]);
  }
  return found;
}

/** Number of characters of a text whose paragraphs are compared, so that a long text does not block other requests. */
const MAX_COMPARED = 200_000;

/** Returns the paragraph of a text that contains the most words of a question. */
export function paragraphFor(text: string, question: string): Span {
  const words = stems(question);
  let best: Span = { from: 0, to: text.length };
  let most = -1;
  for (const match of text.slice(0, MAX_COMPARED).matchAll(/[^\n]+/g)) {
    const count = [...stems(match[0])].filter((word) => words.has(word)).length;
    if (match[0].trim() === '' || count <= most) continue;
    most = count;
    best = { from: match.index, to: match.index + match[0].length };
  }
  return best;
}

/** Maximum characters of the snippet in a citation. */
export const SNIPPET_LENGTH = 480;

/**
 * Returns the part of a text, at most `max` characters, that contains the most words of a claim, in whole sentences or
 * lines if possible.
 */
export function bestPart(text: string, claim: string, max: number): Span {
  const words = stems(claim);
  const sentences: (Span & { readonly score: number })[] = [];
  for (const match of text.matchAll(/[^\n.!?]+[.!?]*[ \t]*|[.!?]+/g)) {
    const span = { from: match.index, to: match.index + match[0].length };
    sentences.push({ ...span, score: [...stems(match[0])].filter((word) => words.has(word)).length });
  }
  let best: Span = { from: 0, to: Math.min(text.length, max) };
  let most = -1;
  for (const [i, first] of sentences.entries()) {
    let score = 0;
    for (const last of sentences.slice(i)) {
      if (last.to - first.from > max && last !== first) break;
      score += last.score;
      if (score > most) {
        most = score;
        best = { from: first.from, to: last.to };
      }
    }
  }
  return shorten(text, best, max);
}

/**
 * Returns the first six letters, in lower case, of each word of at least three letters. Words with equal beginnings
 * count as the same.
 */
export function stems(text: string): Set<string> {
  return new Set((text.match(/[\p{L}\p{N}]{3,}/gu) ?? []).map(stem));
}

const stem = (word: string): string => word.toLowerCase().slice(0, 6);

/**
 * Removes characters that are invisible to people but read by models: controls, zero-width characters, direction marks
 * and tags.
 */
export function visible(text: string): string {
  return text.replace(HIDDEN, '');
}

const HIDDEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is removed
  /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F\u00AD\u061C\u180E\u200B-\u200F\u202A-\u202E\u2060-\u206F\uFEFF\uFFF9-\uFFFB]|[\u{E0000}-\u{E007F}]|[\u{E0100}-\u{E01EF}]/gu;

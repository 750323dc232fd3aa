/** Scripts that are written without spaces, in which the end of a word is not marked. */
const UNSPACED =
  '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}';
const PART_OF_WORD = '\\p{L}\\p{N}\\p{M}';
const STARTS_SPACED = new RegExp(`^(?![${UNSPACED}])[${PART_OF_WORD}]`, 'u');
const ENDS_SPACED = new RegExp(`(?![${UNSPACED}])[${PART_OF_WORD}]$`, 'u');

/**
 * Returns the source of a regular expression with the flag `u` that matches a word that no letter or digit precedes or
 * follows. In scripts without spaces it matches anywhere.
 */
export function wholeWordSource(word: string): string {
  const before = STARTS_SPACED.test(word) ? `(?<![${PART_OF_WORD}])` : '';
  const after = ENDS_SPACED.test(word) ? `(?![${PART_OF_WORD}])` : '';
  return `${before}${word.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}${after}`;
}

/** Runs of characters that combine with the one before them; in compatibility forms also the half-width sound marks. */
const MARKS = /[\p{M}\uff9e\uff9f]+/gu;
/** The marks that follow one letter at most in a stream-safe text; no language has as many. */
const MARKS_IN_A_ROW = /.{30}(?=.)/gsu;
const JOINER = '\u034f';
/** Longest text that is normalized as it is. */
const SHORT_CHARS = 256;

/**
 * Normalizes a text by Unicode after making it stream-safe (UAX #15): a joiner that nobody sees parts more than 30 marks
 * in a row. Sorting the marks of a run takes a time that grows with its square: 0.5 s for 30,000 of them.
 */
export function normalize(text: string, form: 'NFC' | 'NFD' | 'NFKC' | 'NFKD'): string {
  return (text.length <= SHORT_CHARS ? text : text.replace(MARKS, streamSafe)).normalize(form);
}

function streamSafe(marks: string): string {
  return marks.length <= 30 ? marks : marks.replace(MARKS_IN_A_ROW, `$&${JOINER}`);
}

/** Returns a name in the form in which lists sort and search it: case, width and compatibility forms do not count. */
export function foldName(name: string): string {
  return normalize(name, 'NFKC').toLowerCase();
}

/**
 * Returns an e-mail address folded for comparison: the same address is one text, however it was typed. Addresses are
 * stored as they were typed.
 */
export function foldEmail(email: string): string {
  return email.trim().normalize('NFC').toLowerCase();
}

/** Returns the folded part of an address after its last `@`. */
export function emailDomainOf(email: string): string {
  const folded = foldEmail(email);
  return folded.slice(folded.lastIndexOf('@') + 1);
}

/** Returns whether a text contains a whole word, in the same case. */
export function hasWholeWord(text: string, word: string): boolean {
  return text.includes(word) && new RegExp(wholeWordSource(word), 'u').test(text);
}

/** Matches punctuation next to the words of a query that is not part of them. */
const BESIDE = /^[\s"'“”‘’«»([{]+|[\s"'“”‘’«»)\]}.,;:!?…]+$/gu;

/** Returns the distinct words of a query, without the punctuation around them. */
export function wordsOf(query: string): string[] {
  const words = query.split(/\s+/).map((word) => word.replace(BESIDE, '') || word);
  return [...new Set(words.filter((word) => word !== ''))];
}

/** Maximum number of characters by which an excerpt is shortened in order to be cut between two words. */
const MAX_WORD = 60;

/** Returns an excerpt of approximately `length` characters, cut between words. `…` marks an omission. */
export function excerptAround(
  text: string,
  at: number,
  { before, length }: { before: number; length: number },
): string {
  const first = startOfWord(text, Math.max(0, at - before), at);
  const last = endOfWord(text, first + length, at);
  return `${first > 0 ? '…' : ''}${text.slice(first, last).trim()}${last < text.trimEnd().length ? '…' : ''}`;
}

/**
 * Returns the start of the first word at or after a position, but not after `latest`; otherwise the position itself.
 */
function startOfWord(text: string, place: number, latest: number): number {
  if (place === 0 || /\s/.test(text[place - 1] ?? ' ')) return place;
  const space = text.slice(place, Math.min(latest, place + MAX_WORD)).search(/\s/);
  return space < 0 ? betweenCharacters(text, place) : place + space + 1;
}

/** Returns the end of the last word before a position, if it is after `earliest`; otherwise the position itself. */
function endOfWord(text: string, place: number, earliest: number): number {
  if (place >= text.length) return text.length;
  if (/\s/.test(text[place] ?? ' ')) return place;
  const from = Math.max(earliest + 1, place - MAX_WORD);
  const tail = /\s\S*$/.exec(text.slice(from, place));
  if (tail !== null && text.slice(earliest, from + tail.index).trim() !== '') return from + tail.index;
  const ahead = text.slice(place, place + MAX_WORD).search(/\s/);
  return ahead < 0 ? betweenCharacters(text, place) : place + ahead;
}

/** Returns the last position, at or before the given one, that does not split a character of several code units. */
function betweenCharacters(text: string, place: number): number {
  const from = Math.max(0, place - MAX_WORD);
  const near = new Intl.Segmenter(undefined, { granularity: 'grapheme' }).segment(text.slice(from, place + MAX_WORD));
  return from + (near.containing(place - from)?.index ?? place - from);
}

/** Matches a character that can be seen: no space, none that Unicode lets programs ignore, no empty braille cell. */
const VISIBLE = /[^\s\p{Default_Ignorable_Code_Point}\u2800]/u;

/** Returns whether a text has nothing that can be seen. */
export function isBlank(text: string): boolean {
  return !VISIBLE.test(text);
}

/** Returns a line without white space at its ends; empty if nothing of it can be seen. */
export function trimLine(text: string): string {
  return isBlank(text) ? '' : text.trim();
}

/** Returns whether a text has more than `max` code points, in a time that does not depend on the length of the text. */
export function isLongerThan(text: string, max: number): boolean {
  // A code point has one or two UTF-16 units.
  if (text.length <= max || text.length > 2 * max) return text.length > max;
  let count = 0;
  for (const _ of text) count++;
  return count > max;
}

/** Compares two texts by their UTF-16 code units, which orders ids, keys and times of one format. */
export function compareCodeUnits(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

import { Kind, kindOf, kindOfUnit } from './characters.js';
import { fold } from './fold.js';
import { stemOf } from './stem.js';

/**
 * Version of the analyser. It changes whenever a text yields other terms than before; an index of another version is
 * rebuilt.
 */
export const ANALYSER_VERSION = `3/${process.versions.unicode}`;

/** Characters beyond which words are truncated: people do not type such words, and encoded data is full of them. */
const MAX_TERM = 64;

/** Holds one term of a text. Offsets are UTF-16 units of the folded text. */
export interface Token {
  /** Term in the index: the stem of a word, two adjacent characters, or an emoji. */
  term: string;
  /** The folded word as it is written. */
  surface: string;
  start: number;
  end: number;
  /** Offset at which to look for the next token. */
  next: number;
  /** Whether it is one or two characters of a script without spaces between words. */
  gram: boolean;
}

export function emptyToken(): Token {
  return { term: '', surface: '', start: 0, end: 0, next: 0, gram: false };
}

/** Returns the kind of the character at an offset of folded text. */
export function kindAt(text: string, at: number): number {
  const kind = kindOfUnit(text.charCodeAt(at));
  if (kind === Kind.SURROGATE) return kindOf(String.fromCodePoint(text.codePointAt(at) as number));
  // A folded unit that could be folded further is classified as it is.
  return kind >= Kind.IGNORED ? kindOf(text.charAt(at)) : kind;
}

function widthAt(text: string, at: number): number {
  return (text.codePointAt(at) as number) > 0xffff ? 2 : 1;
}

/**
 * Reads the next token of folded text at or after an offset into `token`. Returns false at the end. A run of characters
 * without spaces yields its bigrams and then its last character, so that every substring of it is a phrase of bigrams,
 * and every single character begins a term.
 */
export function nextToken(text: string, from: number, token: Token): boolean {
  for (let at = from; at < text.length; at += widthAt(text, at)) {
    const kind = kindAt(text, at);
    if (kind === Kind.WORD) {
      readWord(text, at, token);
      return true;
    }
    if (kind === Kind.GRAM) {
      readGram(text, at, token);
      return true;
    }
    if (kind === Kind.EMOJI) {
      readEmoji(text, at, token);
      return true;
    }
  }
  return false;
}

function readGram(text: string, at: number, token: Token): void {
  const next = at + widthAt(text, at);
  const paired = next < text.length && kindAt(text, next) === Kind.GRAM;
  token.start = at;
  token.next = next;
  token.end = paired ? next + widthAt(text, next) : next;
  token.term = text.slice(at, token.end);
  token.surface = token.term;
  token.gram = true;
}

const FLAG = /\p{Regional_Indicator}{2}/uy;

/** Reads an emoji, or the two letters of a flag. Of a sequence, such as a family, each part is a word. */
function readEmoji(text: string, at: number, token: Token): void {
  FLAG.lastIndex = at;
  token.start = at;
  token.end = FLAG.test(text) ? FLAG.lastIndex : at + widthAt(text, at);
  token.next = token.end;
  token.term = text.slice(at, token.end);
  token.surface = token.term;
  token.gram = false;
}

/** Returns whether a term is an emoji. */
export const isEmoji = (term: string): boolean => term !== '' && kindAt(term, 0) === Kind.EMOJI;

function readWord(text: string, at: number, token: Token): void {
  let end = at;
  let joined = false;
  while (end < text.length) {
    const kind = kindAt(text, end);
    if (kind === Kind.WORD) end += widthAt(text, end);
    else if (kind === Kind.JOINER && end + 1 < text.length && kindAt(text, end + 1) === Kind.WORD) {
      joined = true;
      end += 1;
    } else break;
  }
  token.start = at;
  token.end = end;
  token.next = end;
  token.surface = wordOf(text.slice(at, end), joined);
  token.term = stemOf(token.surface);
  token.gram = false;
}

/** Normalizes `don't` to `dont` and `company's` to `company`, as people type them when they search. */
function wordOf(written: string, joined: boolean): string {
  const word = joined ? written.replace(/'s$/, '').replaceAll("'", '') : written;
  return word.length > MAX_TERM ? word.slice(0, MAX_TERM) : word;
}

/** Holds a text in the form that an index takes. */
interface AnalysedText {
  /** All terms in order, separated by spaces. */
  readonly terms: string;
  /** The words as they are written, for completion and correction of queries. */
  readonly words: ReadonlySet<string>;
}

/** Splits a text into terms. */
export function analyse(text: string): AnalysedText {
  const folded = fold(text).text;
  const token = emptyToken();
  const terms: string[] = [];
  const words = new Set<string>();
  let at = 0;
  while (nextToken(folded, at, token)) {
    terms.push(token.term);
    if (!token.gram) words.add(token.surface);
    at = token.next;
  }
  return { terms: terms.join(' '), words };
}

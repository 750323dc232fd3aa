import simplifiedPairs from 'opencc-js/dict/TSCharacters';

/** Says how the analyser treats a UTF-16 unit. */
export const Kind = {
  /** Separates words. */
  SEPARATOR: 0,
  /** A letter or digit of a script with spaces between words. */
  WORD: 1,
  /** A character of a script without them, which is indexed as bigrams. */
  GRAM: 2,
  /** Occurs within words and is removed from them: apostrophes. */
  JOINER: 3,
  /** An emoji, which is a word by itself. */
  EMOJI: 4,
  /** Removed as if it were absent: accents over Latin letters, soft hyphens. */
  IGNORED: 5,
  /** Folds into several units or depends on its neighbour: see `foldCluster`. */
  COMPLEX: 6,
  /** Combines with the preceding character: voiced sound marks, Hangul vowels and finals. */
  COMPOSING: 7,
  /** Half of a character beyond the Basic Multilingual Plane. */
  SURROGATE: 8,
  /** Has not been looked up yet. */
  UNKNOWN: 9,
} as const;

/** Holds kinds and folded units of 256 consecutive UTF-16 units. */
interface CharacterPage {
  readonly kinds: Uint8Array;
  readonly folds: Uint16Array;
}

const GRAM =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー]/u;
const LETTER = /[\p{L}\p{N}\p{M}]/u;
/** Characters that are shown as pictures, and halves of flags; not arrows and signs such as ©. */
const EMOJI =
  /\p{Emoji_Presentation}|\p{Regional_Indicator}|(?=[\u2600-\u27bf\u{1f000}-\u{1faff}])\p{Extended_Pictographic}/u;
/** Marks of scripts that people commonly search without them: Latin, Greek, Cyrillic, Hebrew, Arabic. */
const ACCENTS = /[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u064b-\u065f\u0670]/g;
const IGNORED = /^(?:[\u00ad\u0640\u200c\u2060\ufeff]|[\u{e0100}-\u{e01ef}])$/u;
const COMPOSING = /^[\u3099\u309a\uff9e\uff9f\u1160-\u11ff]$/;
const APOSTROPHES = /^['\u2019\u02bc\u02b9\uff07]$/;
/** Letters that Unicode does not decompose. */
const SPECIAL: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  ħ: 'h',
  ı: 'i',
  ł: 'l',
  þ: 'th',
  ς: 'σ',
};
const TRADEMARKS = /^[\u2120\u2122]$/;

const simplified = new Map(
  simplifiedPairs.split('|').map((pair) => {
    const [from = '', to = ''] = pair.split(' ');
    return [from, to] as const;
  }),
);

/**
 * Folds one character, or a base with its combining characters: compatibility forms and width (NFKC), case, accents,
 * and traditional to simplified Chinese.
 */
export function foldCluster(cluster: string): string {
  if (IGNORED.test(cluster)) return '';
  const compatible = cluster.normalize('NFKC').toLowerCase();
  const bare = compatible.normalize('NFD').replace(ACCENTS, '').normalize('NFC');
  let folded = '';
  for (const character of bare) folded += SPECIAL[character] ?? simplified.get(character) ?? character;
  return folded;
}

/** Returns the kind of a folded character. */
export function kindOf(character: string): number {
  if (!LETTER.test(character)) return EMOJI.test(character) ? Kind.EMOJI : Kind.SEPARATOR;
  return GRAM.test(character) ? Kind.GRAM : Kind.WORD;
}

const pages: (CharacterPage | undefined)[] = new Array(256);

/** Returns the page of a UTF-16 unit (`unit >> 8`), whose units `describeUnit` describes when a text has them. */
export function pageOf(number: number): CharacterPage {
  let page = pages[number];
  if (page === undefined) {
    page = { kinds: new Uint8Array(256).fill(Kind.UNKNOWN), folds: new Uint16Array(256) };
    pages[number] = page;
  }
  return page;
}

/** Returns the kind of a UTF-16 unit. */
export function kindOfUnit(unit: number): number {
  const page = pageOf(unit >> 8);
  if (page.kinds[unit & 255] === Kind.UNKNOWN) describeUnit(unit);
  return page.kinds[unit & 255] as number;
}

export function describeUnit(unit: number): void {
  const page = pageOf(unit >> 8);
  const low = unit & 255;
  const character = String.fromCharCode(unit);
  page.folds[low] = unit;
  if (isOfLargeScript(unit)) {
    const folded = simplified.get(character) ?? character;
    page.kinds[low] = folded.length === 1 ? Kind.GRAM : Kind.COMPLEX;
    if (folded.length === 1) page.folds[low] = folded.charCodeAt(0);
    return;
  }
  page.kinds[low] = unfoldedKind(unit, character);
  if (page.kinds[low] === Kind.JOINER) page.folds[low] = 0x27;
  if (page.kinds[low] === Kind.COMPLEX) describeFolded(page, low, foldCluster(character));
  // Keeps English with typographic punctuation at one byte per character, in which search is fastest.
  if (page.kinds[low] === Kind.SEPARATOR && unit > 255) page.folds[low] = 0x20;
}

/**
 * Returns whether a unit is a unified ideograph or a Hangul syllable. Two thirds of all units are: they need no
 * normalizing, which takes most of the time for a text with thousands of different ones.
 */
function isOfLargeScript(unit: number): boolean {
  return (unit >= 0x3400 && unit <= 0x4dbf) || (unit >= 0x4e00 && unit <= 0x9fef) || (unit >= 0xac00 && unit <= 0xd7a3);
}

function describeFolded(page: CharacterPage, low: number, folded: string): void {
  if (folded.length === 0) page.kinds[low] = Kind.IGNORED;
  else if ([...folded].every((part) => kindOf(part) === Kind.SEPARATOR)) page.kinds[low] = Kind.SEPARATOR;
  else if (folded.length === 1) {
    page.folds[low] = folded.charCodeAt(0);
    page.kinds[low] = kindOf(folded);
  }
}

function unfoldedKind(unit: number, character: string): number {
  if (unit >= 0xd800 && unit <= 0xdfff) return Kind.SURROGATE;
  if (APOSTROPHES.test(character)) return Kind.JOINER;
  if (COMPOSING.test(character)) return Kind.COMPOSING;
  if (TRADEMARKS.test(character) || (unit >= 0xfe00 && unit <= 0xfe0f)) return Kind.SEPARATOR;
  return Kind.COMPLEX;
}

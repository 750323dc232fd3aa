/** Options of the collators that order texts. */
export const OPTIONS = { numeric: true, caseFirst: 'lower' } as const;
export const LOCALES = ['en', 'zh'];

const base = new Intl.Collator(LOCALES, { ...OPTIONS, sensitivity: 'base' });

/** Number of characters of a text from which its key is built; a number at the end is included as a whole. */
const KEYED_CHARS = 64;
/** Maximum number of digits that the collator compares as one number. */
const MAX_DIGITS = 250;
/** Maximum number of weights of a key: three for a number of one digit, which a letter follows. */
const MAX_KEY = 2 * KEYED_CHARS + MAX_DIGITS + 3;
const ZERO = 48;
const NINE = 57;
/** The last character of ASCII that is printed. */
const TILDE = 126;

/** Terminates each key. It is lower than all weights, so that a text sorts before longer texts that start with it. */
export const KEY_END = 0;

/** The weight of each printable ASCII character, by its code: one number, the same for both cases of a letter. */
const WEIGHTS = weightsOf(Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)));
const FIRST_IDEOGRAPH = Math.max(...WEIGHTS.values()) + 1;
const DIGIT = WEIGHTS.get(ZERO) as number;

function weightsOf(characters: readonly string[]): Map<number, number> {
  const weights = new Map<number, number>();
  let weight = KEY_END;
  let before: string | undefined;
  for (const one of [...characters].sort(base.compare)) {
    if (before === undefined || base.compare(before, one) !== 0) weight++;
    weights.set(one.charCodeAt(0), weight);
    before = one;
  }
  return weights;
}

/** Letters of ASCII with a mark, such as é, have the weight of the letter: the collator compares marks after letters. */
function markedLetter(code: number): number | undefined {
  const text = String.fromCharCode(code);
  const [letter = ''] = text.normalize('NFD');
  return letter !== text && /[a-z]/i.test(letter) && base.compare(letter, text) === 0
    ? WEIGHTS.get(letter.charCodeAt(0))
    : undefined;
}

const isIdeograph = (code: number): boolean => (code >= 0x4e00 && code <= 0x9fff) || (code >= 0x3400 && code <= 0x4dbf);

/** Gives characters the weights that keys consist of. Ideographs come after ASCII, in the order of the collator. */
interface Alphabet {
  /** Returns the weight of a character; undefined if texts that contain it have no keys. */
  weight(code: number): number | undefined;
}

/** Collects the characters of texts, which determine the alphabet. */
export function createAlphabet() {
  const seen = new Set<number>();
  return {
    add(text: string): void {
      const end = Math.min(text.length, KEYED_CHARS);
      for (let at = 0; at < end; at++) {
        const code = text.charCodeAt(at);
        if (code > TILDE) seen.add(code);
      }
    },
    build(): Alphabet {
      const weights = new Map(WEIGHTS);
      const ideographs = [...seen].filter(isIdeograph).map((code) => String.fromCharCode(code));
      for (const [place, one] of ideographs.sort(base.compare).entries()) {
        weights.set(one.charCodeAt(0), FIRST_IDEOGRAPH + place);
      }
      for (const code of seen) {
        const weight = weights.has(code) ? undefined : markedLetter(code);
        if (weight !== undefined) weights.set(code, weight);
      }
      return { weight: (code) => weights.get(code) };
    },
  };
}

/** Sort keys of texts, one after another. Each ends with `KEY_END`. */
export interface TextKeys {
  /** Weights of all keys. */
  weights: Uint16Array;
  /** The place behind the last key. */
  end: number;
}

export const createTextKeys = (): TextKeys => ({ weights: new Uint16Array(64 * 1024), end: 0 });

/**
 * Appends the sort key of a text: of two texts with different keys, the one with the lesser key comes first. Texts with
 * equal keys differ in case, in marks, in leading zeros or after the part that the key covers. A number is encoded as
 * the weight of a digit, the number of its digits, and the digits. Returns false for a text without a key.
 */
export function appendKey(keys: TextKeys, text: string, alphabet: Alphabet): boolean {
  reserve(keys, MAX_KEY);
  const { weights } = keys;
  let end = keys.end;
  for (let at = 0; at < text.length && at < KEYED_CHARS; ) {
    const code = text.charCodeAt(at);
    if (code < ZERO || code > NINE) {
      const weight = alphabet.weight(code);
      if (weight === undefined) return false;
      weights[end++] = weight;
      at++;
      continue;
    }
    const from = at;
    while (isDigit(text.charCodeAt(at))) at++;
    if (at - from > MAX_DIGITS) return false;
    let first = from;
    while (first < at && text.charCodeAt(first) === ZERO) first++;
    weights[end++] = DIGIT;
    weights[end++] = 1 + at - first;
    for (; first < at; first++) weights[end++] = text.charCodeAt(first);
  }
  weights[end++] = KEY_END;
  keys.end = end;
  return true;
}

/** Makes room for further weights. */
function reserve(keys: TextKeys, more: number): void {
  if (keys.end + more <= keys.weights.length) return;
  const grown = new Uint16Array(2 * keys.weights.length);
  grown.set(keys.weights);
  keys.weights = grown;
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE;
}

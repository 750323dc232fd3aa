/**
 * Estimates the number of tokens that a model reads in a text: one for a short word, several for a longer one, one for
 * a character of a script without spaces, one for a punctuation mark. It needs no vocabulary, and estimates rather too
 * many than too few.
 */
export function tokensIn(text: string, start = 0, end = text.length): number {
  let tokens = 0;
  let letters = 0;
  for (let at = start; at < end; at++) {
    const unit = text.charCodeAt(at);
    if (isLatin(unit)) {
      if (letters % LETTERS_PER_TOKEN === 0) tokens++;
      letters++;
    } else {
      letters = 0;
      tokens += weightOf(unit);
    }
  }
  return Math.ceil(tokens);
}

/** Approximate number of letters per token. */
const LETTERS_PER_TOKEN = 6;

function isLatin(unit: number): boolean {
  const lower = unit | 0x20;
  return (lower >= 0x61 && lower <= 0x7a) || (unit >= 0xc0 && unit < 0x250);
}

function weightOf(unit: number): number {
  if (unit <= 0x20 || unit === 0xa0) return 0;
  // Punctuation counts one each; digits, letters of other alphabets and halves of surrogate pairs count one half.
  if (unit < 0x80) return unit >= 0x30 && unit <= 0x39 ? 0.5 : 1;
  return unit >= 0x2e80 && (unit & 0xf800) !== 0xd800 ? 1 : 0.5;
}

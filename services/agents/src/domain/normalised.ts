import { normalize } from '@commonplace/kit/words';

/** Punctuation and white space that do not change the meaning of a text at whose end they stand. */
const END = /[\s.!。．！]/;

/** Returns a text in a form in which near-duplicates are equal: without case, white space and compatibility forms. */
export function normalised(text: string): string {
  const plain = normalize(text, 'NFKC').toLowerCase().replace(/\s+/g, ' ').trim();
  let end = plain.length;
  // A pattern for the whole end would be tried at each full stop of the text.
  while (END.test(plain.charAt(end - 1))) end--;
  return plain.slice(0, end) || plain;
}

/** Punctuation and white space at the end of a text, which do not change its meaning. */
const END = /[\s.!。．！]+$/u;

/** Returns a text in a form in which near-duplicates are equal: without case, white space and compatibility forms. */
export function normalised(text: string): string {
  const plain = text.normalize('NFKC').toLowerCase().replace(/\s+/g, ' ').trim();
  return plain.replace(END, '') || plain;
}

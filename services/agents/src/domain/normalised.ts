/** Full stops and their like, which say nothing about whether two texts say the same. */
const END = /[\s.!。．！]+$/u;

/** Returns a text in the form in which near-duplicates are the same: without case, layout and compatibility forms. */
export function normalised(text: string): string {
  const plain = text.normalize('NFKC').toLowerCase().replace(/\s+/g, ' ').trim();
  return plain.replace(END, '') || plain;
}

/** Returns the index at which a cut of a text at `end` does not split a surrogate pair. */
export const cutBefore = (text: string, end: number): number =>
  /[\ud800-\udbff]/.test(text.charAt(end - 1)) && end < text.length ? end - 1 : end;

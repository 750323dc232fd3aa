/** Returns a text in a form in which case and character width do not matter, for searches of lists. */
export const fold = (text: string): string => text.normalize('NFKC').toLowerCase();

const MAX_NAME_CHARS = 80;
/** Separates what mail programs would otherwise turn into a link; it takes no room. */
const ZERO_WIDTH_SPACE = '\u200b';

/**
 * Returns a name that somebody chose, for the text of an e-mail to others: shortened, without characters that reverse
 * the direction of text, and with invisible separators, so that mail programs do not turn an address in it into a link.
 */
export function nameInMail(name: string): string {
  const plain = name.replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '');
  const letters = [...plain];
  const short = letters.length <= MAX_NAME_CHARS ? plain : `${letters.slice(0, MAX_NAME_CHARS - 1).join('')}…`;
  return short.replace(/[.:/@](?=\S)/g, `$&${ZERO_WIDTH_SPACE}`);
}

const MAX_NAME_CHARS = 80;
/** Separates what mail programs would otherwise turn into a link; it takes no room. */
const ZERO_WIDTH_SPACE = '\u200b';

/** Returns a name that somebody chose, for the text of an e-mail to others: shortened, and as `textInMail` writes it. */
export function nameInMail(name: string): string {
  const letters = [...withoutDirections(name)];
  return withoutLinks(
    letters.length <= MAX_NAME_CHARS ? letters.join('') : `${letters.slice(0, MAX_NAME_CHARS - 1).join('')}…`,
  );
}

/**
 * Returns a text that somebody wrote, for an e-mail to others: without characters that reverse the direction of text,
 * and with invisible separators, so that mail programs do not turn an address in it into a link.
 */
export function textInMail(text: string): string {
  return withoutLinks(withoutDirections(text));
}

const withoutDirections = (text: string): string => text.replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '');
const withoutLinks = (text: string): string => text.replace(/[.:/@](?=\S)/g, `$&${ZERO_WIDTH_SPACE}`);

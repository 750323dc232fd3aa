/**
 * Returns the new destination of a link, or undefined if it stays. Destinations are decoded, without escapes of their
 * format.
 */
export type Redirect = (href: string) => string | undefined;

/** Describes a range of a text and what replaces it. */
export interface Change {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/**
 * Returns a new destination that may replace `raw` in the text. A fragment is kept as `raw` writes it, or else escaped.
 */
export function fitted(raw: string, href: string, to: string): string {
  const hash = href.indexOf('#');
  const fragment = hash < 0 ? '' : href.slice(hash);
  if (fragment === '' || raw.endsWith(fragment) || !to.endsWith(fragment)) return to;
  return to.slice(0, to.length - fragment.length) + fragment.replace(UNSAFE, (char) => encodeURIComponent(char));
}

/** Characters that a fragment must not contain in any of the formats; `encodeURIComponent` leaves some of them. */
const UNSAFE = /[\s<>"\\&[\]]/g;

/** Applies changes to a text. They must be sorted; overlapping ones are skipped. */
export function changed(text: string, changes: readonly Change[]): string {
  let result = '';
  let at = 0;
  for (const change of changes) {
    if (change.start < at) continue;
    result += text.slice(at, change.start) + change.text;
    at = change.end;
  }
  return changes.length === 0 ? text : result + text.slice(at);
}

/**
 * What becomes of a link: its new destination, or undefined where it stays. A destination is as its format means it,
 * without escapes.
 */
export type Redirect = (href: string) => string | undefined;

/** A stretch of a text that is to be another. */
export interface Change {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** A new destination as it may stand where `raw` stands, whose fragment stays as it is written there. */
export function fitted(raw: string, href: string, to: string): string {
  const hash = href.indexOf('#');
  const fragment = hash < 0 ? '' : href.slice(hash);
  if (fragment === '' || raw.endsWith(fragment) || !to.endsWith(fragment)) return to;
  return to.slice(0, to.length - fragment.length) + fragment.replace(UNSAFE, (char) => encodeURIComponent(char));
}

/** What a fragment must not hold, in whatever text it comes to stand; `encodeURIComponent` leaves some of it. */
const UNSAFE = /[\s<>"\\&[\]]/g;

/** The text with changes made, which are in its order; everything between them stays. */
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

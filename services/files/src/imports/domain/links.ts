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

import { parseMarkdown, toMarkdown, withoutPlaceholders, withPlaceholders } from '../documents/index.js';
import { namedIn } from '../documents/kind/hidden.js';

/** Returns whether a text names any of the hidden resources. */
export function namesHidden(text: string, hidden: ReadonlySet<string>): boolean {
  return hidden.size > 0 && namedIn(text).some((id) => hidden.has(id));
}

/** Returns the body of a comment as a reader may see it: with placeholders for references to hidden resources. */
export function shownBody(body: string, hidden: ReadonlySet<string>): string {
  if (!namesHidden(body, hidden)) return body;
  const doc = parseMarkdown(body);
  const shown = withPlaceholders(doc, hidden);
  return shown === doc ? body : toMarkdown(shown).trim();
}

/** Restores the hidden references in a body whose author saw placeholders in their place. */
export function disclosedBody(given: string, before: string, hidden: ReadonlySet<string>): string {
  if (!namesHidden(given, hidden)) return given;
  if (given.trim() === shownBody(before, hidden)) return before;
  const doc = parseMarkdown(given);
  const whole = withoutPlaceholders(doc, parseMarkdown(before), hidden);
  return whole === doc ? given : toMarkdown(whole).trim();
}

import { fold } from './fold.js';
import { type Snippet, snippetOf } from './highlight.js';
import { findMatches, readMatches } from './match.js';
import type { Patterns } from './pattern.js';
import type { Group, QueryPlan } from './query.js';

/** What a passage that was found by its meaning shows: where the words of the query stand, or its beginning. */
export function passageSnippet(text: string, { groups, boosts }: QueryPlan): Snippet {
  const folded = fold(text);
  const sought = [...groups, ...boosts].map(asWritten);
  const found = findMatches(folded.text, sought);
  return snippetOf(text, folded, found.length > 0 ? found : readMatches(folded.text, sought));
}

/** The words of a group as they stand, and where the last may go on what it begins. */
function asWritten({ terms, surface, prefix }: Group): Patterns {
  const exact = { terms, prefix: false };
  return prefix ? [exact, { terms: [...terms.slice(0, -1), surface], prefix }] : [exact];
}

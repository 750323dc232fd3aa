import { fold } from '@commonplace/kit/analysis';
import { type Snippet, snippetOf } from './highlight.js';
import { findMatches, readMatches } from './match.js';
import type { Patterns } from './pattern.js';
import type { Group, QueryPlan } from './query.js';

/** Returns the snippet of a passage that semantic search found: around the words of the query, or its beginning. */
export function passageSnippet(text: string, { groups, boosts }: QueryPlan): Snippet {
  const folded = fold(text);
  const sought = [...groups, ...boosts].map(asWritten);
  const found = findMatches(folded.text, sought);
  return snippetOf(text, folded, found.length > 0 ? found : readMatches(folded.text, sought));
}

/** Returns patterns for a group's words as they are, with the last one as a prefix if the group allows that. */
function asWritten({ terms, surface, prefix }: Group): Patterns {
  const exact = { terms, prefix: false };
  return prefix ? [exact, { terms: [...terms.slice(0, -1), surface], prefix }] : [exact];
}

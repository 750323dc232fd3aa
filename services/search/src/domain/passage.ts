import { fold } from '@commonplace/kit/analysis';
import { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { type Snippet, snippetOf } from './highlight.js';
import { findMatches, readMatches } from './match.js';
import type { Field } from './narrowing.js';
import type { Patterns } from './pattern.js';
import type { Group, QueryPlan } from './query.js';

/**
 * Returns the snippet of a passage that semantic search found, or of a text without what is hidden in it: around the
 * words of the query, or its beginning.
 */
export function passageSnippet(
  text: string,
  { groups, boosts }: QueryPlan,
  how: { readonly isMarkdown: boolean },
): Snippet {
  const folded = fold(text);
  const sought = [...groups, ...boosts].map(asWritten);
  const found = findMatches(folded.text, sought);
  return snippetOf(text, folded, found.length > 0 ? found : readMatches(folded.text, sought), how);
}

/** Returns patterns for a group's words as they are, with the last one as a prefix if the group allows that. */
function asWritten({ terms, surface, prefix }: Group): Patterns {
  const exact = { terms, prefix: false };
  return prefix ? [exact, { terms: [...terms.slice(0, -1), surface], prefix }] : [exact];
}

/** Returns whether a field of an entry is Markdown: comments, and the text of a document. */
export const isMarkdown = (field: Field, type: ResourceType): boolean =>
  field === 'comments' || (field === 'text' && type === ResourceType.DOCUMENT);

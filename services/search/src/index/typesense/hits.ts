import { fold } from '@commonplace/kit/analysis';
import type { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { type Snippet, snippetOf } from '../../domain/highlight.js';
import { findMatches, readMatches } from '../../domain/match.js';
import type { Field } from '../../domain/narrowing.js';
import { isMarkdown } from '../../domain/passage.js';
import type { Patterns } from '../../domain/pattern.js';
import type { Hit } from '../port.js';
import type { Document } from './client.js';
import { tokenValue } from './tokens.js';

/** Fields of a document that a hit needs. */
export const HIT_FIELDS = 'entry,name,text,comments,type';

interface HitParts {
  readonly document: Document;
  readonly score: number;
  readonly groups: readonly Patterns[];
  readonly fields: readonly Field[];
  readonly highlight: boolean;
}

/** Returns a hit with the fields that matched and their snippets. */
export function hitOf({ document, score, groups, fields, highlight }: HitParts): Hit {
  const texts = { name: String(document.name), text: String(document.text), comments: String(document.comments ?? '') };
  const folded = { name: fold(texts.name), text: fold(texts.text), comments: fold(texts.comments) };
  const type = typeOf(document);
  const found = (search: typeof findMatches) =>
    fields.map((field) => [field, search(folded[field].text, groups)] as const).filter(([, at]) => at.length > 0);
  let matches = groups.length === 0 ? [] : found(findMatches);
  if (matches.length === 0 && groups.length > 0) matches = found(readMatches);
  const snippets: Partial<Record<Field, Snippet>> = {};
  for (const [field, where] of highlight ? matches : []) {
    snippets[field] = snippetOf(texts[field], folded[field], where, { isMarkdown: isMarkdown(field, type) });
  }
  return { id: String(document.entry), type, score, matchedIn: matches.map(([at]) => at), snippets };
}

/** Returns the type as the API names it. */
export function typeOf({ type }: Document): ResourceType {
  return (tokenValue(String(type)) ?? '').toUpperCase() as ResourceType;
}

import { references } from '../documents/index.js';
import { type Body, docOf } from './document-body.js';
import type { Renaming } from './kind.js';

const UUIDS = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g;

/** A body whose references to renamed resources lead to the new ones; every other byte stays as it is. */
export function redirected(body: Body, renamed: Renaming | undefined): Body {
  if (renamed === undefined) return body;
  const named = body.text.match(UUIDS)?.some((id) => renamed(id) !== undefined);
  // Reading a document for what it refers to costs far more than this look.
  if (!named) return body;
  const referred = new Set(references(docOf(body)).resources);
  const text = body.text.replace(UUIDS, (id) => (referred.has(id) ? (renamed(id) ?? id) : id));
  return { ...body, text };
}

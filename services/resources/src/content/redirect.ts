import { references } from '../documents/index.js';
import { type Body, docOf } from './document-body.js';
import type { Renaming } from './kind.js';

const UUIDS = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g;

/** The new ids of what a body names and is renamed: reading it for what it refers to costs far more than this look. */
export function renamesIn({ text }: Body, renamed: Renaming): ReadonlyMap<string, string> {
  const renames = new Map<string, string>();
  for (const id of new Set(text.match(UUIDS))) {
    const to = renamed(id);
    if (to !== undefined) renames.set(id, to);
  }
  return renames;
}

/** A body whose references to renamed resources lead to the new ones; every other byte stays as it is. */
export function redirected(body: Body, renames: ReadonlyMap<string, string>): Body {
  const referred = new Set(references(docOf(body)).resources);
  const text = body.text.replace(UUIDS, (id) => (referred.has(id) ? (renames.get(id) ?? id) : id));
  return { ...body, text };
}

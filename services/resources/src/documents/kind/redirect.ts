import { UUID_PATTERN } from '@commonplace/kit/id';
import type { Renaming } from '../../content/kind.js';
import { idsIn } from '../ids-in.js';
import { references } from '../index.js';
import { type Body, docOf } from './document-body.js';

const UUIDS = new RegExp(`\\b${UUID_PATTERN}\\b`, 'g');

/** Returns the renames that apply to ids in a body. Scans the text only: parsing it for references costs far more. */
export function renamesIn({ text }: Body, renamed: Renaming): ReadonlyMap<string, string> {
  const renames = new Map<string, string>();
  for (const id of new Set(idsIn(text))) {
    const to = renamed(id);
    if (to !== undefined) renames.set(id, to);
  }
  return renames;
}

/** Changes the references to renamed resources to the new ids; every other byte stays as it is. */
export function redirected(body: Body, renames: ReadonlyMap<string, string>): Body {
  const referred = new Set(references(docOf(body)).resources);
  const text = body.text.replace(UUIDS, (id) => (referred.has(id) ? (renames.get(id) ?? id) : id));
  return { ...body, text };
}

import { invalidField } from '@commonplace/kit/errors';
import { foldName } from '@commonplace/kit/words';
import { LimitReached } from '../errors.js';

/** Maximum number of tags on one resource. */
export const MAX_TAGS_PER_RESOURCE = 50;
/** Maximum number of tags in one workspace. */
export const MAX_TAGS_PER_WORKSPACE = 1000;

/** Returns a tag name folded for comparison: compatibility forms, case and repeated spaces do not count. */
export function foldTag(name: string): string {
  return foldName(name).replace(/\s+/gu, ' ').trim();
}

const COLOR = /^(?:#[0-9a-f]{6}|[a-z][a-z_-]*)$/;

/** Returns a colour in lower case; undefined if none is given. Throws `invalid_value`. */
export function parseColor(color: string | undefined): string | undefined {
  if (color === undefined) return undefined;
  const kept = color.toLowerCase();
  if (COLOR.test(kept)) return kept;
  throw invalidField('color', 'invalid_value', 'color must be #rrggbb or a lower-case word.');
}

/** Returns a node's tags with more appended. Throws `limit_reached`. */
export function withTags(tags: readonly string[], more: readonly string[]): readonly string[] {
  const all = [...new Set([...tags, ...more])];
  if (all.length === tags.length) return tags;
  if (all.length > MAX_TAGS_PER_RESOURCE)
    throw LimitReached({ limit: MAX_TAGS_PER_RESOURCE, what: 'tags on a resource' });
  return all;
}

/** Returns a node's tags with one replaced by another, or removed if `instead` is undefined. */
export function withoutTag(tags: readonly string[], id: string, instead: string | undefined): readonly string[] {
  if (!tags.includes(id)) return tags;
  const put = tags.map((tag) => (tag === id ? (instead ?? '') : tag));
  return [...new Set(put)].filter((tag) => tag !== '');
}

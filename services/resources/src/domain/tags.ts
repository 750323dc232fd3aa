import { invalidField } from '@commonplace/kit/errors';
import { LimitReached } from '../errors.js';
import { foldName } from '../stores/nodes.js';

/** Tags that one resource carries at the most. */
export const TAGS_PER_RESOURCE = 50;
/** Tags that one workspace has at the most. */
export const TAGS_PER_WORKSPACE = 1000;

/** A tag's name folded for comparing: compatibility forms, case and repeated spaces do not count. */
export function foldTag(name: string): string {
  return foldName(name).replace(/\s+/gu, ' ').trim();
}

const COLOR = /^(?:#[0-9a-f]{6}|[a-z][a-z_-]*)$/;

/** A colour as it is kept; undefined where none is given. Throws `invalid_value`. */
export function parseColor(color: string | undefined): string | undefined {
  if (color === undefined) return undefined;
  const kept = color.toLowerCase();
  if (COLOR.test(kept)) return kept;
  throw invalidField('color', 'invalid_value', 'color is #rrggbb or a lower-case word.');
}

/** A node's tags with more behind them. Throws `limit_reached`. */
export function withTags(tags: readonly string[], more: readonly string[]): readonly string[] {
  const all = [...new Set([...tags, ...more])];
  if (all.length === tags.length) return tags;
  if (all.length > TAGS_PER_RESOURCE) throw LimitReached({ limit: TAGS_PER_RESOURCE, what: 'tags on a resource' });
  return all;
}

/** A node's tags with one in another's place, or without it. */
export function withoutTag(tags: readonly string[], id: string, instead: string | undefined): readonly string[] {
  if (!tags.includes(id)) return tags;
  const put = tags.map((tag) => (tag === id ? (instead ?? '') : tag));
  return [...new Set(put)].filter((tag) => tag !== '');
}

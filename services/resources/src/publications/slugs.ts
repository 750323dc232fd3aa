import { invalidField } from '@commonplace/kit/errors';
import { isUuid } from '@commonplace/kit/id';
import { lazyLibrary } from '@commonplace/kit/library';

const slugify = lazyLibrary<typeof import('@sindresorhus/slugify')>('@sindresorhus/slugify', import.meta.url);

const SLUG = /^[a-z0-9-]{3,80}$/;
/** Maximum length of a slug that is derived from a name. */
const MAX_DERIVED_CHARS = 60;
const ID_CHARS = 12;

/** Days for which a former slug redirects, and for which the slug of an unpublished item stays reserved. */
export const REDIRECT_DAYS = 90;
export const RESERVED_DAYS = 30;

/** Throws `invalid_slug`. */
export function requireSlug(slug: string): string {
  if (SLUG.test(slug)) return slug;
  throw invalidField('slug', 'invalid_slug', 'must be 3 to 80 of a–z, 0–9 and "-".');
}

/** Returns a slug from a transliterated name; empty if nothing of the name can be transliterated. */
function slugOf(name: string): string {
  return slugify().default(name).slice(0, MAX_DERIVED_CHARS).replace(/-+$/, '');
}

/** Returns the random end of an id. */
const endOf = (id: string): string => id.replaceAll('-', '').slice(-ID_CHARS);

/** Returns slugs to try for an item, in order. The last one is always free. */
export function slugCandidates(name: string, itemId: string): string[] {
  const own = slugOf(name);
  const end = endOf(itemId);
  const short = end.slice(-8);
  return own.length < 3 ? [short, end] : [own, `${own}-${short}`, `${own}-${end}`];
}

/**
 * Returns the last segment of a page's path. The name is for people; the end of the id finds the page whatever its name
 * is.
 */
export function segmentOf(name: string, id: string): string {
  const own = slugOf(name);
  return own === '' ? endOf(id) : `${own}-${endOf(id)}`;
}

/** Returns the end of the id that a segment contains; undefined if it contains none. A whole id counts too. */
export function idIn(segment: string): string | undefined {
  if (isUuid(segment.toLowerCase())) return endOf(segment);
  return /(?:^|-)([0-9a-f]{12})$/.exec(segment)?.[1];
}

export { endOf };

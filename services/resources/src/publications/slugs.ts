import { invalidField } from '@commonplace/kit/errors';
import slugify from '@sindresorhus/slugify';

const SLUG = /^[a-z0-9-]{3,80}$/;
/** Longest slug that is made from a name. */
const DERIVED_LENGTH = 60;
const ID_LENGTH = 12;

/** Days for which a slug that was changed leads on, and for which one that was given up is kept. */
export const REDIRECT_DAYS = 90;
export const RESERVED_DAYS = 30;

/** Throws `invalid_slug`. */
export function requireSlug(slug: string): string {
  if (SLUG.test(slug)) return slug;
  throw invalidField('slug', 'invalid_slug', 'must be 3 to 80 of a–z, 0–9 and "-".');
}

/** A name transliterated; empty where nothing of it can be. */
export function slugOf(name: string): string {
  return slugify(name).slice(0, DERIVED_LENGTH).replace(/-+$/, '');
}

/** The random end of an id. */
const endOf = (id: string): string => id.replaceAll('-', '').slice(-ID_LENGTH);

/** Slugs to try for an item, in order; the last one is free. */
export function slugCandidates(name: string, itemId: string): string[] {
  const own = slugOf(name);
  const end = endOf(itemId);
  const short = end.slice(-8);
  return own.length < 3 ? [short, end] : [own, `${own}-${short}`, `${own}-${end}`];
}

/** What a page's path ends with: the name is for people, the id's end leads there whatever the name is. */
export function segmentOf(name: string, id: string): string {
  const own = slugOf(name);
  return own === '' ? endOf(id) : `${own}-${endOf(id)}`;
}

/** The end of the id that a segment names; undefined where it names none. A whole id names itself. */
export function idIn(segment: string): string | undefined {
  if (/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(segment)) return endOf(segment);
  return /(?:^|-)([0-9a-f]{12})$/.exec(segment)?.[1];
}

export { endOf };

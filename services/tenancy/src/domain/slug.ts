import { randomInt } from 'node:crypto';
import { invalidField } from '@commonplace/kit/errors';
import { lazyLibrary } from '@commonplace/kit/library';

const slugify = lazyLibrary<typeof import('@sindresorhus/slugify')>('@sindresorhus/slugify', import.meta.url);

/** Maximum length in characters of a slug that is derived from a name. A chosen slug may have 80. */
const DERIVED_LENGTH = 60;
const SLUG = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

/** Returns the slug if it is valid in a URL. Throws `invalid_slug` otherwise. */
export function requireSlug(slug: string): string {
  if (!SLUG.test(slug) || slug.length > 80) {
    throw invalidField('slug', 'invalid_slug', 'must be 1 to 80 lower-case letters, digits and single hyphens.');
  }
  return slug;
}

/** Returns a slug transliterated from a name; empty if the name has no letters that can be transliterated. */
export function slugOf(name: string): string {
  return slugify().default(name).slice(0, DERIVED_LENGTH).replace(/-+$/, '');
}

const ALPHABET = 'abcdefghijkmnpqrstuvwxyz23456789';

/** Returns eight random characters, used as a slug or as the suffix of one that is taken. */
function shortId(): string {
  return Array.from({ length: 8 }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
}

/** Returns a free slug for a name: the name's own, with a random suffix if that is taken. */
export async function freeSlug(name: string, isTaken: (slug: string) => Promise<boolean>): Promise<string> {
  const own = slugOf(name);
  if (own === '') return shortId();
  return (await isTaken(own)) ? `${own}-${shortId()}` : own;
}

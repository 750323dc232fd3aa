import { randomInt } from 'node:crypto';
import { invalidField } from '@commonplace/kit/errors';
import slugify from '@sindresorhus/slugify';

/** Longest slug that is made from a name; a chosen one may have 80 characters. */
const DERIVED_LENGTH = 60;
const SLUG = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

/** Refuses what can't stand in an address. Throws `invalid_slug`. */
export function requireSlug(slug: string): string {
  if (!SLUG.test(slug) || slug.length > 80) {
    throw invalidField('slug', 'invalid_slug', 'must be 1 to 80 lower-case letters, digits and single hyphens.');
  }
  return slug;
}

/** A slug from a name, transliterated; empty where the name holds no letters that can be. */
export function slugOf(name: string): string {
  return slugify(name).slice(0, DERIVED_LENGTH).replace(/-+$/, '');
}

const ALPHABET = 'abcdefghijkmnpqrstuvwxyz23456789';

/** Eight random characters: a slug of its own, or the end of one that is taken. */
export function shortId(): string {
  return Array.from({ length: 8 }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
}

/** A slug for a name that nobody has: the name's own, or with a random end. */
export async function freeSlug(name: string, isTaken: (slug: string) => Promise<boolean>): Promise<string> {
  const own = slugOf(name);
  if (own === '') return shortId();
  return (await isTaken(own)) ? `${own}-${shortId()}` : own;
}

import { relative, resolve, sep } from 'node:path';
import { CommandError, EXIT } from '../exit.js';

const BUCKET = /^https?:\/\//;
const URL_SCHEME = /^[a-z][a-z\d+.-]*:\/\//i;

/** Parses the URL of a bucket, or of something in it; undefined if a place is in the file system. */
export function parseBucketUrl(place: string): URL | undefined {
  if (!BUCKET.test(place)) return undefined;
  const url = URL.canParse(place) ? new URL(place) : undefined;
  if (url !== undefined && /[^/]/.test(url.pathname)) return url;
  throw new CommandError(EXIT.usage, `${withoutKey(place)} does not name a bucket, as https://host/bucket does`);
}

/** Returns the absolute path of a folder or file. A URL would become a folder with an odd name. */
export function localPath(place: string): string {
  if (!URL_SCHEME.test(place)) return resolve(place);
  throw new CommandError(
    EXIT.usage,
    `${withoutKey(place)} is not a path; --into and --from of restore also take a bucket, https://host/bucket`,
  );
}

/** Removes credentials from the URL of a place, so that it can be shown. */
export function withoutKey(place: string): string {
  return place.replace(/^([a-z][a-z\d+.-]*:\/\/)[^@/]*@/i, '$1');
}

/** Returns whether a path is a folder or below it. */
export function isWithin(folder: string, path: string): boolean {
  return !`${relative(folder, path)}${sep}`.startsWith(`..${sep}`);
}

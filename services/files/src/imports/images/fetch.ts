import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { type Guard, UrlNotAllowed } from '@commonplace/kit/fetch';
import { type ByteLimit, imageLimit } from '../../domain/byte-limits.js';
import { kindOf, SNIFF_BYTES } from '../../media/index.js';
import { lastSegmentOf } from '../domain/url-name.js';
import type { ImportParts } from '../parts.js';

/** Holds the result for one image: where its bytes were stored, or why it stays a remote link. */
export type FetchedImage =
  | { readonly path: string; readonly sizeBytes: number; readonly contentType: string }
  | { readonly message: string };

/** Holds what one run has left of the limits for images. */
interface Budget {
  bytes: number;
  /** Epoch milliseconds. */
  readonly until: number;
}

interface ImageParts extends Pick<ImportParts, 'settings'> {
  readonly guard: Pick<Guard, 'fetch'>;
}

/** Milliseconds that one image may take. */
const IMAGE_TIMEOUT_MS = 20_000;

class ImageRefused extends Error {}

/** Fetches one image through the URL guard into a file. Never rejects because of what the remote server does. */
export async function fetchImage(
  { guard, settings }: ImageParts,
  url: string,
  path: string,
  budget: Budget,
): Promise<FetchedImage> {
  const left = budget.until - Date.now();
  if (left <= 0)
    return { message: limit('time', settings.importImagesSeconds, 's', 'COMMONPLACE_IMPORT_IMAGES_SECONDS') };
  const all: ByteLimit = { bytes: settings.importImagesBytes, setting: 'COMMONPLACE_IMPORT_IMAGES_BYTES' };
  const one = imageLimit(settings);
  if (budget.bytes <= 0) return { message: limit('all', all.bytes, 'bytes', all.setting) };
  try {
    const signal = AbortSignal.timeout(Math.min(left, IMAGE_TIMEOUT_MS));
    const { status, body } = await guard.fetch(url, { signal });
    try {
      if (status !== 200) throw new ImageRefused(`The server answered ${status}.`);
      const head: Buffer[] = [];
      let sizeBytes = 0;
      const counted = async function* (): AsyncGenerator<Buffer> {
        for await (const chunk of body as AsyncIterable<Buffer>) {
          if (sizeBytes < SNIFF_BYTES) head.push(chunk);
          sizeBytes += chunk.length;
          budget.bytes -= chunk.length;
          if (sizeBytes > one.bytes) throw new ImageRefused(limit('one', one.bytes, 'bytes', one.setting));
          if (budget.bytes < 0) throw new ImageRefused(limit('all', all.bytes, 'bytes', all.setting));
          yield chunk;
        }
      };
      await pipeline(counted, createWriteStream(path, { mode: 0o600 }), { signal });
      const { contentType } = await kindOf(Buffer.concat(head), nameIn(url), undefined);
      if (!contentType.startsWith('image/')) throw new ImageRefused(`The file is not an image, but ${contentType}.`);
      return { path, sizeBytes, contentType };
    } finally {
      body.destroy();
    }
  } catch (error) {
    if (error instanceof ImageRefused || error instanceof UrlNotAllowed) return { message: error.message };
    return { message: 'The server did not answer as expected.' };
  }
}

const WHAT = {
  one: 'An image may have at most',
  all: 'All images together may have at most',
  time: 'Fetching all images may take at most',
};

function limit(what: keyof typeof WHAT, max: number, unit: string, setting: string): string {
  return `${WHAT[what]} ${max} ${unit}; the operator can raise that by ${setting}.`;
}

/** Returns the last segment of a URL's path as a file name. */
export function nameIn(url: string): string {
  return (
    lastSegmentOf(url)
      .replace(/[\p{Cc}/\\]/gu, '')
      .slice(0, 200) || 'image'
  );
}

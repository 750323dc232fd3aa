import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ImportParts } from '../parts.js';
import { ImportFault, type SourceItem } from '../sources/port.js';
import type { ThreadSource } from '../thread/source.js';
import { type FetchedImage, fetchImage, nameIn } from './fetch.js';
import { findRemoteImages, type RemoteImage } from './find.js';

/** Images that are fetched concurrently. */
const FETCH_CONCURRENCY = 4;
/** Maximum number of images that were not fetched and that a report lists. */
const MAX_LISTED_IMAGES = 200;

interface WithImages {
  readonly source: ThreadSource;
  close(): Promise<void>;
}

/**
 * Extends a source by the remote images of its pages: each that can be fetched becomes a file, attached to the first
 * page that shows it. The others stay links, are skipped, and are listed in the notes. They are fetched before anything
 * is written, because a link is only redirected to an item that exists.
 */
export async function withRemoteImages(
  parts: ImportParts,
  tenant: string,
  source: ThreadSource,
  stopped: () => void,
): Promise<WithImages> {
  const { settings } = parts;
  const { importImages: maxImages, importImagesBytes: bytes, importImagesSeconds: seconds } = settings;
  const found = await findRemoteImages(source, maxImages + 1, stopped);
  const folder = join(parts.scratch, randomUUID());
  const close = () => rm(folder, { recursive: true, force: true });
  const fetched = new Map<string, FetchedImage>();
  const budget = { bytes, until: Date.now() + seconds * 1000 };
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const images = found.slice(0, maxImages);
    for (let from = 0; from < images.length; from += FETCH_CONCURRENCY) {
      stopped();
      const some = images.slice(from, from + FETCH_CONCURRENCY);
      const guard = await parts.guard.of(tenant);
      const ends = some.map(({ url }, i) =>
        fetchImage({ guard, settings }, url, join(folder, String(from + i)), budget),
      );
      for (const [i, one] of (await Promise.all(ends)).entries()) fetched.set((some[i] as RemoteImage).url, one);
    }
    const more = `Only ${maxImages} images are fetched; the operator can raise that by COMMONPLACE_IMPORT_IMAGES.`;
    return { source: joined(source, images, fetched, found.length > maxImages ? [more] : []), close };
  } catch (error) {
    await close();
    throw error;
  }
}

function joined(
  source: ThreadSource,
  images: readonly RemoteImage[],
  fetched: ReadonlyMap<string, FetchedImage>,
  notes: readonly string[],
): ThreadSource {
  const kept = images.flatMap(({ url }) => {
    const one = fetched.get(url);
    return one !== undefined && 'message' in one ? `The image ${url} stays a link: ${one.message}` : [];
  });
  const bytesOf = (url: string) => {
    const one = fetched.get(url);
    return one !== undefined && 'path' in one ? one : undefined;
  };
  return {
    ...source,
    items: [...source.items, ...images.map((image) => itemOf(image, fetched.get(image.url)))],
    read: (item) => source.read(item),
    resolve: (from, href) => (bytesOf(href) === undefined ? source.resolve(from, href) : { item: href }),
    unavailable: ({ path }) => {
      const one = fetched.get(path);
      return one !== undefined && 'message' in one ? { code: 'image_not_fetched', message: one.message } : undefined;
    },
    async openFile(item) {
      const held = bytesOf(item.path);
      if (held !== undefined) return createReadStream(held.path);
      if (source.openFile !== undefined) return source.openFile(item);
      throw new ImportFault('archive_entry_missing', `The bytes of ${item.path} are missing.`);
    },
    notes: [...(source.notes ?? []), ...kept.slice(0, MAX_LISTED_IMAGES), ...notes],
  };
}

/**
 * Returns the item of an image. Images that could not be fetched are items too, so that the order of items is the same
 * whenever the source is read.
 */
function itemOf({ url, page }: RemoteImage, fetched: FetchedImage | undefined): SourceItem {
  const isThere = fetched !== undefined && 'path' in fetched;
  return {
    path: url,
    parent: page.path,
    kind: 'file',
    name: nameIn(url),
    ...(isThere && { sizeBytes: fetched.sizeBytes, onlyIfLinked: true }),
  };
}

import { ImportFault, type SourceItem } from '../sources/port.js';
import type { ThreadSource } from '../thread/source.js';

/** Describes an image on another server and the first page that shows it. */
export interface RemoteImage {
  readonly url: string;
  readonly page: SourceItem;
}

/**
 * Finds the images on other servers that the pages of a source show, each once, in the order of the pages. Returns at
 * most `limit` images.
 */
export async function findRemoteImages(
  source: ThreadSource,
  limit: number,
  stopped: () => void,
): Promise<RemoteImage[]> {
  const found = new Map<string, RemoteImage>();
  for (const page of source.items) {
    if (page.kind !== 'document') continue;
    stopped();
    for (const src of await imagesOf(source, page)) {
      const url = src.split('#')[0] as string;
      if (/^https?:\/\//i.test(url) && URL.canParse(url) && !found.has(url)) found.set(url, { url, page });
      if (found.size >= limit) return [...found.values()];
    }
  }
  return [...found.values()];
}

/** Returns the images of a page; a page that can't be read is reported when it is imported. */
async function imagesOf(source: ThreadSource, page: SourceItem): Promise<readonly string[]> {
  try {
    return await source.images(page);
  } catch (error) {
    if (error instanceof ImportFault) return [];
    throw error;
  }
}

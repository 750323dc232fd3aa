import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';

/** A page as it is sent. */
export interface Rendered {
  readonly publicationId: string;
  /** That of the publication when the page was read. */
  readonly revision: string;
  readonly etag: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Rendered pages by what was asked for, in so many bytes; those asked for least go first. */
export type RenderedPages = LRUCache<string, Rendered>;

/** Bytes that a page takes besides its body. */
const ROOM = 1024;

export function createRenderedPages(maxBytes: number): RenderedPages {
  return new LRUCache({
    maxSize: Math.max(maxBytes, 1),
    sizeCalculation: ({ body }, key) => body.length + key.length + ROOM,
  });
}

export const etagOf = (body: Buffer): string => `"${hash('sha256', body, 'base64url').slice(0, 22)}"`;

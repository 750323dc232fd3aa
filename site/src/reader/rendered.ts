import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';

/** A rendered page, ready to be sent. */
export interface Rendered {
  readonly publicationId: string;
  /** Revision of the publication when the page was read. */
  readonly revision: string;
  readonly etag: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Cache of rendered pages by request. It is limited in bytes and evicts the least recently used page first. */
export type RenderedPages = LRUCache<string, Rendered>;

/** Overhead of a cached page in bytes, besides its body and key. */
const ROOM = 1024;

export function createRenderedPages(maxBytes: number): RenderedPages {
  return new LRUCache({
    maxSize: Math.max(maxBytes, 1),
    sizeCalculation: ({ body }, key) => body.length + key.length + ROOM,
  });
}

export const etagOf = (body: Buffer): string => `"${hash('sha256', body, 'base64url').slice(0, 22)}"`;

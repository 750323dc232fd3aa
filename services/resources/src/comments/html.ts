import { LRUCache } from 'lru-cache';
import { commentHtml } from '../documents/index.js';

/** Maximum number of characters of cached bodies and their HTML. */
const MAX_CACHED_CHARS = 4_000_000;

const rendered = new LRUCache<string, string>({
  maxSize: MAX_CACHED_CHARS,
  sizeCalculation: (html, body) => html.length + body.length + 1,
});

/** Returns the body of a comment as HTML that is safe to embed. */
export function bodyHtml(body: string): string {
  let html = rendered.get(body);
  if (html === undefined) {
    html = commentHtml(body);
    rendered.set(body, html);
  }
  return html;
}

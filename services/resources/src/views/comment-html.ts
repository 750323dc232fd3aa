import { LRUCache } from 'lru-cache';
import { commentHtml } from '../documents/index.js';

/** Characters of bodies and of their HTML that are remembered. */
const REMEMBERED = 4_000_000;

const rendered = new LRUCache<string, string>({
  maxSize: REMEMBERED,
  sizeCalculation: (html, body) => html.length + body.length + 1,
});

/** The body of a comment as HTML that is safe to show. */
export function bodyHtml(body: string): string {
  let html = rendered.get(body);
  if (html === undefined) {
    html = commentHtml(body);
    rendered.set(body, html);
  }
  return html;
}

import { LRUCache } from 'lru-cache';

const rendered = new LRUCache<string, string>({
  maxSize: 4_000_000,
  sizeCalculation: (html, body) => html.length + body.length + 1,
});

/** The body of a comment as HTML that is safe to show. */
export function bodyHtml(body: string): string {
  let html = rendered.get(body);
  if (html === undefined) {
    html = body
      .split(/\n{2,}/u)
      .map((paragraph) => `<p>${paragraph.replace(/[&<>"]/gu, (char) => `&#${char.charCodeAt(0)};`)}</p>`)
      .join('\n');
    rendered.set(body, html);
  }
  return html;
}

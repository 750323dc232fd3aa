import { imagesInHtml } from '../domain/html-links.js';
import { imagesInMarkdown } from '../domain/markdown-links.js';
import { frontMatterLength } from '../sources/markdown/front-matter.js';
import type { ItemContent } from '../sources/port.js';

/** Returns the URLs of the images that an item shows, in order. */
export function imagesIn({ markdown, html }: ItemContent): string[] {
  if (markdown !== undefined) return imagesInMarkdown(markdown, frontMatterLength(markdown));
  return html === undefined ? [] : imagesInHtml(html);
}

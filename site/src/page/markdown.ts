import { lazyLibrary } from '@commonplace/kit/library';
import type MarkdownIt from 'markdown-it';
import { proseOf } from './prose.js';

const library = lazyLibrary<typeof MarkdownIt>('markdown-it', import.meta.url);
let reader: InstanceType<typeof MarkdownIt> | undefined;

/**
 * Renders a user's short Markdown text as HTML. HTML in it is escaped, and URLs that could run scripts are not linked.
 */
export function markdownHtml(text: string): string {
  reader ??= new (library())({ html: false, linkify: true, breaks: true }).disable('image');
  return proseOf(reader.render(text));
}

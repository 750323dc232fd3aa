import { lazyLibrary } from '@commonplace/kit/library';
import type MarkdownIt from 'markdown-it';

const library = lazyLibrary<typeof MarkdownIt>('markdown-it', import.meta.url);
let reader: InstanceType<typeof MarkdownIt> | undefined;

/** The HTML of a short Markdown text of a user: HTML in it is shown as text, addresses that script are none. */
export function markdownHtml(text: string): string {
  reader ??= new (library())({ html: false, linkify: true, breaks: true }).disable('image');
  return reader.render(text);
}

import { toHtml } from './html/write.js';
import { parseMarkdown } from './markdown/read.js';

/** Returns sanitised HTML of a comment's body, which is Markdown. */
export const commentHtml = (markdown: string): string => toHtml(parseMarkdown(markdown)).html;

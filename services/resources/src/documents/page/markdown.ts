import { NestedTooDeep } from '../html/nesting.js';
import { parseHtml, toMarkdown } from '../index.js';
import { visiblePage } from './visible.js';

export interface PageMarkdown {
  readonly markdown: string;
  readonly title: string;
}

/** Converts the visible content of a page to Markdown. Returns an empty result for a page that is nested too deep. */
export function pageMarkdown(html: string): PageMarkdown {
  try {
    const { html: visible, title } = visiblePage(html);
    return { markdown: toMarkdown(parseHtml(visible)), title };
  } catch (error) {
    if (error instanceof NestedTooDeep) return { markdown: '', title: '' };
    throw error;
  }
}

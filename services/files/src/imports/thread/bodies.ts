import { redirectHtml } from '../domain/html-links.js';
import { redirectJson } from '../domain/json-links.js';
import type { Redirect } from '../domain/links.js';
import { redirectMarkdown } from '../domain/markdown-links.js';
import { frontMatterLength } from '../sources/markdown/front-matter.js';
import type { ItemContent } from '../sources/port.js';
import type { PutBody } from './protocol.js';
import { type Further, isTable, splitJson } from './rows.js';

/** The part of an item that may be large. */
export type ItemBody = Pick<ItemContent, 'markdown' | 'wikiLinks' | 'html' | 'json'>;

/** Returns the links of a body and the number of their occurrences, in the order of first occurrence. */
export function linksOf(body: ItemBody): Map<string, number> {
  const found = new Map<string, number>();
  redirected(body, (href) => {
    found.set(href, (found.get(href) ?? 0) + 1);
    return undefined;
  });
  return found;
}

function redirected({ markdown, wikiLinks, html, json }: ItemBody, redirect: Redirect): ItemBody {
  if (markdown !== undefined) {
    const from = frontMatterLength(markdown);
    return { markdown: redirectMarkdown(markdown, redirect, { from, ...(wikiLinks && { wikiLinks }) }) };
  }
  if (html !== undefined) return { html: redirectHtml(html, redirect) };
  return json === undefined ? {} : { json: redirectJson(json, redirect) };
}

/** Converts a body with redirected links to the fields that the tree takes, split into several calls if needed. */
export function putBodyOf(body: ItemBody, redirect: Redirect): PutBody & { readonly further: Iterator<Further> } {
  const { markdown, html, json } = redirected(body, redirect);
  const none = { rows: 0, hasFurther: false, further: [][Symbol.iterator]() };
  if (markdown !== undefined) return { ...none, fields: { markdown }, bytes: Buffer.byteLength(markdown) };
  if (html !== undefined) return { ...none, fields: { html }, bytes: Buffer.byteLength(html) };
  if (json === undefined) return { ...none, fields: {}, bytes: 0 };
  const { first: contentJson, further } = splitJson(json);
  return {
    fields: { contentJson },
    rows: isTable(json) ? json.rows.length : 0,
    bytes: contentJson.length,
    hasFurther: further !== undefined,
    further: further?.() ?? none.further,
  };
}

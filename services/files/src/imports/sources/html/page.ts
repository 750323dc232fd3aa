import { decode } from '../../../media/charset.js';
import { fitMetadata } from '../common/metadata.js';
import { momentOf, oneLine } from '../common/text.js';
import type { ItemContent } from '../port.js';
import { cleanHtml, isBlank, type Rule } from './clean.js';
import {
  type Element,
  elementsOf,
  find,
  findAll,
  findNamed,
  isElement,
  type Node,
  parseTree,
  textOf,
  withChildren,
} from './dom.js';

/** Bytes beyond which a page is refused, because it is read into memory as a whole. */
export const MAX_PAGE_BYTES = 12 * 1024 * 1024;

/** Returns the charset that a page names in its head or its XML declaration. */
function declaredCharset(page: Buffer): string | undefined {
  const head = page.toString('latin1', 0, 4096);
  const meta = /<meta[^>]+charset\s*=\s*["']?\s*([\w-]+)/i.exec(head)?.[1];
  return meta ?? /^\s*<\?xml[^>]+encoding\s*=\s*["']([\w-]+)/i.exec(head)?.[1];
}

/** Parses a page, decoded from its charset. */
export const treeOf = (page: Buffer): Element =>
  parseTree(
    decode(page, declaredCharset(page))
      .replace(/^\ufeff/, '')
      .replace(/\r\n?/g, '\n'),
  );

/** Returns the values of a page's `<meta>` elements by lower-case name; the first one of a name counts. */
function metasOf(root: Element): Map<string, string> {
  const metas = new Map<string, string>();
  for (const { name, attributes } of elementsOf(root)) {
    if (name !== 'meta' || attributes.content === undefined) continue;
    const key = (attributes.name ?? attributes.property ?? attributes.itemprop ?? '').toLowerCase();
    const value = oneLine(attributes.content);
    if (key !== '' && value !== '' && !metas.has(key)) metas.set(key, value);
  }
  return metas;
}

const CREATED = [
  'article:published_time',
  'dcterms.created',
  'dc.date.created',
  'datepublished',
  'created',
  'date',
  'dc.date',
];
const UPDATED = [
  'article:modified_time',
  'dcterms.modified',
  'og:updated_time',
  'datemodified',
  'last-modified',
  'modified',
  'changed',
];

/** Returns the metadata in a page's head. */
export function headOfPage(
  root: Element,
): Pick<ItemContent, 'description' | 'author' | 'createdAt' | 'updatedAt' | 'metadata'> {
  const metas = metasOf(root);
  const first = (names: readonly string[]) => names.flatMap((name) => momentOf(metas.get(name)) ?? [])[0];
  const keywords = metas
    .get('keywords')
    ?.split(',')
    .flatMap((word) => word.trim() || []);
  const canonical = find(root, ({ name, attributes }) => name === 'link' && attributes.rel === 'canonical');
  const author = metas.get('author') ?? metas.get('dc.creator') ?? metas.get('dcterms.creator');
  const description = metas.get('description') ?? metas.get('og:description') ?? metas.get('dc.description');
  const { metadata } = fitMetadata({
    author,
    keywords: keywords?.length ? keywords : undefined,
    url: canonical?.attributes.href,
    language: findNamed(root, 'html')?.attributes.lang,
  });
  return {
    ...(description === undefined ? {} : { description: description.slice(0, 2000) }),
    ...(author === undefined ? {} : { author }),
    createdAt: first(CREATED),
    updatedAt: first(UPDATED),
    metadata,
  };
}

/** Returns the main content of a page: `<main>`, or the only `<article>`, else the body. */
function mainOf(root: Element): Element {
  const role = (element: Element) => element.name === 'main' || element.attributes.role === 'main';
  const mains = findAll(root, role);
  const outer = mains.find((main) => !isBlank(main.children));
  if (outer !== undefined) return outer;
  const articles = findAll(root, ({ name }) => name === 'article').filter(({ children }) => !isBlank(children));
  const [only] = articles;
  if (articles.length === 1 && only !== undefined) return only;
  return findNamed(root, 'body') ?? root;
}

/** Removes the first heading of a page if it repeats the title. */
function withoutTitle(node: Element, title: string, level = 1): Element {
  const at = node.children.findIndex((child) => (isElement(child) ? !isBlank([child]) : child.trim() !== ''));
  const first = node.children[at];
  if (!isElement(first)) return node;
  const others = (nodes: Node[]) =>
    withChildren(node, [...node.children.slice(0, at), ...nodes, ...node.children.slice(at + 1)]);
  if (first.name === `h${level}`) return textOf(first) === title && !hasImage(first) ? others([]) : node;
  if (!/^(?:div|section|article|header|main|body)$/.test(first.name)) return node;
  return others([withoutTitle(first, title, level)]);
}

const hasImage = (element: Element): boolean => findNamed(element, 'img') !== undefined;

/** Returns the title of a page: that of its head, or its first heading if the head's title adds the site's name. */
function titleOf(root: Element, main: Element): string | undefined {
  const named = textOf(titleNode(root));
  const heading = textOf(findNamed(main, 'h1'));
  if (heading !== '' && (named === '' || (named !== heading && named.includes(heading)))) return heading;
  return named || undefined;
}

/** Returns the `<title>` of the page itself, not that of an SVG drawing. */
function titleNode(root: Element): Element | undefined {
  for (const child of root.children) {
    if (!isElement(child) || child.name === 'svg') continue;
    if (child.name === 'title') return child;
    if (child.name === 'html' || child.name === 'head') {
      const found = titleNode(child);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

/** Reads an HTML page of any tool. */
export function readPage(page: Buffer, rule?: Rule): ItemContent {
  const root = treeOf(page);
  const main = mainOf(root);
  const title = titleOf(root, main);
  const { html, losses } = cleanHtml((title === undefined ? main : withoutTitle(main, title)).children, rule);
  return { title, ...headOfPage(root), html, warnings: losses.list() };
}

import { toHtml } from './html/write.js';
import { idsIn } from './ids-in.js';
import { toMarkdown } from './markdown/write.js';
import { type Attrs, attrText, BLOCKS, type Doc, type DocNode, holdsInline, type Mark } from './model/model.js';
import { countWords, toText } from './model/text.js';
import { plainText } from './plain.js';

/**
 * The public addresses of a resource that readers of a publication may open. References to other resources are not
 * links.
 */
interface PublicLink {
  /** Path or URL of its page. */
  readonly page: string;
  /** Address of its bytes if it is an image that can be shown. */
  readonly image?: string;
  readonly name: string;
}

export type PublicLinks = ReadonlyMap<string, PublicLink>;

interface Heading {
  readonly id: string;
  readonly level: number;
  readonly text: string;
}

export interface PublishedHtml {
  readonly html: string;
  readonly words: number;
  readonly headings: readonly Heading[];
  /** The beginning of the text, at most 200 characters. */
  readonly excerpt: string;
  /** Address of the first image that belongs to the publication. */
  readonly image: string | undefined;
}

const MAX_EXCERPT_CHARS = 200;

/**
 * Renders a document for readers without an account. The result reveals nothing about resources outside the
 * publication.
 */
export function publishedHtml(doc: Doc, links: PublicLinks): PublishedHtml {
  const shown = publishedDoc(doc, links, true);
  const { html } = toHtml(shown, { resolve: () => undefined });
  const text = toText(shown);
  const { html: marked, headings } = withHeadingIds(withoutForeignMedia(html, links));
  const words = text.replace(/\s+/g, ' ').trim();
  const excerpt = words.length <= MAX_EXCERPT_CHARS ? words : `${words.slice(0, MAX_EXCERPT_CHARS - 1).trimEnd()}…`;
  return {
    html: withAnchors(marked, headings, links),
    words: countWords(shown),
    headings,
    excerpt,
    image: firstImage(shown, links),
  };
}

/** Does the same as `publishedHtml`, as Markdown. */
export function publishedMarkdown(doc: Doc, links: PublicLinks): string {
  return toMarkdown(publishedDoc(doc, links, false));
}

/**
 * Returns the document as readers may see it. With `ofHtml`, images on other hosts become links, as a page loads
 * nothing from other hosts.
 */
function publishedDoc(doc: Doc, links: PublicLinks, ofHtml: boolean): Doc {
  return { ...doc, content: blocks(doc.content, { links, ofHtml }) };
}

interface Terms {
  readonly links: PublicLinks;
  readonly ofHtml: boolean;
}

const RESOURCE = /^resource:([\w-]{1,64})([#?/].*)?$/s;
const WORKSPACE_OWN = /^(?:user|page):/;

function blocks(nodes: readonly DocNode[], terms: Terms): DocNode[] {
  return nodes.flatMap((node) => block(node, terms));
}

function block(node: DocNode, terms: Terms): DocNode[] {
  if (node.type === 'front_matter') return [];
  if (node.type === 'html') return rawHtml(node, terms);
  if (node.type === 'image') {
    return image(node, terms).map((one) => (one.type === 'image' ? one : { type: 'paragraph', content: [one] }));
  }
  const cards = card(node, terms);
  if (cards !== undefined) return cards;
  const { content } = node;
  if (content === undefined) return [node];
  return [{ ...node, content: holdsInline(node) ? inline(content, terms) : blocks(content, terms) }];
}

/**
 * Converts blocks that refer to a resource into links. Those without a public address are dropped, because their words
 * may be the resource's name.
 */
function card(node: DocNode, terms: Terms): DocNode[] | undefined {
  const target = attrText(node, 'resource_id') || (RESOURCE.exec(addressIn(node))?.[1] ?? '');
  if (target === '') return BLOCKS[node.type] === undefined ? unknownBlock(node, terms) : undefined;
  const link = terms.links.get(target);
  if (link === undefined) return [];
  const words = attrText(node, 'title') || link.name;
  return [paragraph([linked(words, link.page)])];
}

const addressIn = (node: DocNode): string => attrText(node, 'src') || attrText(node, 'url') || attrText(node, 'href');

/** Reduces a block of unknown type to its text, as it may hold anything. */
function unknownBlock(node: DocNode, terms: Terms): DocNode[] | undefined {
  if (node.type === 'table_row' || node.type === 'table_cell') return undefined;
  const { content } = node;
  if (content === undefined) return [];
  return holdsInline(node) ? [paragraph(inline(content, terms))] : blocks(content, terms);
}

const paragraph = (content: DocNode[]): DocNode => ({ type: 'paragraph', content });

const linked = (text: string, href: string): DocNode => ({
  type: 'text',
  text,
  marks: [{ type: 'link', attrs: { href } }],
});

function inline(nodes: readonly DocNode[], terms: Terms): DocNode[] {
  return nodes.flatMap((node) => inlineNode(node, terms));
}

function inlineNode(node: DocNode, terms: Terms): DocNode[] {
  switch (node.type) {
    case 'mention':
      return [withMarks({ type: 'text', text: `@${attrText(node, 'name')}` }, node, terms)];
    case 'wiki_link':
      return [wikiLink(node, terms)];
    case 'image':
      return image(node, terms);
    case 'html':
      return rawHtml(node, terms);
    default:
      return [withMarks(node, node, terms)];
  }
}

/** Copies a node with its public marks: links without a public address and comment marks are dropped. */
function withMarks(node: DocNode, { marks }: DocNode, terms: Terms): DocNode {
  const kept = (marks ?? []).flatMap((mark) => publicMark(mark, terms));
  const { marks: _, ...rest } = node;
  return kept.length === 0 ? rest : { ...rest, marks: kept };
}

function publicMark(mark: Mark, { links }: Terms): Mark[] {
  if (mark.type === 'comment') return [];
  if (mark.type !== 'link') return [mark];
  const href = attrText(mark, 'href');
  if (WORKSPACE_OWN.test(href)) return [];
  const [, id, rest = ''] = RESOURCE.exec(href) ?? [];
  if (id === undefined) return /^resource:/i.test(href) ? [] : [mark];
  const link = links.get(id);
  return link === undefined ? [] : [{ type: 'link', attrs: { href: link.page + (rest.startsWith('#') ? rest : '') } }];
}

function wikiLink(node: DocNode, terms: Terms): DocNode {
  const target = attrText(node, 'target');
  const id = RESOURCE.exec(target)?.[1];
  const link = id === undefined ? undefined : terms.links.get(id);
  const words = attrText(node, 'label') || (id === undefined ? target : (link?.name ?? 'Linked page'));
  const text = withMarks({ type: 'text', text: words }, node, terms);
  if (link === undefined) return text;
  return { ...text, marks: [{ type: 'link', attrs: { href: link.page } }, ...(text.marks ?? [])] };
}

const isOwnImage = (src: string): boolean => src.startsWith('data:');

/** Returns an image with its public address, or its words or a link if it cannot be shown. */
function image(node: DocNode, terms: Terms): DocNode[] {
  const src = attrText(node, 'src') || (attrText(node, 'resource_id') && `resource:${attrText(node, 'resource_id')}`);
  const words = attrText(node, 'alt');
  const id = RESOURCE.exec(src)?.[1];
  if (id === undefined) {
    if (isOwnImage(src) || !terms.ofHtml) return /^resource:/i.test(src) ? text(words) : [withMarks(node, node, terms)];
    return /^(?:https?:)?\/\//i.test(src) ? [linked(words || 'Image', src)] : text(words);
  }
  const link = terms.links.get(id);
  if (link?.image === undefined) return text(words);
  const { resource_id: _, ...attrs } = node.attrs ?? ({} as Attrs);
  return [withMarks({ ...node, attrs: { ...attrs, src: link.image } }, node, terms)];
}

const text = (words: string): DocNode[] => (words === '' ? [] : [{ type: 'text', text: words }]);

/**
 * Removes comments from HTML within the text. In Markdown it also resolves addresses; in HTML the whole page is
 * resolved later.
 */
function rawHtml(node: DocNode, terms: Terms): DocNode[] {
  const html = attrText(node, 'html').replace(/<!--[\s\S]*?(?:-->|$)/g, '');
  if (html === '') return [];
  const shown = terms.ofHtml
    ? html
    : html.replace(ADDRESSED, (whole, name, id) => publicAttribute(whole, name, id, terms.links));
  return [{ ...node, attrs: { ...node.attrs, html: shown } }];
}

const ADDRESSED = /\b(href|src|poster)\s*=\s*["']?resource:([\w-]{1,64})[^"'\s>]*["']?/gi;

function publicAttribute(_whole: string, name: string, id: string, links: PublicLinks): string {
  const found = links.get(id);
  const address = name.toLowerCase() === 'href' ? found?.page : found?.image;
  return address === undefined ? '' : `${name}="${escapeAttribute(address)}"`;
}

const escapeAttribute = (value: string): string => value.replaceAll('&', '&amp;').replaceAll('"', '&quot;');

const MEDIA = /<(img|video|audio|source|track)\b([^<>]*)>/g;
const ATTRIBUTE = /\s(src|poster|href)="([^"]*)"/g;
/** Attributes with ids that are internal to the workspace. */
const INNER = /\sdata-(?:comment|mention)="[^"]*"/g;

/**
 * Rewrites sanitised HTML so that workspace addresses lead into the publication and nothing is loaded from other hosts.
 * Relies on the sanitiser writing every attribute in double quotes, with `<`, `>` and `"` escaped in values.
 */
function withoutForeignMedia(html: string, links: PublicLinks): string {
  return html
    .replace(/<[a-z][^<>]*>/g, (tag) =>
      /resource:/i.test(tag)
        ? tag.replace(ADDRESSED, (whole, name, id) => publicAttribute(whole, name, id, links))
        : tag,
    )
    .replace(MEDIA, (tag, name: string) => media(tag, name, links))
    .replace(INNER, '');
}

/** Replaces an image that does not belong to the publication by its alternative text. */
function media(tag: string, name: string, links: PublicLinks): string {
  const own = tag.replace(ATTRIBUTE, (whole, _name, value: string) => (isSame(value, links) ? whole : ''));
  if (name !== 'img' || /\ssrc="/.test(own)) return own;
  return /\salt="([^"]*)"/.exec(tag)?.[1] ?? '';
}

function isSame(address: string, links: PublicLinks): boolean {
  if (isOwnImage(address)) return true;
  for (const { image: own } of links.values()) if (own !== undefined && escapeAttribute(own) === address) return true;
  return false;
}

const HEADING = /<h([1-6])((?:\s[^<>]*)?)>([\s\S]*?)<\/h\1>/g;

/** Derives an id from the words of a heading. The prefix avoids names that scripts and forms use. */
function headingId(words: string): string {
  const own = words
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '');
  return `h-${own || 'section'}`;
}

const ANCHORED = /\shref="([^"#]*)#([^"]+)"/g;

/**
 * Redirects links to headings, in this page and in others of the publication, to the ids given here. Authors write
 * `#back-up`, as other Markdown renderers name the heading "Back up".
 */
function withAnchors(html: string, headings: readonly Heading[], links: PublicLinks): string {
  const own = new Set(headings.map(({ id }) => id));
  const pages = new Set([...links.values()].map(({ page }) => escapeAttribute(page)));
  return html.replace(ANCHORED, (whole: string, page: string, fragment: string) => {
    const isKnown = page === '' ? own.has(fragment) : fragment.startsWith('h-') || !pages.has(page);
    return isKnown ? whole : ` href="${page}#${encodeURIComponent(headingId(decoded(fragment)))}"`;
  });
}

function decoded(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return fragment;
  }
}

/** Adds an id to each heading, derived from its words and made unique, and returns the headings. */
function withHeadingIds(html: string): { html: string; headings: Heading[] } {
  const headings: Heading[] = [];
  const used = new Map<string, number>();
  const marked = html.replace(HEADING, (_whole, level: string, attributes: string, inside: string) => {
    const words = plainText(inside);
    const own = headingId(words);
    const times = used.get(own) ?? 0;
    used.set(own, times + 1);
    const id = times === 0 ? own : `${own}-${times + 1}`;
    headings.push({ id, level: Number(level), text: words });
    return `<h${level} id="${id}"${attributes}>${inside}</h${level}>`;
  });
  return { html: marked, headings };
}

function firstImage(doc: Doc, links: PublicLinks): string | undefined {
  const own = new Set([...links.values()].flatMap(({ image: address }) => address ?? []));
  const search = (nodes: readonly DocNode[]): string | undefined => {
    for (const node of nodes) {
      const src = attrText(node, 'src');
      const found = node.type === 'image' && own.has(src) ? src : search(node.content ?? []);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return search(doc.content);
}

/** Returns the ids of all resources that a document names in any way, doubles excluded. */
export function namedResources(source: string): string[] {
  return [...new Set(idsIn(source))];
}

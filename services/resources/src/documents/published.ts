import { toHtml } from './html/write.js';
import { toMarkdown } from './markdown/write.js';
import { type Attrs, attrText, BLOCKS, type Doc, type DocNode, holdsInline, type Mark } from './model.js';
import { plainText } from './plain.js';
import { countWords, toText } from './text.js';

/** Where a resource leads that readers of a publication may open; the others lead nowhere. */
export interface Lead {
  /** Path or URL of its page. */
  readonly page: string;
  /** Of its bytes, for images; absent where it can't be shown. */
  readonly image?: string;
  readonly name: string;
}

export type Leads = ReadonlyMap<string, Lead>;

export interface Heading {
  readonly id: string;
  readonly level: number;
  readonly text: string;
}

export interface PublishedHtml {
  readonly html: string;
  readonly words: number;
  readonly headings: readonly Heading[];
  /** The beginning of the text. */
  readonly excerpt: string;
  /** Address of the first image of the publication's own. */
  readonly image: string | undefined;
}

const EXCERPT_LENGTH = 200;

/** A document for readers without an account: nothing in it speaks of what is not in the publication. */
export function publishedHtml(doc: Doc, leads: Leads): PublishedHtml {
  const shown = publishedDoc(doc, leads, true);
  const { html } = toHtml(shown, { resolve: () => undefined });
  const text = toText(shown);
  const { html: marked, headings } = withHeadingIds(withoutStrangers(html, leads));
  const words = text.replace(/\s+/g, ' ').trim();
  const excerpt = words.length <= EXCERPT_LENGTH ? words : `${words.slice(0, EXCERPT_LENGTH - 1).trimEnd()}…`;
  return { html: marked, words: countWords(shown), headings, excerpt, image: firstImage(shown, leads) };
}

/** The same as Markdown. */
export function publishedMarkdown(doc: Doc, leads: Leads): string {
  return toMarkdown(publishedDoc(doc, leads, false));
}

/** `ofHtml`: images of other hosts are links to them, for the page asks no other host for anything. */
export function publishedDoc(doc: Doc, leads: Leads, ofHtml: boolean): Doc {
  return { ...doc, content: blocks(doc.content, { leads, ofHtml }) };
}

interface Terms {
  readonly leads: Leads;
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

/** Blocks that stand for something else: what leads nowhere is left out, for its words may be that one's name. */
function card(node: DocNode, terms: Terms): DocNode[] | undefined {
  const target = attrText(node, 'resource_id') || (RESOURCE.exec(addressIn(node))?.[1] ?? '');
  if (target === '') return BLOCKS[node.type] === undefined ? unknownBlock(node, terms) : undefined;
  const lead = terms.leads.get(target);
  if (lead === undefined) return [];
  const words = attrText(node, 'title') || lead.name;
  return [paragraph([linked(words, lead.page)])];
}

const addressIn = (node: DocNode): string => attrText(node, 'src') || attrText(node, 'url') || attrText(node, 'href');

/** What this version does not know may hold anything: of it the text alone is shown. */
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

/** A node with the marks that readers get: links lead somewhere, and nobody's comments are told of. */
function withMarks(node: DocNode, { marks }: DocNode, terms: Terms): DocNode {
  const kept = (marks ?? []).flatMap((mark) => publicMark(mark, terms));
  const { marks: _, ...rest } = node;
  return kept.length === 0 ? rest : { ...rest, marks: kept };
}

function publicMark(mark: Mark, { leads }: Terms): Mark[] {
  if (mark.type === 'comment') return [];
  if (mark.type !== 'link') return [mark];
  const href = attrText(mark, 'href');
  if (WORKSPACE_OWN.test(href)) return [];
  const [, id, rest = ''] = RESOURCE.exec(href) ?? [];
  if (id === undefined) return /^resource:/i.test(href) ? [] : [mark];
  const lead = leads.get(id);
  return lead === undefined ? [] : [{ type: 'link', attrs: { href: lead.page + (rest.startsWith('#') ? rest : '') } }];
}

function wikiLink(node: DocNode, terms: Terms): DocNode {
  const target = attrText(node, 'target');
  const id = RESOURCE.exec(target)?.[1];
  const lead = id === undefined ? undefined : terms.leads.get(id);
  const words = attrText(node, 'label') || (id === undefined ? target : (lead?.name ?? 'Linked page'));
  const text = withMarks({ type: 'text', text: words }, node, terms);
  if (lead === undefined) return text;
  return { ...text, marks: [{ type: 'link', attrs: { href: lead.page } }, ...(text.marks ?? [])] };
}

const isOwnImage = (src: string): boolean => src.startsWith('data:');

/** An image of the publication, or what stands for one that can't be shown. */
function image(node: DocNode, terms: Terms): DocNode[] {
  const src = attrText(node, 'src') || (attrText(node, 'resource_id') && `resource:${attrText(node, 'resource_id')}`);
  const words = attrText(node, 'alt');
  const id = RESOURCE.exec(src)?.[1];
  if (id === undefined) {
    if (isOwnImage(src) || !terms.ofHtml) return /^resource:/i.test(src) ? text(words) : [withMarks(node, node, terms)];
    return /^(?:https?:)?\/\//i.test(src) ? [linked(words || 'Image', src)] : text(words);
  }
  const lead = terms.leads.get(id);
  if (lead?.image === undefined) return text(words);
  const { resource_id: _, ...attrs } = node.attrs ?? ({} as Attrs);
  return [withMarks({ ...node, attrs: { ...attrs, src: lead.image } }, node, terms)];
}

const text = (words: string): DocNode[] => (words === '' ? [] : [{ type: 'text', text: words }]);

/** HTML within the text: comments are for its writers, and addresses are worked out in the page. */
function rawHtml(node: DocNode, terms: Terms): DocNode[] {
  const html = attrText(node, 'html').replace(/<!--[\s\S]*?(?:-->|$)/g, '');
  if (html === '') return [];
  const shown = terms.ofHtml ? html : html.replace(ADDRESSED, (whole, name, id) => lead(whole, name, id, terms.leads));
  return [{ ...node, attrs: { ...node.attrs, html: shown } }];
}

const ADDRESSED = /\b(href|src|poster)\s*=\s*["']?resource:([\w-]{1,64})[^"'\s>]*["']?/gi;

function lead(_whole: string, name: string, id: string, leads: Leads): string {
  const found = leads.get(id);
  const address = name.toLowerCase() === 'href' ? found?.page : found?.image;
  return address === undefined ? '' : `${name}="${escapeAttribute(address)}"`;
}

const escapeAttribute = (value: string): string => value.replaceAll('&', '&amp;').replaceAll('"', '&quot;');

const MEDIA = /<(img|video|audio|source|track)\b([^<>]*)>/g;
const ATTRIBUTE = /\s(src|poster|href)="([^"]*)"/g;
/** Ids of the workspace's own, which mean nothing outside. */
const INNER = /\sdata-(?:comment|mention)="[^"]*"/g;

/**
 * Sanitised HTML in which every address of the workspace leads into the publication, and nothing is fetched from
 * elsewhere. The sanitiser writes every attribute in double quotes, with `<`, `>` and `"` in values escaped.
 */
function withoutStrangers(html: string, leads: Leads): string {
  return html
    .replace(/<[a-z][^<>]*>/g, (tag) =>
      /resource:/i.test(tag) ? tag.replace(ADDRESSED, (whole, name, id) => lead(whole, name, id, leads)) : tag,
    )
    .replace(MEDIA, (tag, name: string) => media(tag, name, leads))
    .replace(INNER, '');
}

/** Of an image that is not the publication's own its words are left. */
function media(tag: string, name: string, leads: Leads): string {
  const own = tag.replace(ATTRIBUTE, (whole, _name, value: string) => (isSame(value, leads) ? whole : ''));
  if (name !== 'img' || /\ssrc="/.test(own)) return own;
  return /\salt="([^"]*)"/.exec(tag)?.[1] ?? '';
}

function isSame(address: string, leads: Leads): boolean {
  if (isOwnImage(address)) return true;
  for (const { image: own } of leads.values()) if (own !== undefined && escapeAttribute(own) === address) return true;
  return false;
}

const HEADING = /<h([1-6])((?:\s[^<>]*)?)>([\s\S]*?)<\/h\1>/g;

/** Gives each heading an id that its words make, and tells of them. */
function withHeadingIds(html: string): { html: string; headings: Heading[] } {
  const headings: Heading[] = [];
  const used = new Map<string, number>();
  const marked = html.replace(HEADING, (_whole, level: string, attributes: string, inside: string) => {
    const words = plainText(inside);
    const own = `h-${
      words
        .toLowerCase()
        .replace(/[^\p{L}\p{N}]+/gu, '-')
        .replace(/^-|-$/g, '') || 'section'
    }`;
    const times = used.get(own) ?? 0;
    used.set(own, times + 1);
    const id = times === 0 ? own : `${own}-${times + 1}`;
    headings.push({ id, level: Number(level), text: words });
    return `<h${level} id="${id}"${attributes}>${inside}</h${level}>`;
  });
  return { html: marked, headings };
}

function firstImage(doc: Doc, leads: Leads): string | undefined {
  const own = new Set([...leads.values()].flatMap(({ image: address }) => address ?? []));
  const look = (nodes: readonly DocNode[]): string | undefined => {
    for (const node of nodes) {
      const src = attrText(node, 'src');
      const found = node.type === 'image' && own.has(src) ? src : look(node.content ?? []);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return look(doc.content);
}

/** Ids of all resources that a document names in any way. */
export function namedResources(source: string): string[] {
  return [...new Set(source.match(UUIDS))];
}

const UUIDS = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g;

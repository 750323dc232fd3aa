import { resolveEscapes } from './escapes.js';
import { hasMark, inlineText, markKey } from './model/inline.js';
import { type Attrs, attrText, type Doc, type DocNode, type Mark } from './model/model.js';
import { blockText } from './model/text.js';

/** The text that replaces the words of a reference to a resource that the reader may not know of. */
export const NO_ACCESS = 'No access';

/** One reference to a resource in a document: a block, an image, or a run of text with one link on it. */
interface Place {
  readonly id: string;
  readonly nodes: readonly DocNode[];
}

/** Returns the nodes that replace a reference; undefined if it stays. */
type Change = (place: Place) => readonly DocNode[] | undefined;

const RESOURCE = /^resource:([\w-]{1,64})(?:[#?/].*)?$/;
const ADDRESSES = ['src', 'url', 'href', 'target'] as const;

const idIn = (address: string): string | undefined => RESOURCE.exec(address)?.[1];

/** Returns the id of the resource that a node refers to by its own attributes. */
function referred(node: DocNode): string | undefined {
  const id = attrText(node, 'resource_id');
  if (id !== '') return id;
  for (const name of ADDRESSES) {
    const found = idIn(attrText(node, name));
    if (found !== undefined) return found;
  }
  return undefined;
}

const linkOf = (node: DocNode): Mark | undefined => node.marks?.find(({ type }) => type === 'link');

/** Replaces references by `change`. Returns the same document if none was replaced. */
function mapPlaces(doc: Doc, change: Change): Doc {
  const content = mapNodes(doc.content, change);
  return content === doc.content ? doc : { ...doc, content };
}

function mapNodes(nodes: DocNode[], change: Change): DocNode[] {
  const out: DocNode[] = [];
  let changed = false;
  for (let at = 0; at < nodes.length; ) {
    const place = placeAt(nodes, at);
    const instead = place && change(place);
    const taken = place?.nodes ?? nodes.slice(at, at + 1);
    if (instead !== undefined) {
      changed = true;
      for (const node of instead) out.push(node);
    } else {
      for (const node of taken) {
        const content = node.content && mapNodes(node.content, change);
        changed ||= content !== node.content;
        out.push(content === node.content || content === undefined ? node : { ...node, content });
      }
    }
    at += taken.length;
  }
  return changed ? out : nodes;
}

/** Returns the reference that begins at a node; a link's reference comprises all nodes that the link is on. */
function placeAt(nodes: readonly DocNode[], at: number): Place | undefined {
  const node = nodes[at] as DocNode;
  const own = referred(node);
  if (own !== undefined) return { id: own, nodes: [node] };
  if (node.type === 'html') return rawPlace(nodes, at);
  const link = linkOf(node);
  const id = link && idIn(attrText(link, 'href'));
  if (link === undefined || id === undefined) return undefined;
  const key = markKey(link);
  let end = at + 1;
  for (; end < nodes.length; end += 1) {
    const next = linkOf(nodes[end] as DocNode);
    if (next === undefined || markKey(next) !== key) break;
  }
  return { id, nodes: nodes.slice(at, end) };
}

const RAW = /resource(?::|_id\W{1,3})([\w-]{36})/;

/** Returns the reference in HTML within Markdown; for an opening link tag it extends to the closing tag. */
function rawPlace(nodes: readonly DocNode[], at: number): Place | undefined {
  const html = attrText(nodes[at] as DocNode, 'html');
  const id = RAW.exec(resolveEscapes(html))?.[1];
  if (id === undefined) return undefined;
  if (!/^<a\b[^>]*>$/i.test(html)) return { id, nodes: nodes.slice(at, at + 1) };
  const close = nodes.findIndex((node, i) => i > at && /^<\/a\b/i.test(attrText(node, 'html')));
  return { id, nodes: nodes.slice(at, close < 0 ? undefined : close + 1) };
}

/** Attributes of a reference that reveal nothing about the resource. */
const BARE = ['resource_id', 'width', 'height'] as const;

/** Returns the placeholder for HTML within Markdown, as HTML that parses back to the same nodes. */
function rawPlaceholder({ id, nodes }: Place): DocNode[] {
  const raw = (html: string): DocNode => ({ type: 'html', attrs: { html } });
  const link = raw(`<a href="resource:${id}">`);
  if (nodes.length > 1) return [link, { type: 'text', text: NO_ACCESS }, raw('</a>')];
  const isTag = /^<[^<>]*>$/.test(attrText(nodes[0] as DocNode, 'html'));
  return [
    raw(isTag ? `<img src="resource:${id}" alt="${NO_ACCESS}">` : `<p><a href="resource:${id}">${NO_ACCESS}</a></p>`),
  ];
}

function placeholder(place: Place): DocNode[] {
  const { id, nodes } = place;
  const node = nodes[0] as DocNode;
  if (node.type === 'html') return rawPlaceholder(place);
  const link = referred(node) === undefined;
  if (link) return [{ type: 'text', text: NO_ACCESS, marks: [{ type: 'link', attrs: { href: `resource:${id}` } }] }];
  const attrs: Attrs = {};
  for (const name of BARE) if (node.attrs?.[name] !== undefined) attrs[name] = node.attrs[name];
  for (const name of ADDRESSES) if (idIn(attrText(node, name)) !== undefined) attrs[name] = `resource:${id}`;
  attrs[wordsIn(node)] = NO_ACCESS;
  const { extra: _, content, marks, ...rest } = node;
  const kept = marks?.filter(({ type }) => type !== 'link');
  return [{ ...rest, attrs, ...(content && { content: [] }), ...(kept?.length ? { marks: kept } : {}) }];
}

/** Returns the name of the attribute that holds the words of a reference. */
function wordsIn({ type }: DocNode): string {
  if (type === 'image') return 'alt';
  return type === 'wiki_link' ? 'label' : 'title';
}

function isPlaceholder(place: Place): boolean {
  const { nodes } = place;
  const node = nodes[0] as DocNode;
  if (node.type === 'html') return JSON.stringify(nodes) === JSON.stringify(rawPlaceholder(place));
  if (nodes.length > 1) return false;
  return referred(node) === undefined
    ? node.text === NO_ACCESS && !hasMark(node, 'code')
    : attrText(node, wordsIn(node)) === NO_ACCESS;
}

/**
 * Replaces the references to hidden resources by placeholders. They keep their target but lose their words, titles and
 * content copied from the resource. Returns the same document if it has none.
 */
export function withPlaceholders(doc: Doc, hidden: ReadonlySet<string>): Doc {
  return mapPlaces(doc, (place) => (hidden.has(place.id) ? placeholder(place) : undefined));
}

/** Returns the words of the references to hidden resources, each once, the longest first. */
export function hiddenWords(doc: Doc, hidden: ReadonlySet<string>): string[] {
  const words = new Set<string>();
  mapPlaces(doc, ({ id, nodes }) => {
    if (!hidden.has(id)) return undefined;
    for (const text of [inlineText([...nodes]), ...nodes.flatMap(wordsWithin)])
      words.add(text.replace(/\s+/g, ' ').trim());
    return undefined;
  });
  words.delete('');
  words.delete(NO_ACCESS);
  return [...words].sort((a, b) => b.length - a.length);
}

function wordsWithin(node: DocNode): string[] {
  return [blockText(node), ...WORDS.map((name) => attrText(node, name)), ...(node.content ?? []).flatMap(wordsWithin)];
}

/** Attributes that may hold words of a reference. */
const WORDS = ['title', 'name', 'alt', 'label', 'caption'] as const;

/**
 * Restores the references behind placeholders in a document that was edited by a writer who saw placeholders. Each
 * placeholder takes the next reference to its resource in `before`. Returns the same document if it has none.
 */
export function withoutPlaceholders(doc: Doc, before: Doc, hidden: ReadonlySet<string>): Doc {
  const known = new Map<string, Place[]>();
  const keyOf = ({ id, nodes }: Place) => `${nodes[0]?.type} ${id}`;
  mapPlaces(before, (place) => {
    if (!hidden.has(place.id)) return undefined;
    const same = known.get(keyOf(place));
    if (same === undefined) known.set(keyOf(place), [place]);
    else same.push(place);
    return undefined;
  });
  if (known.size === 0) return doc;
  return mapPlaces(doc, (place) =>
    hidden.has(place.id) && isPlaceholder(place) ? known.get(keyOf(place))?.shift()?.nodes : undefined,
  );
}

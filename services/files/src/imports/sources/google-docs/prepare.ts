import {
  childrenOf,
  type Element,
  elementsOf,
  hasClass,
  isElement,
  type Node,
  rawText,
  textOf,
  withChildren,
} from '../html/dom.js';

/** Characters of a class's declarations, and classes of an element, that are evaluated. */
const MAX_STYLE = 1000;
const MAX_CLASSES = 20;

/** Returns the declarations of each class in a document's style sheet. */
function classStyles(root: Element): Map<string, string> {
  const styles = new Map<string, string>();
  for (const element of elementsOf(root)) {
    if (element.name !== 'style') continue;
    const css = element.children.filter((child) => typeof child === 'string').join('');
    for (const [, name = '', body = ''] of css.matchAll(/\.([\w-]{1,100})\s*\{([^{}]*)\}/g))
      styles.set(name, `${styles.get(name) ?? ''}${body};`.slice(0, MAX_STYLE));
  }
  return styles;
}

/** Returns the target of a link through Google's redirect; other links stay as they are. */
export function unwrapped(href: string): string {
  if (!/^https?:\/\/(?:www\.)?google\.[a-z.]+\/url\?/i.test(href.trim()) || !URL.canParse(href.trim())) return href;
  const { searchParams } = new URL(href.trim());
  return searchParams.get('q') || searchParams.get('url') || href;
}

const LIST = /(?:^|\s)(lst-kix_\S+?)-(\d)(?=\s|$)/;

/** Returns a list's id and level, which Google writes as a class. */
function listOf(node: Node): { id: string; level: number; list: Element } | undefined {
  if (!isElement(node) || (node.name !== 'ul' && node.name !== 'ol')) return undefined;
  const match = LIST.exec(node.attributes.class ?? '');
  return match === null ? undefined : { id: match[1] ?? '', level: Number(match[2]), list: node };
}

/** Moves lists of a deeper level, which Google writes one after the other, into the items that they belong to. */
function nested(nodes: readonly Node[]): Node[] {
  const out: Node[] = [];
  let open: { id: string; level: number; list: Element }[] = [];
  for (const node of nodes) {
    const found = listOf(node);
    if (found === undefined) {
      if (isElement(node) || node.trim() !== '') open = [];
      out.push(node);
      continue;
    }
    open = open.filter(({ level }) => level <= found.level);
    const same = open.at(-1);
    if (
      same !== undefined &&
      same.level === found.level &&
      same.id === found.id &&
      same.list.name === found.list.name
    ) {
      for (const item of found.list.children) same.list.children.push(item);
      continue;
    }
    open = open.filter(({ level }) => level < found.level);
    const list = withChildren(found.list, [...found.list.children]);
    const item = open.at(-1)?.list.children.findLast((child) => isElement(child) && child.name === 'li');
    if (isElement(item)) item.children.push(list);
    else out.push(list);
    open.push({ ...found, list });
  }
  return out;
}

const isHeading = (name: string): boolean => /^h[1-6]$/.test(name);
const NO_MARKS = /(?:font-weight|font-style|text-decoration[\w-]*|vertical-align)\s*:[^;]*;?/gi;

/** Rewrites Google's HTML to semantic HTML. */
export function prepared(root: Element): Element {
  const styles = classStyles(root);
  const styleOf = (element: Element): string =>
    (element.attributes.class ?? '')
      .split(/\s+/, MAX_CLASSES)
      .map((name) => styles.get(name) ?? '')
      .join('') + (element.attributes.style ?? '');

  function walk(element: Element, inHeading: boolean): Element {
    const heading = inHeading || isHeading(element.name);
    const inside = nested(element.children).map((child) => (isElement(child) ? walk(child, heading) : child));
    const attributes: Record<string, string> = { ...element.attributes };
    if (element.name === 'a' && attributes.href !== undefined)
      attributes.href = noteAddress(unwrapped(attributes.href));
    if (element.name === 'a' && attributes.id !== undefined) attributes.id = noteId(attributes.id);
    const style = styleOf(element);
    // A heading is bold and a link is underlined anyway, so those styles are dropped.
    const linked = childrenOf(element).length === 1 && childrenOf(element)[0]?.name === 'a';
    if (element.name === 'span')
      attributes.style = heading
        ? style.replace(NO_MARKS, '')
        : linked
          ? style.replace(/text-decoration[\w-]*\s*:[^;]*;?/gi, '')
          : style;
    else delete attributes.style;
    if (/^t[dh]$/.test(element.name)) attributes.style = style;
    return { ...element, attributes, children: inside };
  }
  return walk(root, false);
}

/** Renames the ids of footnotes and comments to ones that documents keep. */
const noteId = (id: string): string =>
  id.replace(/^(ftnt|cmnt)_ref(\d+)$/, 'fnref-$1$2').replace(/^(ftnt|cmnt)(\d+)$/, 'fn-$1$2');
const noteAddress = (href: string): string => (href.startsWith('#') ? `#${noteId(href.slice(1))}` : href);

/** Takes a first paragraph in the style Title out of a document. */
export function takeTitle(body: Element): { title?: string; body: Element } {
  const at = body.children.findIndex((child) =>
    isElement(child) ? rawText(child).trim() !== '' || child.name === 'img' : child.trim() !== '',
  );
  const first = body.children[at];
  if (!isElement(first)) return { body };
  if (hasClass(first, 'title'))
    return {
      title: textOf(first),
      body: withChildren(
        body,
        body.children.filter((_, place) => place !== at),
      ),
    };
  if (!/^(?:div|section)$/.test(first.name)) return { body };
  const inner = takeTitle(first);
  return {
    title: inner.title,
    body: withChildren(
      body,
      body.children.map((child, place) => (place === at ? inner.body : child)),
    ),
  };
}

import { oneLine, wellFormed } from '../common/text.js';
import { ImportFault } from '../port.js';

let library: typeof import('htmlparser2') | undefined;

/** Loads what reads HTML, which most processes never need; before the first page is read. */
export async function loadHtml(): Promise<void> {
  library ??= await import('htmlparser2');
}

export interface Element {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: Node[];
}

/** An element, or a text. */
export type Node = Element | string;

/** Elements within elements: what is deeper stands at this depth, so that functions over a tree may recurse. */
const MAX_DEPTH = 250;

export const isElement = (node: Node | undefined): node is Element => typeof node === 'object';

/** Elements that are open at once: the parser takes time for each of them with every tag, and no page has so many. */
const MAX_OPEN = 1000;
/** Elements that end by themselves, and need not say so. */
const ENDING = new Set(
  'area base br col embed hr img input link meta source track wbr param p li dt dd tr td th thead tbody tfoot option optgroup colgroup caption rt rp'.split(
    ' ',
  ),
);

function refuseDeep(html: string): void {
  let depth = 0;
  for (const [, end, name = ''] of html.matchAll(/<(\/?)([a-z][a-z\d-]*)/gi)) {
    if (ENDING.has(name.toLowerCase())) continue;
    depth = end === '' ? depth + 1 : Math.max(0, depth - 1);
    if (depth > MAX_OPEN)
      throw new ImportFault('nested_too_deep', `The page has more than ${MAX_OPEN} elements within each other.`);
  }
}

/** Reads HTML, whatever is broken in it, into a tree of bounded depth; comments are left out. Throws an ImportFault at too many open elements. */
export function parseTree(html: string): Element {
  if (library === undefined) throw new Error('a source calls loadHtml when it is opened');
  refuseDeep(html);
  const root: Element = { name: '#root', attributes: {}, children: [] };
  const open: Element[] = [root];
  let flattened = 0;
  const parser = new library.Parser({
    onopentag(name, attributes) {
      if (open.length > MAX_DEPTH) {
        flattened += 1;
        return;
      }
      const element: Element = { name, attributes, children: [] };
      open.at(-1)?.children.push(element);
      open.push(element);
    },
    ontext(text) {
      const siblings = open.at(-1)?.children ?? [];
      // An entity ends a piece of text: those that follow each other are one.
      if (typeof siblings.at(-1) === 'string') siblings.push((siblings.pop() as string) + wellFormed(text));
      else siblings.push(wellFormed(text));
    },
    onclosetag() {
      if (flattened > 0) flattened -= 1;
      else if (open.length > 1) open.pop();
    },
  });
  parser.end(html);
  return root;
}

/** All elements below a node, in document order. */
export function* elementsOf(node: Element): Generator<Element> {
  for (const child of node.children) {
    if (!isElement(child)) continue;
    yield child;
    yield* elementsOf(child);
  }
}

/** The first element below a node for which this holds. */
export function find(node: Element, holds: (element: Element) => boolean): Element | undefined {
  for (const element of elementsOf(node)) if (holds(element)) return element;
  return undefined;
}

export const findNamed = (node: Element, name: string): Element | undefined =>
  find(node, (element) => element.name === name);

export function findAll(node: Element, holds: (element: Element) => boolean): Element[] {
  return [...elementsOf(node)].filter(holds);
}

export const childrenOf = (node: Element): Element[] => node.children.filter(isElement);

export const hasClass = ({ attributes }: Element, name: string): boolean =>
  attributes.class?.split(/\s+/).includes(name) === true;

const UNSEEN = new Set(['script', 'style', 'template', 'noscript', 'head', 'title']);

/** The text of a node, as it is. */
export function rawText(node: Node): string {
  if (!isElement(node)) return node;
  return node.children.map((child) => (isElement(child) && UNSEEN.has(child.name) ? '' : rawText(child))).join('');
}

/** The text of a node on one line. */
export const textOf = (node: Node | undefined): string => (node === undefined ? '' : oneLine(rawText(node)));

/** The same element with other children. */
export const withChildren = (element: Element, children: Node[]): Element => ({ ...element, children });

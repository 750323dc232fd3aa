import { boundNesting, MAX_OPEN_ELEMENTS } from '../../../domain/nesting.js';
import { oneLine, wellFormed } from '../common/text.js';
import { ImportFault } from '../port.js';

let library: typeof import('htmlparser2') | undefined;

/** Loads the HTML parser, which most processes never need. Call it before reading the first page. */
export async function loadHtml(): Promise<void> {
  library ??= await import('htmlparser2');
}

export interface Element {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: Node[];
}

/** An element or a text. */
export type Node = Element | string;

/** Depth beyond which elements are flattened into their ancestor, so that functions over a tree may recurse. */
const MAX_DEPTH = 250;

export const isElement = (node: Node | undefined): node is Element => typeof node === 'object';

const refusal = () =>
  new ImportFault('nested_too_deep', `The page has more than ${MAX_OPEN_ELEMENTS} nested elements.`);

/**
 * Parses HTML, even if malformed, into a tree of bounded depth without comments. Throws an `ImportFault` when too many
 * elements are open.
 */
export function parseTree(html: string): Element {
  if (library === undefined) throw new Error('loadHtml must be called before a source is opened');
  const root: Element = { name: '#root', attributes: {}, children: [] };
  const open: Element[] = [root];
  let flattened = 0;
  const handler = {
    onopentag(name: string, attributes: Readonly<Record<string, string>>) {
      if (open.length > MAX_DEPTH) {
        flattened += 1;
        return;
      }
      const element: Element = { name, attributes, children: [] };
      open.at(-1)?.children.push(element);
      open.push(element);
    },
    ontext(text: string) {
      const siblings = open.at(-1)?.children ?? [];
      // The parser splits text at entities; adjacent pieces are joined.
      if (typeof siblings.at(-1) === 'string') siblings.push((siblings.pop() as string) + wellFormed(text));
      else siblings.push(wellFormed(text));
    },
    onclosetag() {
      if (flattened > 0) flattened -= 1;
      else if (open.length > 1) open.pop();
    },
  };
  new library.Parser(boundNesting(handler, refusal)).end(html);
  return root;
}

/** Yields all elements below a node in document order. */
export function* elementsOf(node: Element): Generator<Element> {
  for (const child of node.children) {
    if (!isElement(child)) continue;
    yield child;
    yield* elementsOf(child);
  }
}

/** Returns the first element below a node that satisfies a condition. */
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

/** Returns the text of a node with its white space. */
export function rawText(node: Node): string {
  if (!isElement(node)) return node;
  return node.children.map((child) => (isElement(child) && UNSEEN.has(child.name) ? '' : rawText(child))).join('');
}

/** Returns the text of a node on one line. */
export const textOf = (node: Node | undefined): string => (node === undefined ? '' : oneLine(rawText(node)));

/** Returns a copy of an element with other children. */
export const withChildren = (element: Element, children: Node[]): Element => ({ ...element, children });

import { dictionary } from '@commonplace/kit/dictionary';

/** JSON values that attributes may hold. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type Attrs = { [key: string]: Json };

/** The HTML elements of marks. */
export const MARK_TAGS: Readonly<Record<string, string>> = dictionary({
  bold: 'strong',
  italic: 'em',
  strike: 'del',
  underline: 'u',
  highlight: 'mark',
  sub: 'sub',
  sup: 'sup',
});

export interface Mark {
  readonly type: string;
  readonly attrs?: Attrs;
}

/** A block or an inline node. Only inline nodes have `text` and `marks`. */
export interface DocNode {
  id?: string;
  type: string;
  attrs?: Attrs;
  content?: DocNode[];
  text?: string;
  marks?: readonly Mark[];
  /** Fields of a node of unknown type, kept unchanged. */
  extra?: Attrs;
}

export interface Doc {
  type: 'doc';
  content: DocNode[];
}

/** Maximum number of blocks of a page. */
export const MAX_BLOCKS = 20_000;

/**
 * Maximum depth of nested blocks. Deeper Markdown and HTML is read as text at this level, and so is deeper JSON, with a
 * warning. Parsers, `JSON.stringify` and the functions here recurse once or a few times a level.
 */
export const MAX_DEPTH = 400;

/**
 * Maximum depth of nested HTML elements; deeper HTML is shown as its source. The parser spends time on every open
 * element for each tag. Blocks nested to their own maximum need fewer elements.
 */
export const MAX_OPEN_ELEMENTS = 2000;

/** What a block holds: `text` is one plain text node; `items` to `columns` are blocks of one type. */
export type Holds = 'blocks' | 'inline' | 'text' | 'none' | 'items' | 'rows' | 'cells' | 'columns';

interface BlockSpec {
  readonly holds: Holds;
  /** Whether Markdown has a form of its own for the block; other blocks are written as fenced directives. */
  readonly native: boolean;
}

export const BLOCKS: Readonly<Record<string, BlockSpec>> = dictionary({
  paragraph: { holds: 'inline', native: true },
  heading: { holds: 'inline', native: true },
  bullet_list: { holds: 'items', native: true },
  ordered_list: { holds: 'items', native: true },
  task_list: { holds: 'items', native: true },
  list_item: { holds: 'blocks', native: false },
  blockquote: { holds: 'blocks', native: true },
  callout: { holds: 'blocks', native: true },
  code_block: { holds: 'text', native: true },
  math: { holds: 'none', native: true },
  toggle: { holds: 'blocks', native: false },
  table: { holds: 'rows', native: true },
  table_row: { holds: 'cells', native: false },
  table_cell: { holds: 'blocks', native: false },
  image: { holds: 'none', native: true },
  file: { holds: 'none', native: false },
  embed: { holds: 'none', native: false },
  resource_link: { holds: 'none', native: false },
  divider: { holds: 'none', native: true },
  columns: { holds: 'columns', native: false },
  column: { holds: 'blocks', native: false },
  synced_block: { holds: 'blocks', native: false },
  form_embed: { holds: 'none', native: false },
  html: { holds: 'none', native: true },
  footnote: { holds: 'blocks', native: true },
  front_matter: { holds: 'none', native: true },
  directive: { holds: 'blocks', native: false },
});

export const INLINE = new Set([
  'text',
  'mention',
  'emoji',
  'math_inline',
  'hard_break',
  'image',
  'wiki_link',
  'footnote_ref',
  'html',
]);

/** The order in which marks of equal length nest, outermost first. */
export const MARKS = [
  'comment',
  'link',
  'bold',
  'italic',
  'strike',
  'underline',
  'highlight',
  'sub',
  'sup',
  'code',
] as const;

/** Returns whether a node carries an id: rows and cells of a table do not. */
export const hasId = (node: DocNode): boolean => node.type !== 'table_row' && node.type !== 'table_cell';

/** Returns whether a node's content is inline; a table cell may hold inline nodes or blocks. */
export function holdsInline(node: DocNode): boolean {
  const holds = BLOCKS[node.type]?.holds;
  if (holds === 'inline' || holds === 'text') return true;
  return node.type === 'table_cell' && (node.content ?? []).every((child) => isInline(child));
}

/** Returns whether a node may be inline. Images and HTML may be blocks as well. */
const isInline = (node: DocNode): boolean => INLINE.has(node.type);

/** Calls `visit` for every block, in document order, parents first. */
export function eachBlock(doc: Doc, visit: (block: DocNode, parent: DocNode | undefined) => void): void {
  const walk = (nodes: readonly DocNode[], parent: DocNode | undefined): void => {
    for (const node of nodes) {
      visit(node, parent);
      if (node.content !== undefined && !holdsInline(node)) walk(node.content, node);
    }
  };
  walk(doc.content, undefined);
}

/** Counts the blocks of a page, including nested ones. */
export function countBlocks(doc: Doc): number {
  let count = 0;
  eachBlock(doc, (block) => {
    if (hasId(block)) count += 1;
  });
  return count;
}

export const attr = (node: DocNode | Mark, name: string): Json | undefined => node.attrs?.[name];

/** Returns an attribute as a string, numbers included; empty if it is absent or of another type. */
export function attrText(node: DocNode | Mark, name: string): string {
  const value = node.attrs?.[name];
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';
}

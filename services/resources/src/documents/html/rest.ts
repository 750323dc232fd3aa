import { dictionary } from '@commonplace/kit/dictionary';
import { isAttrs, parseAttributeObject } from '../model/attribute-json.js';
import { type Attrs, type DocNode, INLINE, type Mark } from '../model/model.js';

/** Attributes that the elements of HTML express, by the type of node or mark; of other types they express none. */
const EXPRESSED: Readonly<Record<string, readonly string[]>> = dictionary({
  heading: ['level'],
  ordered_list: ['start'],
  list_item: ['checked'],
  code_block: ['language'],
  math: ['tex'],
  callout: ['kind'],
  toggle: ['summary'],
  table: ['align'],
  table_cell: ['colspan', 'rowspan'],
  image: ['src', 'alt', 'title', 'width', 'height'],
  footnote: ['label'],
  link: ['href', 'title'],
  comment: ['id'],
});

/** Returns the attributes of a node or mark that its element does not express; undefined if there are none. */
export function unexpressed(node: DocNode | Mark): Attrs | undefined {
  if (node.attrs === undefined) return undefined;
  const rest = Object.entries(node.attrs).filter(([name, value]) => !isExpressed(node, name) && !isUsual(name, value));
  return rest.length === 0 ? undefined : Object.fromEntries(rest);
}

const isExpressed = ({ type }: DocNode | Mark, name: string): boolean => EXPRESSED[type]?.includes(name) === true;

/** Lists are tight unless an attribute says otherwise. */
const isUsual = (name: string, value: unknown): boolean => name === 'tight' && value === true;

/** Adds to a node or mark the attributes in `data-attrs` of its element. */
export function restore<T extends DocNode | Mark>(node: T, data: string | undefined): T {
  const rest = Object.entries((data && parseAttributeObject(data)) || {}).filter(([name]) => !isExpressed(node, name));
  return rest.length === 0 ? node : { ...node, attrs: { ...Object.fromEntries(rest), ...node.attrs } };
}

/** Parses the node in `data-node` of an element; undefined if it is no node that an element may hold. */
export function heldNode(data: string | undefined): DocNode | undefined {
  const { type, attrs, ...extra } = (data && parseAttributeObject(data)) || {};
  if (typeof type !== 'string' || UNHELD.has(type) || type === '' || type.length > MAX_TYPE) return undefined;
  const node: DocNode = isAttrs(attrs) ? { type, attrs } : { type };
  return INLINE.has(type) || Object.keys(extra).length === 0 ? node : { ...node, extra };
}

const MAX_TYPE = 64;
const UNHELD: ReadonlySet<string> = new Set(['doc', 'text', 'list_item', 'table_row', 'table_cell']);

/** Parses the mark in `data-mark` of an element. */
export function heldMark(data: string | undefined): Mark | undefined {
  const { type, attrs } = (data && parseAttributeObject(data)) || {};
  if (typeof type !== 'string') return undefined;
  return isAttrs(attrs) ? { type, attrs } : { type };
}

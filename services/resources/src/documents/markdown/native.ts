import { dictionary } from '@commonplace/kit/dictionary';
import { type Attrs, attr, attrText, type DocNode, holdsInline } from '../model/model.js';
import { tokenize } from './parser.js';

type CanExpress = (node: DocNode, name: string) => boolean;

const integer = (node: DocNode, name: string, from: number, to: number): boolean => {
  const value = attr(node, name);
  return typeof value === 'number' && Number.isInteger(value) && value >= from && value <= to;
};
const isText = (node: DocNode, name: string): boolean => typeof attr(node, name) === 'string';
const listAttr: CanExpress = (node, name) => name === 'tight' && typeof attr(node, name) === 'boolean';
const oneLine = (text: string): boolean => text !== '' && text.trim() === text && !/[\n\r\0]/.test(text);

/** Returns, by block type, whether native Markdown expresses an attribute. */
const EXPRESSED: Readonly<Record<string, CanExpress>> = dictionary({
  heading: (node, name) => name === 'level' && integer(node, name, 1, 6),
  bullet_list: listAttr,
  task_list: listAttr,
  ordered_list: (node, name) => listAttr(node, name) || (name === 'start' && integer(node, name, 0, 999_999_999)),
  list_item: (node, name) => name === 'checked' && typeof attr(node, name) === 'boolean',
  callout: (node, name) => name === 'kind' && /^[a-z][\w-]*$/.test(attrText(node, name)),
  code_block: (node, name) => {
    if (name === 'language') return /^[^\s\0]+$/.test(attrText(node, name));
    return name === 'meta' && oneLine(attrText(node, name)) && attrText(node, 'language') !== '';
  },
  math: (_, name) => name === 'tex',
  table: (node, name) =>
    (name === 'align' && Array.isArray(attr(node, name))) || (name === 'header' && attr(node, name) === true),
  image: (node, name) => (name === 'src' || name === 'alt' || name === 'title') && isText(node, name),
  html: (_, name) => name === 'html',
  footnote: (_, name) => name === 'label',
  front_matter: (_, name) => name === 'text',
});

/** Returns the attributes of a block that its Markdown does not express. */
export function surplus(node: DocNode): Attrs {
  const expressed = EXPRESSED[node.type] ?? (() => false);
  return Object.fromEntries(Object.entries(node.attrs ?? {}).filter(([name]) => !expressed(node, name)));
}

const plain = (node: DocNode): boolean => Object.keys(surplus(node)).length === 0;

function isPlainTable(node: DocNode): boolean {
  const rows = node.content ?? [];
  if ((rows[0]?.content?.length ?? 0) === 0) return false;
  return rows.every((row) => plain(row) && (row.content ?? []).every((cell) => plain(cell) && holdsInline(cell)));
}

/** Returns whether HTML parses as one block by itself, also when text follows unless it is the last block. */
function isPlainHtml(html: string, last: boolean): boolean {
  if (/^\s*:{3,}/m.test(html) || /^ /.test(html) || html.endsWith('\n')) return false;
  const alone = (text: string) => {
    const [token] = tokenize(text);
    return token?.type === 'html_block' && token.content.replace(/\n+$/, '') === html;
  };
  return alone(html) && (last || alone(`${html}\n\nx`));
}

/** Returns whether Markdown has a native form for this block. */
export function isNative(node: DocNode, place: { readonly first: boolean; readonly last: boolean }): boolean {
  switch (node.type) {
    case 'bullet_list':
    case 'ordered_list':
    case 'task_list':
      return (node.content ?? []).length > 0 && (node.content ?? []).every(plain);
    case 'table':
      return isPlainTable(node);
    case 'math':
      return isPlainTex(attrText(node, 'tex'));
    case 'html':
      return isPlainHtml(attrText(node, 'html'), place.last);
    case 'callout':
      return /^[a-z][\w-]*$/.test(attrText(node, 'kind'));
    case 'footnote':
      return /^[^\]\s^[]{1,200}$/.test(attrText(node, 'label'));
    case 'front_matter':
      return place.first && isFrontMatter(attrText(node, 'text'));
    default:
      return true;
  }
}

const isPlainTex = (tex: string): boolean => !/^\s*(\$\$|:{3,})\s*$/m.test(tex) && !/[\r\0\t]/.test(tex);

const isFrontMatter = (text: string): boolean =>
  /^[A-Za-z_][\w -]*:(\s|$)/.test(text) && !/^---\s*$/m.test(text) && !/[\r\0]/.test(text);

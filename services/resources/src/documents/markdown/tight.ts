import { hasMark, normalizeInline } from '../model/inline.js';
import { attr, BLOCKS, type DocNode } from '../model/model.js';
import { tokenize } from './parser.js';

const isQuote = (node: DocNode): boolean => node.type === 'blockquote' || node.type === 'callout';
export const isList = (node: DocNode): boolean => node.type.endsWith('_list');

/** Returns whether the next line could continue a paragraph at the end of a block. */
function endsOpen(node: DocNode): boolean {
  if (node.type === 'paragraph' || node.type === 'image') return true;
  if (!isQuote(node) && !isList(node) && node.type !== 'list_item' && node.type !== 'footnote') return false;
  const last = node.content?.at(-1);
  return last === undefined || endsOpen(last);
}

/** Returns whether a block begins in a way that ends a paragraph on the line before. */
function interrupts(node: DocNode): boolean {
  switch (node.type) {
    case 'heading':
      // A level 1 or 2 heading of several lines is written with an underline, so its first line would continue the
      // paragraph.
      return Number(attr(node, 'level') ?? 1) > 2 || !normalizeInline(node.content ?? []).some(isBroken);
    case 'code_block':
    case 'blockquote':
    case 'callout':
    case 'divider':
    case 'math':
    case 'table':
      return true;
    case 'html':
      return interruptsAsHtml(String(attr(node, 'html') ?? ''));
    case 'bullet_list':
    case 'task_list':
    case 'ordered_list':
      return hasWords(node.content?.[0]) && (node.type !== 'ordered_list' || (attr(node, 'start') ?? 1) === 1);
    default:
      // Blocks without native Markdown are fenced.
      return BLOCKS[node.type]?.native !== true;
  }
}

const isBroken = (node: DocNode): boolean => node.text?.includes('\n') === true && !hasMark(node, 'code');

const interruptsAsHtml = (html: string): boolean => tokenize(`x\n${html}`)[1]?.content === 'x';

const hasWords = (item: DocNode | undefined): boolean =>
  typeof item?.attrs?.checked === 'boolean' || (item?.content?.length ?? 0) > 0;

/** Returns whether two blocks may follow each other without a blank line. */
function joins(before: DocNode, after: DocNode): boolean {
  if (isQuote(before) && isQuote(after)) return false;
  if (before.type === 'html') return /^<(!|\?)/.test(String(attr(before, 'html') ?? ''));
  if (before.type === 'table') return after.type !== 'table' && interrupts(after);
  if (before.type === 'footnote' || after.type === 'footnote') return false;
  if (!endsOpen(before)) return true;
  // A table cannot begin on the line after the paragraph of a quote or an item.
  return interrupts(after) && (after.type !== 'table' || before.type === 'paragraph' || before.type === 'image');
}

function itemJoins(item: DocNode): boolean {
  const content = item.content ?? [];
  const [first] = content;
  // A task's checkbox is a paragraph by itself if no paragraph follows it.
  if (
    typeof attr(item, 'checked') === 'boolean' &&
    first !== undefined &&
    first.type !== 'paragraph' &&
    !interrupts(first)
  ) {
    return first.type === 'image';
  }
  return content.every((block, index) => index === 0 || joins(content[index - 1] as DocNode, block));
}

/** Returns whether blank lines around an item would matter, which they do only if it has paragraphs of its own. */
const hasParagraph = (item: DocNode): boolean =>
  typeof attr(item, 'checked') === 'boolean' ||
  (item.content ?? []).some(({ type }) => type === 'paragraph' || type === 'image');

/** Returns whether a list is written without blank lines: that is wanted, and its items allow it. */
export function isTight(list: DocNode): boolean {
  const items = list.content ?? [];
  const single = items.length === 1 && (items[0]?.content?.length ?? 0) <= 1;
  const wanted = single || attr(list, 'tight') !== false || !items.some(hasParagraph);
  return wanted && items.every(itemJoins);
}

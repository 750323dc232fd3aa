import { hasMark, normalizeInline } from '../inline.js';
import { attr, BLOCKS, type DocNode } from '../model.js';
import { tokenize } from './parser.js';

const isQuote = (node: DocNode): boolean => node.type === 'blockquote' || node.type === 'callout';
export const isList = (node: DocNode): boolean => node.type.endsWith('_list');

/** Whether a block's last line may go on as a paragraph in the next line. */
function endsOpen(node: DocNode): boolean {
  if (node.type === 'paragraph' || node.type === 'image') return true;
  if (!isQuote(node) && !isList(node) && node.type !== 'list_item' && node.type !== 'footnote') return false;
  const last = node.content?.at(-1);
  return last === undefined || endsOpen(last);
}

/** Whether a block begins in a way that ends a paragraph on the line before. */
function interrupts(node: DocNode): boolean {
  switch (node.type) {
    case 'heading':
      // Over several lines it is one only by the line under it.
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
      // What has no Markdown of its own is fenced.
      return BLOCKS[node.type]?.native !== true;
  }
}

const isBroken = (node: DocNode): boolean => node.text?.includes('\n') === true && !hasMark(node, 'code');

const interruptsAsHtml = (html: string): boolean => tokenize(`x\n${html}`)[1]?.content === 'x';

const hasWords = (item: DocNode | undefined): boolean =>
  typeof item?.attrs?.checked === 'boolean' || (item?.content?.length ?? 0) > 0;

/** Whether two blocks may stand on lines right after one another. */
function joins(before: DocNode, after: DocNode): boolean {
  if (isQuote(before) && isQuote(after)) return false;
  if (before.type === 'html') return /^<(!|\?)/.test(String(attr(before, 'html') ?? ''));
  if (before.type === 'table') return after.type !== 'table' && interrupts(after);
  if (before.type === 'footnote' || after.type === 'footnote') return false;
  if (!endsOpen(before)) return true;
  // No table begins on the line after a quote's or an item's paragraph.
  return interrupts(after) && (after.type !== 'table' || before.type === 'paragraph' || before.type === 'image');
}

function itemJoins(item: DocNode): boolean {
  const content = item.content ?? [];
  const [first] = content;
  // The box of a task is a paragraph of its own where no paragraph follows it.
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

/** Whether blank lines around an item would show: around its own paragraphs, that is. */
const hasParagraph = (item: DocNode): boolean =>
  typeof attr(item, 'checked') === 'boolean' ||
  (item.content ?? []).some(({ type }) => type === 'paragraph' || type === 'image');

/** Whether a list is written, and shown, without blank lines: where that is wanted and can be. */
export function isTight(list: DocNode): boolean {
  const items = list.content ?? [];
  const single = items.length === 1 && (items[0]?.content?.length ?? 0) <= 1;
  const wanted = single || attr(list, 'tight') !== false || !items.some(hasParagraph);
  return wanted && items.every(itemJoins);
}

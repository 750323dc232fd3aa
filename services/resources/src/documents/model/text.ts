import { inlineText } from './inline.js';
import { attr, attrText, type Doc, type DocNode, holdsInline } from './model.js';

/** Returns the plain text of a document: blocks on lines of their own, paragraphs separated by an empty line. */
export function toText(doc: Doc): string {
  const lines: string[] = [];
  writeBlocks(doc.content, '', false, lines);
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
}

/** Returns the text that a block holds itself, without the blocks within it. */
export function blockText(block: DocNode): string {
  switch (block.type) {
    case 'math':
      return attrText(block, 'tex');
    case 'image':
      return attrText(block, 'alt');
    case 'toggle':
      return attrText(block, 'summary');
    case 'table':
      return (block.content ?? []).map(rowText).join('\n');
    case 'html':
      return htmlText(attrText(block, 'html'));
    case 'front_matter':
      return '';
    default:
      if (block.content !== undefined && holdsInline(block)) return inlineText(block.content);
      return ['title', 'name', 'caption', 'url'].map((name) => attrText(block, name)).find((text) => text !== '') ?? '';
  }
}

const rowText = (row: DocNode): string => (row.content ?? []).map(cellText).join('\t');

function cellText(cell: DocNode): string {
  if (holdsInline(cell)) return inlineText(cell.content ?? []).replace(/\s+/g, ' ');
  return (cell.content ?? [])
    .map((block) => [blockText(block), cellText({ ...block, type: 'table_cell' })].join(' ').trim())
    .join(' ');
}

/** Returns the text of HTML without tags, comments, scripts and styles. */
function htmlText(html: string): string {
  const bare = html
    .replace(/<(script|style)\b[^<]*(?:<(?!\/\1)[^<]*)*<\/\1[^>]*>/gi, '')
    .replace(/<!--[\s\S]*?(?:-->|$)/g, '')
    .replace(/<[^<>]*>/g, ' ');
  return bare
    .replace(/&nbsp;/g, ' ')
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&quot;/g, '"')
    .replace(/&#39;/g, "'")
    .replace(/&amp;/g, '&')
    .replace(/[ \t]*\n\s*/g, '\n')
    .trim();
}

function writeBlocks(blocks: readonly DocNode[], indent: string, close: boolean, lines: string[]): void {
  blocks.forEach((block, index) => {
    const before = lines.length;
    if (index > 0 && !close && lines.at(-1) !== '') lines.push('');
    const start = lines.length;
    writeBlock(block, indent, lines);
    if (lines.length === start) lines.length = before;
  });
}

function writeBlock(block: DocNode, indent: string, lines: string[]): void {
  if (block.type.endsWith('_list')) {
    writeList(block, indent, lines);
    return;
  }
  const text = blockText(block);
  if (text !== '') for (const line of text.split('\n')) lines.push(indent + line);
  if (block.type === 'table' || block.content === undefined || holdsInline(block)) return;
  if (text !== '' && block.content.length > 0) lines.push('');
  writeBlocks(block.content, indent, false, lines);
}

function writeList(list: DocNode, indent: string, lines: string[]): void {
  const start = Number(attr(list, 'start') ?? 1);
  (list.content ?? []).forEach((item, index) => {
    const checked = attr(item, 'checked');
    const sign = list.type === 'ordered_list' ? `${start + index}. ` : '- ';
    const box = typeof checked === 'boolean' ? (checked ? '[x] ' : '[ ] ') : '';
    const at = lines.length;
    writeBlocks(item.content ?? [], `${indent}  `, true, lines);
    const first = lines[at];
    if (first === undefined) lines.push((indent + sign + box).trimEnd());
    else lines[at] = indent + sign + box + first.slice(indent.length + 2);
  });
}

/** Parses plain text: an empty line ends a paragraph, a line break becomes a hard break. */
export function parseText(text: string): Doc {
  const paragraphs = text.replace(/\r\n?/g, '\n').split(/\n[ \t]*(?:\n[ \t]*)+/);
  const content = paragraphs.map(readParagraph).filter((paragraph) => paragraph.content?.length !== 0);
  return { type: 'doc', content };
}

function readParagraph(text: string): DocNode {
  const content: DocNode[] = [];
  for (const line of text.split('\n')) {
    const words = line.trim();
    if (words === '') continue;
    if (content.length > 0) content.push({ type: 'hard_break' });
    content.push({ type: 'text', text: words });
  }
  return { type: 'paragraph', content };
}

const CJK = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/gu;

/** Counts the words of a document's text; each character of a script without spaces counts as one. */
export function countWords(doc: Doc): number {
  const text = toText(doc);
  const signs = text.match(CJK)?.length ?? 0;
  const words = text.replace(CJK, ' ').match(/[\p{L}\p{N}][^\s]*/gu)?.length ?? 0;
  return signs + words;
}

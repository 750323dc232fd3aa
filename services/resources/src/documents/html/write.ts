import { dictionary } from '@commonplace/kit/dictionary';
import { escapeHtml } from '@commonplace/kit/html';
import { isTight } from '../markdown/tight.js';
import { hasMark, inlineSteps } from '../model/inline.js';
import {
  attr,
  attrText,
  type Doc,
  type DocNode,
  eachBlock,
  holdsInline,
  MARK_TAGS,
  type Mark,
} from '../model/model.js';
import { isReadable } from './read.js';
import { unexpressed } from './rest.js';
import { type Sanitised, sanitise } from './sanitise.js';

interface HtmlOptions {
  /**
   * Returns the address for `resource:<id>`, `user:<id>` and `page:<name>`; undefined renders plain text. Without this
   * function, `resource:` addresses are kept and the others are not links.
   */
  readonly resolve?: (target: string) => string | undefined;
  /** Adds `data-` attributes from which `parseHtml` restores what HTML has no elements for. */
  readonly restorable?: boolean;
}

interface Writer {
  readonly out: string[];
  readonly restorable: boolean;
  readonly resolve: (target: string) => string | undefined;
  /** Numbers of footnotes by label, in the order of the first reference to each. */
  readonly numbers: Map<string, number>;
  readonly footnotes: Map<string, DocNode>;
}

const keepResources = (target: string): string | undefined => (target.startsWith('resource:') ? target : undefined);

/** Converts a document to HTML that is sanitised by an allow-list. Warnings name what was removed. */
export function toHtml(doc: Doc, options: HtmlOptions = {}): Sanitised {
  const footnotes = new Map<string, DocNode>();
  eachBlock(doc, (block) => {
    const label = attrText(block, 'label');
    if (block.type === 'footnote' && !footnotes.has(label)) footnotes.set(label, block);
  });
  const { resolve = keepResources, restorable = false } = options;
  const writer: Writer = { out: [], restorable, resolve, numbers: new Map(), footnotes };
  writeBlocks(doc.content, writer);
  writeFootnotes(writer);
  return sanitise(writer.out.join(''));
}

function writeFootnotes(writer: Writer): void {
  if (writer.footnotes.size === 0) return;
  for (const label of writer.footnotes.keys()) numberOf(label, writer);
  writer.out.push('<section data-type="footnotes"><ol>\n');
  // Rendering a footnote may refer to others. All have numbers by now, so no reference adds one.
  const ordered = [...writer.footnotes].sort(([a], [b]) => numberOf(a, writer) - numberOf(b, writer));
  for (const [label, block] of ordered) {
    writer.out.push(`<li id="fn-${escapeHtml(label)}"${ownOf(block, writer)}>`);
    writeBlocks(block.content ?? [], writer);
    writer.out.push('</li>\n');
  }
  writer.out.push('</ol></section>\n');
}

function numberOf(label: string, { numbers }: Writer): number {
  const number = numbers.get(label) ?? numbers.size + 1;
  numbers.set(label, number);
  return number;
}

const idOf = (block: DocNode): string => (block.id === undefined ? '' : ` data-block="${escapeHtml(block.id)}"`);

/** Returns the id of a block, and what its element does not express, as attributes of the element. */
const ownOf = (block: DocNode, writer: Writer): string => idOf(block) + restOf(block, writer);

function restOf(node: DocNode | Mark, { restorable }: Writer): string {
  const rest = restorable ? unexpressed(node) : undefined;
  return rest === undefined ? '' : dataOf('data-attrs', rest);
}

const dataOf = (name: string, value: object): string => ` ${name}="${escapeHtml(JSON.stringify(value))}"`;

/** Returns the attribute that holds a node which has no element of its own; empty if it is not to be restored. */
const nodeOf = ({ type, attrs, extra }: DocNode, { restorable }: Writer): string =>
  restorable ? dataOf('data-node', { type, attrs, ...extra }) : '';

function writeBlocks(blocks: readonly DocNode[], writer: Writer): void {
  for (const block of blocks) writeBlock(block, writer);
}

function element(tag: string, block: DocNode, attributes: string, writer: Writer, inside: () => void): void {
  writer.out.push(`<${tag}${attributes}${ownOf(block, writer)}>`);
  inside();
  writer.out.push(`</${tag}>\n`);
}

type BlockWriter = (block: DocNode, writer: Writer) => void;

const inlineIn =
  (tag: string): BlockWriter =>
  (block, writer) =>
    element(tag, block, '', writer, () => writeInline(block.content ?? [], writer));

function blocksIn(tag: string, attributes: string, block: DocNode, writer: Writer): void {
  element(tag, block, attributes, writer, () => {
    writer.out.push('\n');
    writeBlocks(block.content ?? [], writer);
  });
}

const WRITERS: Readonly<Record<string, BlockWriter>> = dictionary({
  paragraph: inlineIn('p'),
  heading: (block, writer) => inlineIn(`h${levelOf(block)}`)(block, writer),
  divider: (block, writer) => writer.out.push(`<hr${ownOf(block, writer)} />\n`),
  blockquote: (block, writer) => blocksIn('blockquote', '', block, writer),
  callout: (block, writer) =>
    blocksIn('aside', ` data-callout="${escapeHtml(attrText(block, 'kind') || 'note')}"`, block, writer),
  bullet_list: writeList,
  ordered_list: writeList,
  task_list: writeList,
  code_block: writeCode,
  math: (block, writer) =>
    element('div', block, ' data-math="block"', writer, () => writer.out.push(escapeHtml(attrText(block, 'tex')))),
  image: (block, writer) => {
    writer.out.push(`<p${idOf(block)}>`);
    writeImage(block, writer);
    writer.out.push('</p>\n');
  },
  html: writeHtml,
  table: writeTable,
  toggle: writeToggle,
  front_matter: (block, writer) => {
    if (writer.restorable) writeOther(block, writer);
  },
  // Footnotes are rendered at the end; a second one with the same label is rendered in place.
  footnote: (block, writer) => {
    const shown = writer.footnotes.get(attrText(block, 'label')) === block;
    if (!shown) writeOther(block, writer);
  },
});

const writeBlock: BlockWriter = (block, writer) => (WRITERS[block.type] ?? writeOther)(block, writer);

const levelOf = (block: DocNode): number =>
  Math.min(6, Math.max(1, Math.trunc(Number(attr(block, 'level') ?? 1)) || 1));

function writeCode(block: DocNode, writer: Writer): void {
  const language = attrText(block, 'language');
  const text = (block.content ?? []).map((node) => node.text ?? '').join('');
  const kind = language === '' ? '' : ` class="language-${escapeHtml(language)}"`;
  writer.out.push(
    `<pre${ownOf(block, writer)}><code${kind}>${escapeHtml(text)}${text === '' ? '' : '\n'}</code></pre>\n`,
  );
}

function writeList(block: DocNode, writer: Writer): void {
  const ordered = block.type === 'ordered_list';
  const start = attr(block, 'start');
  const tight = isTight(block);
  const from = ordered && typeof start === 'number' && start !== 1 ? ` start="${start}"` : '';
  element(ordered ? 'ol' : 'ul', block, from, writer, () => {
    writer.out.push('\n');
    for (const item of block.content ?? []) writeItem(item, block, tight, writer);
  });
}

function writeItem(item: DocNode, list: DocNode, tight: boolean, writer: Writer): void {
  const checked = attr(item, 'checked') ?? (list.type === 'task_list' ? false : undefined);
  element('li', item, '', writer, () => {
    if (typeof checked === 'boolean') {
      writer.out.push(`<input type="checkbox" disabled=""${checked ? ' checked=""' : ''} /> `);
    }
    for (const block of item.content ?? []) {
      const isLine = block.type === 'paragraph' || block.type === 'image';
      if (!tight || !isLine || restOf(block, writer) !== '') writeBlock(block, writer);
      else if (block.type === 'image') writeImage(block, writer);
      else if (block.id === undefined) writeInline(block.content ?? [], writer);
      else element('span', block, '', writer, () => writeInline(block.content ?? [], writer));
    }
  });
}

function writeTable(block: DocNode, writer: Writer): void {
  const align = attr(block, 'align');
  const header = attr(block, 'header') !== false;
  const rows = block.content ?? [];
  const writeRow = (row: DocNode, tag: string) => {
    writer.out.push('<tr>');
    (row.content ?? []).forEach((cell, column) => {
      const side = Array.isArray(align) ? align[column] : undefined;
      const aligned = typeof side === 'string' ? ` align="${escapeHtml(side)}"` : '';
      writer.out.push(`<${tag}${aligned}${spans(cell)}${restOf(cell, writer)}>`);
      if (holdsInline(cell)) writeInline(cell.content ?? [], writer);
      else writeBlocks(cell.content ?? [], writer);
      writer.out.push(`</${tag}>`);
    });
    writer.out.push('</tr>\n');
  };
  element('table', block, '', writer, () => {
    writer.out.push('\n');
    rows.forEach((row, index) => {
      if (header && index === 0) writer.out.push('<thead>\n');
      if (index === (header ? 1 : 0)) writer.out.push('<tbody>\n');
      writeRow(row, header && index === 0 ? 'th' : 'td');
      if (header && index === 0) writer.out.push('</thead>\n');
    });
    if (rows.length > (header ? 1 : 0)) writer.out.push('</tbody>\n');
  });
}

const spans = (cell: DocNode): string =>
  ['colspan', 'rowspan']
    .filter((name) => Number.isInteger(attr(cell, name)) && Number(attr(cell, name)) > 1)
    .map((name) => ` ${name}="${Number(attr(cell, name))}"`)
    .join('');

/**
 * Returns the address and the label of a block that is a link, such as a file or an embed; undefined if it has no
 * address.
 */
function cardOf(block: DocNode): { target: string; words: string } | undefined {
  const resource = attrText(block, 'resource_id');
  const url = attrText(block, 'url');
  const words = attrText(block, 'title') || attrText(block, 'name') || attrText(block, 'caption');
  if (resource !== '') return { target: `resource:${resource}`, words: words || 'Linked page' };
  return url === '' ? undefined : { target: url, words: words || url };
}

function writeToggle(block: DocNode, writer: Writer): void {
  element('details', block, '', writer, () => {
    writer.out.push(`<summary>${escapeHtml(attrText(block, 'summary'))}</summary>\n`);
    writeBlocks(block.content ?? [], writer);
  });
}

function writeOther(block: DocNode, writer: Writer): void {
  const { out } = writer;
  out.push(`<div data-type="${escapeHtml(block.type)}"${nodeOf(block, writer)}${idOf(block)}>`);
  const card = cardOf(block);
  if (card !== undefined) writeLink(card.target, card.words, writer, writer.restorable ? ' data-card=""' : '');
  if (block.content !== undefined && holdsInline(block)) writeInline(block.content, writer);
  else if (block.content !== undefined) {
    out.push('\n');
    writeBlocks(block.content, writer);
  }
  out.push('</div>\n');
}

/** Writes HTML as it is. What would not be read again is held by an element around it. */
function writeHtml(block: DocNode, writer: Writer): void {
  const html = attrText(block, 'html');
  if (!writer.restorable || isReadable(html)) writer.out.push(`${html}\n`);
  else writer.out.push(`<div${nodeOf(block, writer)}>${sanitise(html).html}</div>\n`);
}

/** Returns the address of a target. Targets within the workspace are resolved by the caller's `resolve`. */
function addressOf(target: string, writer: Writer): string | undefined {
  return /^(resource|user|page):/.test(target) ? writer.resolve(target) : target;
}

function writeLink(target: string, words: string, writer: Writer, more = ''): void {
  const address = addressOf(target, writer);
  const text = escapeHtml(words);
  if (address !== undefined) writer.out.push(`<a href="${escapeHtml(address)}"${more}>${text}</a>`);
  else writer.out.push(more === '' ? text : `<span${more}>${text}</span>`);
}

function writeImage(node: DocNode, writer: Writer): void {
  const address = addressOf(attrText(node, 'src'), writer);
  const alt = escapeHtml(attrText(node, 'alt'));
  const title = attrText(node, 'title');
  const size = ['width', 'height']
    .filter((name) => /^\d{1,5}%?$/.test(attrText(node, name)))
    .map((name) => ` ${name}="${attrText(node, name)}"`);
  const more = (title === '' ? '' : ` title="${escapeHtml(title)}"`) + size.join('') + restOf(node, writer);
  writer.out.push(address === undefined ? alt : `<img src="${escapeHtml(address)}" alt="${alt}"${more} />`);
}

/** Returns the opening and the closing tag of a mark; both are empty if the mark is not rendered. */
function tagsOf(mark: Mark, writer: Writer): [string, string] {
  const tag = MARK_TAGS[mark.type];
  if (tag !== undefined) return [`<${tag}${restOf(mark, writer)}>`, `</${tag}>`];
  if (mark.type === 'comment') {
    return [`<span data-comment="${escapeHtml(attrText(mark, 'id'))}"${restOf(mark, writer)}>`, '</span>'];
  }
  const address = mark.type === 'link' ? addressOf(attrText(mark, 'href'), writer) : undefined;
  if (address !== undefined) {
    const title = attrText(mark, 'title');
    const titled = title === '' ? '' : ` title="${escapeHtml(title)}"`;
    return [`<a href="${escapeHtml(address)}"${titled}${restOf(mark, writer)}>`, '</a>'];
  }
  // A mark of code is written with its text.
  if (!writer.restorable || mark.type === 'code') return ['', ''];
  return [`<span${dataOf('data-mark', mark)}>`, '</span>'];
}

function writeInline(nodes: readonly DocNode[], writer: Writer): void {
  for (const step of inlineSteps(nodes)) {
    if ('open' in step) writer.out.push(tagsOf(step.open, writer)[0]);
    else if ('close' in step) writer.out.push(tagsOf(step.close, writer)[1]);
    else writeLeaf(step.node, writer);
  }
}

function writeLeaf(node: DocNode, writer: Writer): void {
  const { out } = writer;
  switch (node.type) {
    case 'text':
      out.push(hasMark(node, 'code') ? `<code>${escapeHtml(node.text ?? '')}</code>` : escapeHtml(node.text ?? ''));
      return;
    case 'hard_break':
      out.push('<br />\n');
      return;
    case 'image':
      writeImage(node, writer);
      return;
    case 'html': {
      const html = attrText(node, 'html');
      // A tag that is not read is held by an element before it, because it may be one of a pair.
      if (writer.restorable && !isReadable(html)) writeHeld(node, writer, () => {});
      out.push(html);
      return;
    }
    case 'math_inline':
      out.push(`<span data-math="inline">${escapeHtml(attrText(node, 'tex'))}</span>`);
      return;
    case 'mention': {
      const user = attrText(node, 'user_id');
      out.push(`<span data-mention="${escapeHtml(user)}">`);
      writeLink(`user:${user}`, `@${attrText(node, 'name')}`, writer);
      out.push('</span>');
      return;
    }
    case 'wiki_link':
      writeHeld(node, writer, () =>
        writeLink(`page:${attrText(node, 'target')}`, attrText(node, 'label') || attrText(node, 'target'), writer),
      );
      return;
    case 'emoji':
      writeHeld(node, writer, () => out.push(escapeHtml(attrText(node, 'emoji') || `:${attrText(node, 'name')}:`)));
      return;
    case 'footnote_ref':
      writeFootnoteRef(attrText(node, 'label'), writer);
      return;
    default:
      writeHeld(node, writer, () => out.push(escapeHtml(node.text ?? '')));
  }
}

/** Writes an inline node that has no element of its own; if it is to be restored, an element around it holds it. */
function writeHeld(node: DocNode, writer: Writer, inside: () => void): void {
  const held = nodeOf(node, writer);
  if (held !== '') writer.out.push(`<span${held}>`);
  inside();
  if (held !== '') writer.out.push('</span>');
}

function writeFootnoteRef(label: string, writer: Writer): void {
  const text = escapeHtml(label);
  if (!writer.footnotes.has(label)) writer.out.push(`[^${text}]`);
  else writer.out.push(`<sup data-footnote="${text}"><a href="#fn-${text}">${numberOf(label, writer)}</a></sup>`);
}

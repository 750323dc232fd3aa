import { dictionary } from '@commonplace/kit/dictionary';
import { isTight } from '../markdown/tight.js';
import { escapeHtml } from '../model/escape.js';
import { hasMark, inlineSteps } from '../model/inline.js';
import { attr, attrText, type Doc, type DocNode, eachBlock, holdsInline, type Mark } from '../model/model.js';
import { type Sanitised, sanitise } from './sanitise.js';

export interface HtmlOptions {
  /**
   * Returns the address for `resource:<id>`, `user:<id>` and `page:<name>`; undefined renders plain text. Without this
   * function, `resource:` addresses are kept and the others are not links.
   */
  readonly resolve?: (target: string) => string | undefined;
}

interface Writer {
  readonly out: string[];
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
  const writer: Writer = { out: [], resolve: options.resolve ?? keepResources, numbers: new Map(), footnotes };
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
    writer.out.push(`<li id="fn-${escapeHtml(label)}"${idOf(block)}>`);
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

function writeBlocks(blocks: readonly DocNode[], writer: Writer): void {
  for (const block of blocks) writeBlock(block, writer);
}

function element(tag: string, block: DocNode, attributes: string, writer: Writer, inside: () => void): void {
  writer.out.push(`<${tag}${attributes}${idOf(block)}>`);
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
  divider: (block, { out }) => out.push(`<hr${idOf(block)} />\n`),
  blockquote: (block, writer) => blocksIn('blockquote', '', block, writer),
  callout: (block, writer) =>
    blocksIn('aside', ` data-callout="${escapeHtml(attrText(block, 'kind') || 'note')}"`, block, writer),
  bullet_list: writeList,
  ordered_list: writeList,
  task_list: writeList,
  code_block: writeCode,
  math: (block, writer) =>
    element('div', block, ' data-math="block"', writer, () => writer.out.push(escapeHtml(attrText(block, 'tex')))),
  image: (block, writer) => element('p', block, '', writer, () => writeImage(block, writer)),
  html: (block, { out }) => out.push(`${attrText(block, 'html')}\n`),
  table: writeTable,
  toggle: writeToggle,
  front_matter: () => {},
  // Footnotes are rendered at the end; a second one with the same label is rendered in place.
  footnote: (block, writer) => {
    const shown = writer.footnotes.get(attrText(block, 'label')) === block;
    if (!shown) blocksIn('div', ' data-type="footnote"', block, writer);
  },
});

const writeBlock: BlockWriter = (block, writer) => (WRITERS[block.type] ?? writeOther)(block, writer);

const levelOf = (block: DocNode): number =>
  Math.min(6, Math.max(1, Math.trunc(Number(attr(block, 'level') ?? 1)) || 1));

function writeCode(block: DocNode, writer: Writer): void {
  const language = attrText(block, 'language');
  const text = (block.content ?? []).map((node) => node.text ?? '').join('');
  const kind = language === '' ? '' : ` class="language-${escapeHtml(language)}"`;
  writer.out.push(`<pre${idOf(block)}><code${kind}>${escapeHtml(text)}${text === '' ? '' : '\n'}</code></pre>\n`);
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
      if (!tight || (block.type !== 'paragraph' && block.type !== 'image')) writeBlock(block, writer);
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
      writer.out.push(
        typeof side === 'string' ? `<${tag} align="${escapeHtml(side)}"${spans(cell)}>` : `<${tag}${spans(cell)}>`,
      );
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
  element('div', block, ` data-type="${escapeHtml(block.type)}"`, writer, () => {
    const card = cardOf(block);
    if (card !== undefined) writeLink(card.target, card.words, writer);
    if (block.content === undefined) return;
    if (holdsInline(block)) writeInline(block.content, writer);
    else {
      out.push('\n');
      writeBlocks(block.content, writer);
    }
  });
}

/** Returns the address of a target. Targets within the workspace are resolved by the caller's `resolve`. */
function addressOf(target: string, writer: Writer): string | undefined {
  return /^(resource|user|page):/.test(target) ? writer.resolve(target) : target;
}

function writeLink(target: string, words: string, writer: Writer): void {
  const address = addressOf(target, writer);
  const text = escapeHtml(words);
  writer.out.push(address === undefined ? text : `<a href="${escapeHtml(address)}">${text}</a>`);
}

function writeImage(node: DocNode, writer: Writer): void {
  const address = addressOf(attrText(node, 'src'), writer);
  const alt = escapeHtml(attrText(node, 'alt'));
  const title = attrText(node, 'title');
  const size = ['width', 'height']
    .filter((name) => /^\d{1,5}%?$/.test(attrText(node, name)))
    .map((name) => ` ${name}="${attrText(node, name)}"`);
  const more = (title === '' ? '' : ` title="${escapeHtml(title)}"`) + size.join('');
  writer.out.push(address === undefined ? alt : `<img src="${escapeHtml(address)}" alt="${alt}"${more} />`);
}

const TAGS: Readonly<Record<string, string>> = dictionary({
  bold: 'strong',
  italic: 'em',
  strike: 'del',
  underline: 'u',
  highlight: 'mark',
  sub: 'sub',
  sup: 'sup',
});

/** Returns the opening and the closing tag of a mark; both are empty if the mark is not rendered. */
function tagsOf(mark: Mark, writer: Writer): [string, string] {
  const tag = TAGS[mark.type];
  if (tag !== undefined) return [`<${tag}>`, `</${tag}>`];
  if (mark.type === 'comment') return [`<span data-comment="${escapeHtml(attrText(mark, 'id'))}">`, '</span>'];
  if (mark.type !== 'link') return ['', ''];
  const address = addressOf(attrText(mark, 'href'), writer);
  if (address === undefined) return ['', ''];
  const title = attrText(mark, 'title');
  return [`<a href="${escapeHtml(address)}"${title === '' ? '' : ` title="${escapeHtml(title)}"`}>`, '</a>'];
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
    case 'html':
      out.push(attrText(node, 'html'));
      return;
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
      writeLink(`page:${attrText(node, 'target')}`, attrText(node, 'label') || attrText(node, 'target'), writer);
      return;
    case 'emoji':
      out.push(escapeHtml(attrText(node, 'emoji') || `:${attrText(node, 'name')}:`));
      return;
    case 'footnote_ref':
      writeFootnoteRef(attrText(node, 'label'), writer);
      return;
    default:
      out.push(escapeHtml(node.text ?? ''));
  }
}

function writeFootnoteRef(label: string, writer: Writer): void {
  const text = escapeHtml(label);
  if (!writer.footnotes.has(label)) writer.out.push(`[^${text}]`);
  else writer.out.push(`<sup data-footnote="${text}"><a href="#fn-${text}">${numberOf(label, writer)}</a></sup>`);
}

import { dictionary } from '@commonplace/kit/dictionary';
import { hasMark, markKey, normalizeInline } from '../model/inline.js';
import { type Attrs, attr, attrText, BLOCKS, type Doc, type DocNode, eachBlock, holdsInline } from '../model/model.js';
import { createLines, type Lines } from './lines.js';
import { isNative, surplus } from './native.js';
import { BYTE_ORDER_MARK, type Environment, tokenizeInline } from './parser.js';
import { parseMarkdown } from './read.js';
import { readInline } from './read-inline.js';
import { formatAttributes, isAttributeName, isDirectiveName } from './rules/attributes.js';
import { isList, isTight } from './tight.js';
import { type Check, type Place, writeInline } from './write-inline.js';

interface Writer {
  readonly lines: Lines;
  readonly env: Environment;
  readonly check: Check;
}

/** The position of a block as far as it affects its Markdown. */
interface Position {
  readonly first: boolean;
  readonly last: boolean;
  /** List markers that must not be used: those of the list before it and of the item that it begins. */
  readonly avoid: readonly string[];
  readonly inItem: boolean;
}

/** Converts a document to Markdown that parses back to the same document. */
export function toMarkdown(doc: Doc): string {
  const labels = new Set<string>();
  eachBlock(doc, (block) => {
    if (block.type === 'footnote') labels.add(attrText(block, 'label'));
  });
  const env = { footnotes: labels };
  const writer = { lines: createLines(), env, check: createCheck(env) };
  writeBlocks(withoutEmpty(doc.content), writer, { atStart: true });
  const written = writer.lines.result();
  // A parser takes one at the beginning for the mark of a file.
  const text = written.startsWith(BYTE_ORDER_MARK) ? `&#xFEFF;${written.slice(1)}` : written;
  return text === '' ? '' : `${text}\n`;
}

/** Returns a key that is equal for contents with the same meaning. */
const inlineKey = (nodes: readonly DocNode[]): string => nodes.map(nodeKey).join('\n');

function nodeKey(node: DocNode): string {
  const attrs = node.attrs === undefined ? [] : Object.entries(node.attrs).filter(([, value]) => value !== '');
  attrs.sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([node.type, node.text, attrs, node.marks?.map(markKey), node.extra]);
}

function createCheck(env: Environment): Check {
  return (markdown, nodes, place) => {
    const read = readBack(markdown, place, env);
    return read !== undefined && inlineKey(read) === inlineKey(nodes);
  };
}

function readBack(markdown: string, place: Place, env: Environment): DocNode[] | undefined {
  if (place === 'cell') {
    if (/\n/.test(markdown)) return undefined;
    return readInline(tokenizeInline(markdown.trim().replaceAll('\\|', '|'), env));
  }
  const { content } = parseMarkdown(place === 'heading' ? `# ${markdown}` : markdown, env);
  const [only] = content;
  if (content.length !== 1 || only === undefined) return undefined;
  if (only.type === 'image' && place === 'paragraph') return [only];
  return only.type === place ? only.content : undefined;
}

interface BlockContext {
  /** Whether the first block is the first of the page. */
  readonly atStart?: boolean;
  readonly tight?: boolean;
  /** The list marker of the item that the first block begins. */
  readonly marker?: string;
  /** Whether a block was written directly before. */
  readonly following?: boolean;
  /** Whether the blocks are in a directive. */
  readonly fenced?: boolean;
}

function writeBlocks(blocks: readonly DocNode[], writer: Writer, setting: BlockContext): void {
  let before: string | undefined;
  let written = setting.following === true;
  blocks.forEach((block, index) => {
    if (written && !setting.tight) writer.lines.line('');
    const position: Position = {
      first: setting.atStart === true && index === 0,
      // Unclosed HTML would swallow the closing fence.
      last: index === blocks.length - 1 && setting.fenced !== true,
      avoid: [before, written ? undefined : setting.marker].filter((marker) => marker !== undefined),
      inItem: setting.marker !== undefined,
    };
    before = writeBlock(block, writer, position);
    written = true;
  });
}

/** Removes empty paragraphs, which Markdown cannot express and does not need. */
function withoutEmpty(blocks: readonly DocNode[]): DocNode[] {
  const shown = blocks.filter((block) => !isBare(block) || normalizeInline(block.content ?? []).length > 0);
  return shown.map((block) =>
    block.content === undefined || holdsInline(block) ? block : { ...block, content: withoutEmpty(block.content) },
  );
}

const isBare = (block: DocNode): boolean => block.type === 'paragraph' && isLine(block);

/** Returns whether a block is written as a paragraph in Markdown. */
const isLine = (block: DocNode): boolean =>
  (block.type === 'paragraph' || block.type === 'image') && Object.keys(surplus(block)).length === 0;

/** Writes one block. Returns the marker if it is a list. */
function writeBlock(block: DocNode, writer: Writer, position: Position): string | undefined {
  const native = BLOCKS[block.type]?.native === true && isNative(block, position);
  const beyond = native ? surplus(block) : {};
  if (!native || Object.keys(beyond).length > 0) {
    writeDirective(block, writer, native ? beyond : undefined);
    return undefined;
  }
  return writeNative(block, writer, position);
}

/** Writes a fenced directive. If `beyond` is set, it wraps the block's native Markdown and adds these attributes. */
function writeDirective(block: DocNode, writer: Writer, beyond: Attrs | undefined): void {
  const { lines } = writer;
  lines.line(`:::${openingOf(block, beyond ?? block.attrs ?? {})}`);
  if (beyond !== undefined) writeNative(block, writer, { first: false, last: false, avoid: [], inItem: false });
  else if (holdsInline(block) && block.type === 'table_cell') writeInlineLines(block.content ?? [], writer);
  else if (block.content !== undefined && !holdsInline(block)) writeFenced(block.content, writer);
  lines.line(':::');
}

/** The name of directives whose blocks have a type that is no name of a directive; `raw` has the type. */
const UNNAMED = 'block';

/** Formats the name and the attributes of a directive. What has no form there is JSON in the attribute `raw`. */
function openingOf(block: DocNode, attrs: Attrs): string {
  const { directive, ...others } = attrs;
  const named = block.type === 'directive' && typeof directive === 'string' ? { name: directive, attrs: others } : {};
  const { name, attrs: given } = { name: block.type, attrs, ...named };
  const entries = Object.entries(given);
  const plain = Object.fromEntries(entries.filter(([key]) => isAttributeName(key)));
  const odd = Object.fromEntries(entries.filter(([key]) => !isAttributeName(key)));
  const raw: Attrs = {
    ...block.extra,
    ...(isDirectiveName(name) ? {} : { type: name }),
    ...(Object.keys(odd).length > 0 ? { attrs: odd } : {}),
  };
  const all: Attrs = {
    ...(block.id === undefined ? {} : { id: block.id }),
    ...plain,
    ...(Object.keys(raw).length > 0 ? { raw } : {}),
  };
  return `${isDirectiveName(name) ? name : UNNAMED}${formatAttributes(all)}`;
}

function writeFenced(content: readonly DocNode[], writer: Writer): void {
  writeBlocks(content, writer, { fenced: true });
  // An HTML block ends only at an empty line.
  if (content.at(-1)?.type === 'html') writer.lines.line('');
}

function writeInlineLines(content: readonly DocNode[], { lines, env, check }: Writer): void {
  const text = writeInline(content, 'paragraph', env, check);
  if (text !== '') lines.text(text);
}

function writeNative(block: DocNode, writer: Writer, position: Position): string | undefined {
  const { lines, env, check } = writer;
  const content = block.content ?? [];
  switch (block.type) {
    case 'paragraph':
      lines.text(writeInline(content, 'paragraph', env, check));
      return undefined;
    case 'image':
      lines.text(writeInline([bareImage(block)], 'paragraph', env, check));
      return undefined;
    case 'heading':
      writeHeading(block, writer);
      return undefined;
    case 'divider':
      lines.line(position.inItem ? '___' : '---');
      return undefined;
    case 'code_block':
      writeCode(block, lines);
      return undefined;
    case 'math':
      lines.text(`$$\n${attrText(block, 'tex')}\n$$`);
      return undefined;
    case 'html':
      lines.text(attrText(block, 'html'));
      return undefined;
    case 'front_matter':
      lines.text(`---\n${attrText(block, 'text')}\n---`);
      return undefined;
    case 'footnote':
      lines.within(`[^${attrText(block, 'label')}]: `, '    ', () => writeOrEmpty(content, writer, {}));
      return undefined;
    case 'table':
      writeTable(block, writer);
      return undefined;
    case 'blockquote':
      lines.within('> ', '> ', () => writeOrEmpty(content, writer, {}));
      return undefined;
    case 'callout':
      lines.within('> ', '> ', () => writeCallout(block, writer));
      return undefined;
    default:
      return writeList(block, writer, position);
  }
}

/** Copies an image with the attributes that Markdown can express. */
function bareImage({ type, attrs }: DocNode): DocNode {
  const kept = Object.entries(attrs ?? {}).filter(([name, value]) => IMAGE.includes(name) && typeof value === 'string');
  return { type, attrs: Object.fromEntries(kept) };
}

const IMAGE = ['src', 'alt', 'title'];

function writeOrEmpty(content: readonly DocNode[], writer: Writer, setting: BlockContext): void {
  if (content.length === 0) writer.lines.line('');
  else writeBlocks(content, writer, setting);
}

function writeCallout(block: DocNode, writer: Writer): void {
  writer.lines.line(`[!${attrText(block, 'kind').toUpperCase()}]`);
  const content = block.content ?? [];
  const paragraph = content[0] !== undefined && isLine(content[0]);
  writeBlocks(content, writer, { following: !paragraph });
}

function writeHeading(block: DocNode, { lines, env, check }: Writer): void {
  const level = Number(attr(block, 'level') ?? 1);
  const content = normalizeInline(block.content ?? []);
  const broken = content.some((node) => node.text?.includes('\n') && !hasMark(node, 'code'));
  if (broken && level <= 2) {
    const text = writeInline(content, 'paragraph', env, check);
    if (text.includes('\n')) {
      lines.text(`${text}\n${level === 1 ? '===' : '---'}`);
      return;
    }
  }
  const flat = content.map((node) =>
    node.text === undefined ? node : { ...node, text: node.text.replaceAll('\n', ' ') },
  );
  const text = writeInline(flat, 'heading', env, check);
  lines.line(text === '' ? '#'.repeat(level) : `${'#'.repeat(level)} ${text}`);
}

function writeCode(block: DocNode, lines: Lines): void {
  const text = (block.content ?? []).map((node) => node.text ?? '').join('');
  const beyond = surplus(block);
  const kept = ['language', 'meta'].filter((name) => attrText(block, name) !== '' && beyond[name] === undefined);
  const info = kept.map((name) => attrText(block, name)).join(' ');
  const sign = info.includes('`') ? '~' : '`';
  const longest = (text.match(sign === '~' ? /~{3,}/g : /`{3,}/g) ?? []).reduce(
    (most, run) => Math.max(most, run.length),
    2,
  );
  const fence = sign.repeat(longest + 1);
  lines.line(fence + info.replace(/[\\&]/g, (char) => `\\${char}`));
  if (text !== '') lines.text(text.replace(/\r\n?/g, '\n'));
  lines.line(fence);
}

const RULES: Readonly<Record<string, string>> = dictionary({ left: ':--', center: ':-:', right: '--:' });

function writeTable(block: DocNode, { lines, env, check }: Writer): void {
  const rows = block.content ?? [];
  const width = Math.max(...rows.map((row) => row.content?.length ?? 0));
  const align = attr(block, 'align');
  const side = (column: number) => String(Array.isArray(align) ? align[column] : '');
  const writeRow = (row: DocNode) => {
    const cells = Array.from({ length: width }, (_, column) =>
      writeInline(row.content?.[column]?.content ?? [], 'cell', env, check),
    );
    lines.line(`|${cells.map((cell) => (cell === '' ? '  ' : ` ${cell} `)).join('|')}|`);
  };
  rows.forEach((row, index) => {
    writeRow(row);
    if (index === 0)
      lines.line(`|${Array.from({ length: width }, (_, i) => ` ${RULES[side(i)] ?? '---'} `).join('|')}|`);
  });
}

/** Returns a list marker that differs from the neighbours', as lists with the same marker would merge. */
function markerFor(block: DocNode, avoid: readonly string[]): string {
  const choice = block.type === 'ordered_list' ? ['.', ')'] : ['-', '*', '+'];
  return choice.find((marker) => !avoid.includes(marker)) ?? (choice[0] as string);
}

function writeList(block: DocNode, writer: Writer, position: Position): string {
  const { lines } = writer;
  const marker = markerFor(block, position.avoid);
  const tight = isTight(block);
  const start = Number(attr(block, 'start') ?? 1);
  (block.content ?? []).forEach((item, index) => {
    if (index > 0 && !tight) lines.line('');
    const sign =
      isList(block) && block.type === 'ordered_list' ? `${Math.min(start + index, 999_999_999)}${marker}` : marker;
    lines.within(`${sign} `, ' '.repeat(sign.length + 1), () => writeItem(item, block, writer, { tight, marker }));
  });
  return marker;
}

function writeItem(item: DocNode, list: DocNode, writer: Writer, setting: { tight: boolean; marker: string }): void {
  const checked = attr(item, 'checked') ?? (list.type === 'task_list' ? false : undefined);
  const content = item.content ?? [];
  if (typeof checked !== 'boolean') {
    writeOrEmpty(content, writer, setting);
    return;
  }
  const box = checked ? '[x]' : '[ ]';
  const first = content[0];
  if (first !== undefined && isLine(first)) {
    writer.lines.within(`${box} `, '', () => writeOrEmpty(content.slice(0, 1), writer, setting));
    writeBlocks(content.slice(1), writer, { tight: setting.tight, marker: setting.marker, following: true });
  } else {
    writer.lines.line(box);
    writeBlocks(content, writer, { ...setting, following: true });
  }
}

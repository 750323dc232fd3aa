import { isAttrs } from '../model/attribute-json.js';
import { fits } from '../model/fits.js';
import { type Attrs, BLOCKS, type Doc, type DocNode } from '../model/model.js';
import { type Environment, type Token, tokenize, unescapeMarkdown } from './parser.js';
import { readInline } from './read-inline.js';
import { isAttributeName, isDirectiveName } from './rules/attributes.js';

const CALLOUT = /^\[!([A-Za-z][\w-]*)\][ \t]*(?:\n|$)/;
const TASK = /^\[([ xX])\](?=\s|$)[ \t]*/;

/** The first line of a block in its text, and the line after its last one, counted from 0. */
export type Lines = readonly [number, number];

/** A block that is still open while its tokens are read. */
interface Frame {
  readonly node: DocNode;
  readonly content: DocNode[];
  /** For a list: whether a paragraph directly in one of its items is separated by blank lines. */
  loose?: boolean;
  readonly attrs: Attrs;
  readonly openedOn?: Token['map'];
}

const OPENED: Readonly<Record<string, string>> = {
  blockquote_open: 'blockquote',
  bullet_list_open: 'bullet_list',
  ordered_list_open: 'ordered_list',
  list_item_open: 'list_item',
  footnote_open: 'footnote',
  directive_open: 'directive',
  table_open: 'table',
  tr_open: 'table_row',
  th_open: 'table_cell',
  td_open: 'table_cell',
  paragraph_open: 'paragraph',
  heading_open: 'heading',
};

function openFrame(token: Token, type: string): Frame {
  const attrs: Attrs = {};
  if (type === 'heading') attrs.level = Number(token.tag.slice(1));
  else if (type === 'ordered_list') attrs.start = Number(token.attrGet('start') ?? 1);
  else if (type === 'footnote') attrs.label = token.info;
  return { node: { type }, content: [], attrs, openedOn: token.map };
}

/** Converts a token that is a block without inner blocks. */
function leafBlock(token: Token): DocNode | undefined {
  const { content } = token;
  switch (token.type) {
    case 'hr':
      return { type: 'divider' };
    case 'fence':
    case 'code_block':
      return codeBlock(content, token.info);
    case 'html_block':
      return { type: 'html', attrs: { html: content.replace(/^ +|\n+$/g, '') } };
    case 'math_block':
      return { type: 'math', attrs: { tex: content.replace(/\n$/, '') } };
    case 'front_matter':
      return { type: 'front_matter', attrs: { text: content } };
    default:
      return undefined;
  }
}

function codeBlock(content: string, info: string): DocNode {
  const text = content.endsWith('\n') ? content.slice(0, -1) : content;
  const [, language = '', meta = ''] = /^\s*(\S*)\s*(.*?)\s*$/s.exec(unescapeMarkdown(info)) ?? [];
  const attrs: Attrs = {};
  if (language !== '') attrs.language = language;
  if (meta !== '') attrs.meta = meta;
  const node: DocNode = { type: 'code_block', content: text === '' ? [] : [{ type: 'text', text }] };
  if (language !== '') node.attrs = attrs;
  return node;
}

const withAttrs = (node: DocNode, attrs: Attrs): DocNode =>
  Object.keys(attrs).length === 0 ? node : { ...node, attrs: { ...node.attrs, ...attrs } };

/** Closes a list, which becomes a task list if every item has a checkbox. */
function closeList({ node, content, attrs, loose }: Frame): DocNode {
  const tasks = node.type === 'bullet_list' && content.every((item) => typeof item.attrs?.checked === 'boolean');
  const type = tasks ? 'task_list' : node.type;
  const single = content.length === 1 && (content[0]?.content?.length ?? 0) <= 1;
  return { type, attrs: { ...attrs, tight: loose !== true || single }, content };
}

function closeTable({ content }: Frame): DocNode {
  const cells = content[0]?.content ?? [];
  const align = cells.map((cell) => cell.attrs?.align ?? null);
  const rows = content.map((row) => ({
    ...row,
    content: (row.content ?? []).map(({ type, content: inside }) => ({ type, content: inside ?? [] })),
  }));
  return align.some((side) => side !== null)
    ? { type: 'table', attrs: { align }, content: rows }
    : { type: 'table', content: rows };
}

/**
 * Closes a directive: it becomes the block that it names, or adds attributes to the one block of that type that it
 * wraps.
 */
function closeDirective(token: Token, content: DocNode[]): DocNode {
  const { id, raw, ...plain } = token.meta as Attrs;
  const { name, attrs: odd, extra } = readRaw(token.info, raw);
  const attrs = { ...plain, ...odd };
  const spec = BLOCKS[name];
  const node: DocNode =
    typeof id === 'string' || typeof id === 'number' ? { id: String(id), type: name } : { type: name };
  const only = content[0];
  if (spec?.native && name !== 'html' && name !== 'math' && content.length === 1 && only?.type === name) {
    return withAttrs({ ...only, ...node }, attrs);
  }
  if (spec === undefined && Object.keys(extra).length > 0)
    return withContent({ ...withAttrs(node, attrs), extra }, content);
  if (fits(name, content)) return withContent(withAttrs(node, attrs), content);
  return withContent(withAttrs({ ...node, type: 'directive' }, { ...attrs, directive: name }), content);
}

/** Maximum length of a block's type, as in document JSON. */
const MAX_TYPE = 64;

const isOddType = (type: unknown): type is string =>
  typeof type === 'string' && type !== '' && type.length <= MAX_TYPE && !isDirectiveName(type);

/** Reads the attribute `raw` of a directive: a type and attributes that a directive cannot name, and further fields. */
function readRaw(name: string, raw: unknown): { name: string; attrs: Attrs; extra: Attrs } {
  if (!isAttrs(raw)) return { name, attrs: {}, extra: {} };
  const { type, attrs, ...extra } = raw;
  return {
    name: isOddType(type) ? type : name,
    attrs: isAttrs(attrs) ? Object.fromEntries(Object.entries(attrs).filter(([key]) => !isAttributeName(key))) : {},
    extra: attrs === undefined || isAttrs(attrs) ? extra : { ...extra, attrs },
  };
}

const withContent = (node: DocNode, content: DocNode[]): DocNode =>
  content.length === 0 && (BLOCKS[node.type]?.holds ?? 'none') === 'none' ? node : { ...node, content };

/** Closes a quote, which becomes a callout if its first line is `[!KIND]`. */
function closeQuote(content: DocNode[], kind: string | undefined): DocNode {
  return kind === undefined ? { type: 'blockquote', content } : { type: 'callout', attrs: { kind }, content };
}

interface Reading {
  readonly stack: Frame[];
  /** Opening tokens of the directives that are open, by frame. */
  readonly sources: Map<Frame, Token>;
  readonly lines: Map<DocNode, Lines> | undefined;
}

/** Reads an inline token. Its first words may turn the enclosing quote into a callout, or the list item into a task. */
function readText(token: Token, { stack }: Reading): void {
  const frame = stack.at(-1);
  const parent = stack.at(-2);
  if (frame === undefined) return;
  let children = token.children ?? [];
  if (frame.node.type === 'paragraph' && parent !== undefined && parent.content.length === 0) {
    if (parent.node.type === 'blockquote') {
      const kind = CALLOUT.exec(token.content)?.[1];
      if (kind !== undefined) {
        parent.attrs.kind = kind.toLowerCase();
        children = withoutStart(children, kind.length + 3, true);
      }
    } else if (parent.node.type === 'list_item') {
      const box = TASK.exec(token.content);
      if (box !== null) {
        parent.attrs.checked = box[1] !== ' ';
        children = withoutStart(children, box[0].length);
      }
    }
  }
  if (children.length === 1 && children[0]?.content.length === 1) {
    const { content: text, type } = children[0];
    if (type === 'text' && text.trim() !== '') {
      frame.content.push({ type, text });
      return;
    }
  }
  // A spread would fail: a paragraph may have more nodes than a call may have arguments.
  for (const node of readInline(children)) frame.content.push(node);
}

/**
 * Removes `length` plain characters from the start of inline tokens; with `line`, a line break that follows them too.
 */
function withoutStart(tokens: readonly Token[], length: number, line = false): Token[] {
  let left = length;
  let index = 0;
  let cut: Token | undefined;
  for (; index < tokens.length && left > 0; index += 1) {
    const token = tokens[index] as Token;
    if (token.type !== 'text') break;
    if (token.content.length > left) {
      cut = Object.assign(Object.create(Object.getPrototypeOf(token)) as Token, token);
      cut.content = token.content.slice(left);
      left = 0;
    } else left -= token.content.length;
  }
  if (line && cut === undefined && tokens[index]?.type.endsWith('break')) index += 1;
  return cut === undefined ? tokens.slice(index) : [cut, ...tokens.slice(index)];
}

function closeFrame(frame: Frame, reading: Reading): DocNode | undefined {
  const { node, content, attrs } = frame;
  switch (node.type) {
    case 'paragraph':
      return closeParagraph(content);
    case 'bullet_list':
    case 'ordered_list':
      return closeList(frame);
    case 'table':
      return closeTable(frame);
    case 'blockquote':
      return closeQuote(content, attrs.kind as string | undefined);
    case 'directive':
      return closeDirective(reading.sources.get(frame) as Token, content.map(unwrapCell));
    default:
      return withAttrs({ type: node.type, content }, attrs);
  }
}

/** Closes a paragraph; one that holds only an image becomes an image block. */
function closeParagraph(content: DocNode[]): DocNode | undefined {
  const only = content[0];
  if (only === undefined) return undefined;
  if (content.length === 1 && only.type === 'image' && only.marks === undefined) return only;
  return { type: 'paragraph', content };
}

/** Replaces a cell's single plain paragraph by its inline nodes. */
function unwrapCell(node: DocNode): DocNode {
  const only = node.content?.[0];
  const plain = node.type === 'table_cell' && node.content?.length === 1 && only?.type === 'paragraph' && !only.attrs;
  return plain ? { ...node, content: only?.content ?? [] } : node;
}

function readToken(token: Token, reading: Reading): void {
  const { stack, sources, lines } = reading;
  const type = OPENED[token.type];
  if (token.type === 'inline') readText(token, reading);
  else if (type !== undefined) {
    const frame = openFrame(token, type);
    if (type === 'directive') sources.set(frame, token);
    if (type === 'paragraph' && !token.hidden && stack.at(-1)?.node.type === 'list_item') {
      const list = stack.at(-2);
      if (list !== undefined) list.loose = true;
    }
    const style = type === 'table_cell' ? token.attrGet('style') : null;
    if (style) frame.attrs.align = String(style).replace('text-align:', '');
    stack.push(frame);
  } else if (token.nesting < 0 && OPENED[token.type.replace('_close', '_open')] !== undefined) {
    const frame = stack.pop() as Frame;
    const node = closeFrame(frame, reading);
    if (node === undefined) return;
    stack.at(-1)?.content.push(node);
    if (frame.openedOn != null) lines?.set(node, frame.openedOn);
  } else {
    const node = leafBlock(token);
    if (node === undefined) return;
    stack.at(-1)?.content.push(node);
    if (token.map !== null) lines?.set(node, token.map);
  }
}

/** Parses Markdown of this dialect. Never throws; equal text gives an equal document. */
export function parseMarkdown(text: string, env: Environment = {}): Doc {
  return docOfTokens(tokenize(text, env));
}

/** Builds the document from tokens. Fills `lines` with those of each block whose token states them. */
export function docOfTokens(tokens: readonly Token[], lines?: Map<DocNode, Lines>): Doc {
  const root: Frame = { node: { type: 'doc' }, content: [], attrs: {} };
  const reading: Reading = { stack: [root], sources: new Map(), lines };
  for (const token of tokens) readToken(token, reading);
  return { type: 'doc', content: root.content };
}

import { dictionary } from '@commonplace/kit/dictionary';
import { lazyLibrary } from '@commonplace/kit/library';
import { fits } from '../model/fits.js';
import { normalizeInline } from '../model/inline.js';
import { type Attrs, BLOCKS, type Doc, type DocNode, INLINE, MAX_DEPTH, type Mark } from '../model/model.js';
import { createNestingGuard, readNested } from './nesting.js';
import { heldMark, heldNode, restore } from './rest.js';

const library = lazyLibrary<typeof import('htmlparser2')>('htmlparser2', import.meta.url);

type Attributes = Readonly<Record<string, string>>;

/** An open element: the block or the mark that it opened, or neither. */
interface OpenElement {
  readonly frame?: DocNode;
  readonly mark?: Mark;
  /** Whether the element collects plain text instead of content. */
  readonly gathers?: boolean;
  /** Whether the text in the element is ignored. */
  readonly silences?: boolean;
}

const MARKS: Readonly<Record<string, string>> = dictionary({
  b: 'bold',
  strong: 'bold',
  i: 'italic',
  em: 'italic',
  cite: 'italic',
  s: 'strike',
  del: 'strike',
  strike: 'strike',
  u: 'underline',
  ins: 'underline',
  mark: 'highlight',
  sub: 'sub',
  sup: 'sup',
  code: 'code',
  kbd: 'code',
  samp: 'code',
  tt: 'code',
});

const CONTAINERS: Readonly<Record<string, string>> = dictionary({
  ul: 'bullet_list',
  ol: 'ordered_list',
  li: 'list_item',
  blockquote: 'blockquote',
  table: 'table',
  tr: 'table_row',
  td: 'table_cell',
  th: 'table_cell',
  details: 'toggle',
});

/** Elements that only end the line before and after them. */
const BREAKING = new Set(
  'address article aside body caption center dd div dl dt fieldset figcaption figure footer form header html main nav p section tbody tfoot thead'.split(
    ' ',
  ),
);

const SILENT = new Set([
  'script',
  'style',
  'template',
  'noscript',
  'head',
  'title',
  'iframe',
  'textarea',
  'select',
  'svg',
]);

/** The types of blocks that may hold a list item, a table row or a table cell. */
const HOMES: Readonly<Record<string, readonly string[]>> = dictionary({
  list_item: ['bullet_list', 'ordered_list'],
  table_row: ['table'],
  table_cell: ['table_row'],
});

interface Reading {
  readonly frames: DocNode[];
  readonly opened: OpenElement[];
  readonly marks: Mark[];
  inline: DocNode[];
  /** Level of the open heading, which takes the line instead of a paragraph; 0 if none is open. */
  level: number;
  /** Number of open elements whose text is ignored. */
  silent: number;
  /** What the element of the open line does not express (`data-attrs`). */
  rest: string | undefined;
  /** Text collected so far for an open code block, formula or summary. */
  gathered: string | undefined;
}

/** Maximum number of nested marks; further ones are dropped. */
const MAX_MARKS = 32;

const top = (reading: Reading): DocNode => reading.frames.at(-1) as DocNode;

/** Adds a block to the innermost open block that may hold it: lists hold items only, and tables hold rows only. */
function place(block: DocNode, reading: Reading): void {
  let index = reading.frames.length - 1;
  while (index > 0 && ['table', 'table_row'].includes(reading.frames[index]?.type ?? '')) {
    if (HOMES[block.type]?.includes(reading.frames[index]?.type ?? '')) break;
    index -= 1;
  }
  const frame = reading.frames[index] as DocNode;
  const list = frame.type === 'bullet_list' || frame.type === 'ordered_list';
  frame.content?.push(list && block.type !== 'list_item' ? { type: 'list_item', content: [block] } : block);
}

/** Ends the line: turns the collected inline nodes into a paragraph, a heading or an image. */
function endLine(reading: Reading): void {
  const content = normalizeInline(reading.inline);
  reading.inline = [];
  const { rest } = reading;
  const [only] = content;
  if (only === undefined) return;
  reading.rest = undefined;
  const isImage = content.length === 1 && only.type === 'image' && only.marks === undefined;
  if (reading.level > 0) place(restore({ type: 'heading', attrs: { level: reading.level }, content }, rest), reading);
  else if (isImage && rest === undefined) place(only, reading);
  else place(restore({ type: 'paragraph', content }, rest), reading);
}

function addText(text: string, reading: Reading): void {
  if (reading.silent > 0) return;
  if (reading.gathered !== undefined) {
    reading.gathered += text;
    return;
  }
  const flat = text.replace(/[ \t\r\n\f]+/g, ' ');
  const before = reading.inline.at(-1);
  const joined = before === undefined || before.text?.endsWith(' ') || before.type === 'hard_break';
  const words = joined ? flat.replace(/^ /, '') : flat;
  if (words !== '') addInline({ type: 'text', text: words }, reading);
}

function addInline(node: DocNode, { inline, marks }: Reading): void {
  inline.push(marks.length === 0 ? node : { ...node, marks: [...marks] });
}

function markOf(name: string, attributes: Attributes): Mark | undefined {
  const mark = nativeMark(name, attributes);
  return mark === undefined ? heldMark(attributes['data-mark']) : restore(mark, attributes['data-attrs']);
}

function nativeMark(name: string, attributes: Attributes): Mark | undefined {
  const comment = attributes['data-comment'];
  if (name === 'span' && comment) return { type: 'comment', attrs: { id: comment } };
  if (name === 'a' && attributes.href !== undefined) {
    const attrs: Attrs = { href: attributes.href.trim() };
    if (attributes.title) attrs.title = attributes.title;
    return { type: 'link', attrs };
  }
  const type = MARKS[name];
  return type === undefined ? undefined : { type };
}

function imageOf(attributes: Attributes): DocNode | undefined {
  if (!attributes.src) return undefined;
  const attrs: Attrs = { src: attributes.src.trim() };
  for (const name of ['alt', 'title']) if (attributes[name]) attrs[name] = attributes[name];
  for (const name of ['width', 'height']) {
    const size = attributes[name] ?? '';
    if (/^\d{1,5}%?$/.test(size)) attrs[name] = size.endsWith('%') ? size : Number(size);
  }
  return restore({ type: 'image', attrs }, attributes['data-attrs']);
}

/** Elements that are read, in addition to those above. */
const OTHERS = 'a br div h1 h2 h3 h4 h5 h6 hr img input pre span summary wbr'.split(' ');
const READABLE: ReadonlySet<string> = new Set([
  ...Object.keys(MARKS),
  ...Object.keys(CONTAINERS),
  ...BREAKING,
  ...OTHERS,
]);

/** Returns whether HTML consists of elements that are read; others, and comments, would be lost. */
export function isReadable(html: string): boolean {
  for (const [, name = ''] of html.matchAll(/<(?:[!?]|\/?([a-z][^\s/>]*))/gi)) {
    if (!READABLE.has(name.toLowerCase())) return false;
  }
  return true;
}

/** Opens a block that holds others. Opens nothing if the block may not be placed here or is nested too deep. */
function openFrame(type: string, attributes: Attributes, reading: Reading): OpenElement {
  const homes = HOMES[type];
  if (reading.frames.length > MAX_DEPTH || (homes !== undefined && !homes.includes(top(reading).type))) return {};
  const frame: DocNode = { type, content: [] };
  const attrs: Attrs = {};
  if (type === 'ordered_list' && /^\d{1,9}$/.test(attributes.start ?? '')) attrs.start = Number(attributes.start);
  if (type === 'table_cell') {
    const side = attributes.align ?? /text-align:\s*(left|center|right)/.exec(attributes.style ?? '')?.[1];
    if (side !== undefined && /^(left|center|right)$/.test(side)) attrs.align = side;
    for (const name of ['colspan', 'rowspan']) {
      if (/^[1-9]\d{0,2}$/.test(attributes[name] ?? '') && attributes[name] !== '1')
        attrs[name] = Number(attributes[name]);
    }
  }
  const kind = attributes['data-callout'];
  if (type === 'footnote') attrs.label = attributes.label as string;
  if (type === 'callout') attrs.kind = /^[a-z][\w-]*$/.test(kind ?? '') ? (kind as string) : 'note';
  const { attrs: all } = restore({ type, attrs }, attributes['data-attrs']);
  if (all !== undefined && Object.keys(all).length > 0) frame.attrs = all;
  reading.frames.push(frame);
  return { frame };
}

/** Opens an element whose text is collected verbatim. */
function openText(frame: DocNode, reading: Reading): OpenElement {
  reading.gathered = '';
  return { frame, gathers: true };
}

function openElement(name: string, attributes: Attributes, reading: Reading): OpenElement {
  if (reading.gathered !== undefined) {
    const language = name === 'code' ? /(?:^|\s)language-(\S+)/.exec(attributes.class ?? '')?.[1] : undefined;
    const holder = reading.opened.findLast(({ gathers }) => gathers)?.frame;
    if (language !== undefined && holder?.type === 'code_block') {
      holder.attrs = { ...holder.attrs, language };
    }
    if (name === 'br') reading.gathered += '\n';
    return {};
  }
  const held = openHeld(name, attributes, reading);
  if (held !== undefined) return held;
  const mark = markOf(name, attributes);
  if (mark !== undefined) {
    if (reading.marks.length >= MAX_MARKS) return {};
    reading.marks.push(mark);
    return { mark };
  }
  if (attributes['data-math'] === 'inline') return openText({ type: 'math_inline' }, reading);
  const mention = attributes['data-mention'];
  if (mention) return openText({ type: 'mention', attrs: { user_id: mention } }, reading);
  return openBlock(name, attributes, reading);
}

/** Opens an element that holds a node for which HTML has none, or that only shows such a node; undefined for others. */
function openHeld(name: string, attributes: Attributes, reading: Reading): OpenElement | undefined {
  if (attributes['data-card'] !== undefined) return { silences: true };
  const label = attributes['data-footnote'];
  if (name === 'sup' && label !== undefined && LABEL.test(label)) {
    addInline({ type: 'footnote_ref', attrs: { label } }, reading);
    return { silences: true };
  }
  const node = heldNode(attributes['data-node']);
  if (node === undefined || reading.frames.length > MAX_DEPTH) return undefined;
  if (name === 'span') {
    if (!INLINE.has(node.type)) return undefined;
    addInline(node, reading);
    return { silences: true };
  }
  endLine(reading);
  if (node.type !== 'html' && BLOCKS[node.type]?.holds !== 'none') {
    if (INLINE.has(node.type)) return undefined;
    const frame = { ...node, content: [] };
    reading.frames.push(frame);
    return { frame };
  }
  place(node, reading);
  return { silences: true };
}

const LABEL = /^[^\]\s^[]{1,200}$/;

function openBlock(name: string, attributes: Attributes, reading: Reading): OpenElement {
  if (name === 'br') addInline({ type: 'hard_break' }, reading);
  else if (name === 'img') {
    const image = imageOf(attributes);
    if (image !== undefined) addInline(image, reading);
  } else if (name === 'input' && attributes.type === 'checkbox' && top(reading).type === 'list_item') {
    top(reading).attrs = { ...top(reading).attrs, checked: attributes.checked !== undefined };
  } else if (name === 'pre' || attributes['data-math'] === 'block') {
    endLine(reading);
    return openText(restore({ type: name === 'pre' ? 'code_block' : 'math' }, attributes['data-attrs']), reading);
  } else if (name === 'summary' && top(reading).type === 'toggle') {
    return openText({ type: 'summary' }, reading);
  } else if (/^h[1-6]$/.test(name)) {
    endLine(reading);
    reading.level = Number(name[1]);
    reading.rest = attributes['data-attrs'];
  } else if (name === 'hr') {
    endLine(reading);
    place(restore({ type: 'divider' }, attributes['data-attrs']), reading);
  } else if (name === 'section' && attributes['data-type'] === FOOTNOTES) {
    endLine(reading);
    return openFrame(FOOTNOTES, {}, reading);
  } else if (top(reading).type === FOOTNOTES && (name === 'ol' || name === 'li')) {
    const label = /^fn-(.*)$/s.exec(attributes.id ?? '')?.[1] ?? '';
    if (name === 'li' && LABEL.test(label)) return openFrame('footnote', { ...attributes, label }, reading);
  } else {
    const type = attributes['data-callout'] === undefined ? CONTAINERS[name] : 'callout';
    if (type !== undefined || BREAKING.has(name)) endLine(reading);
    if (type !== undefined) return openFrame(type, attributes, reading);
    if (name === 'p') reading.rest = attributes['data-attrs'];
  }
  return {};
}

/** Type of the frame that holds the footnotes at the end of a document, which become blocks of the document. */
const FOOTNOTES = 'footnotes';

/** Turns the collected text into the block or inline node that it was collected for. */
function closeText(node: DocNode, reading: Reading): void {
  const text = reading.gathered ?? '';
  reading.gathered = undefined;
  switch (node.type) {
    case 'code_block': {
      const code = text.replace(/\r\n?/g, '\n').replace(/^\n|\n$/g, '');
      place({ ...node, content: code === '' ? [] : [{ type: 'text', text: code }] }, reading);
      return;
    }
    case 'math':
      place({ ...node, attrs: { ...node.attrs, tex: text.trim() } }, reading);
      return;
    case 'math_inline':
      addInline({ type: 'math_inline', attrs: { tex: text.trim() } }, reading);
      return;
    case 'mention':
      addInline({ ...node, attrs: { ...node.attrs, name: text.trim().replace(/^@/, '') } }, reading);
      return;
    default:
      top(reading).attrs = { ...top(reading).attrs, summary: text.replace(/\s+/g, ' ').trim() };
  }
}

function closeElement(name: string, reading: Reading): void {
  const { frame, mark, gathers } = reading.opened.pop() ?? {};
  if (mark !== undefined) reading.marks.splice(reading.marks.lastIndexOf(mark), 1);
  else if (gathers && frame !== undefined) closeText(frame, reading);
  else if (frame !== undefined) {
    endLine(reading);
    reading.frames.pop();
    if (frame.type === FOOTNOTES) for (const block of frame.content ?? []) place(block, reading);
    else {
      const block = closeFrame(frame);
      if (block !== undefined) place(block, reading);
    }
  } else if (BREAKING.has(name) || CONTAINERS[name] !== undefined) endLine(reading);
  else if (/^h[1-6]$/.test(name)) {
    endLine(reading);
    reading.level = 0;
  }
}

function closeFrame(frame: DocNode): DocNode | undefined {
  const content = frame.content ?? [];
  const [only] = content;
  switch (frame.type) {
    case 'table_cell':
      return content.length === 1 && only?.type === 'paragraph' ? { ...frame, content: only.content ?? [] } : frame;
    case 'table':
      return closeTable(frame);
    case 'bullet_list':
    case 'ordered_list':
      return content.length === 0 ? undefined : closeList(frame);
    case 'list_item':
    case 'table_row':
      return frame;
    default:
      if (frame.type === 'directive' || fits(frame.type, content)) return frame;
      return { ...frame, type: 'directive', attrs: { ...frame.attrs, directive: frame.type } };
  }
}

function closeList(frame: DocNode): DocNode {
  const tasks = frame.type === 'bullet_list' && frame.content?.every((item) => item.attrs?.checked !== undefined);
  return tasks ? { ...frame, type: 'task_list' } : frame;
}

/** Closes a table; the alignment of its columns comes from its first row. */
function closeTable(frame: DocNode): DocNode | undefined {
  const rows = (frame.content ?? []).filter((row) => (row.content ?? []).length > 0);
  if (rows.length === 0) return undefined;
  const align = (rows[0]?.content ?? []).map((cell) => cell.attrs?.align ?? null);
  for (const cell of rows.flatMap((row) => row.content ?? [])) {
    const { align: _, ...attrs } = cell.attrs ?? {};
    if (Object.keys(attrs).length > 0) cell.attrs = attrs;
    else delete cell.attrs;
  }
  const attrs: Attrs = { ...frame.attrs, ...(align.some((side) => side !== null) && { align }) };
  return Object.keys(attrs).length > 0 ? { type: 'table', attrs, content: rows } : { type: 'table', content: rows };
}

/**
 * Converts HTML to a document as far as the model can express it; scripts, styles and frames are ignored. HTML that is
 * nested too deep becomes a code block with the source.
 */
export function parseHtml(html: string): Doc {
  return readNested(
    () => parseNested(html),
    () => ({ type: 'doc', content: [{ type: 'code_block', content: [{ type: 'text', text: html }] }] }),
  );
}

/** Throws NestedTooDeep. */
function parseNested(html: string): Doc {
  const nesting = createNestingGuard();
  const root: DocNode = { type: 'doc', content: [] };
  const reading: Reading = {
    frames: [root],
    opened: [],
    marks: [],
    inline: [],
    level: 0,
    rest: undefined,
    silent: 0,
    gathered: undefined,
  };
  const parser = new (library().Parser)({
    onopentag(name, attributes) {
      nesting.onOpen();
      const opened = reading.silent > 0 || SILENT.has(name) ? {} : openElement(name, attributes, reading);
      const silences = SILENT.has(name) || opened.silences;
      if (silences) reading.silent += 1;
      reading.opened.push(silences ? { silences } : opened);
    },
    ontext: (text) => addText(text, reading),
    onclosetag(name) {
      nesting.onClose();
      if (reading.silent === 0) closeElement(name, reading);
      else if (reading.opened.pop()?.silences) reading.silent -= 1;
    },
  });
  parser.end(html);
  endLine(reading);
  return { type: 'doc', content: root.content ?? [] };
}

import { dictionary } from '@commonplace/kit/dictionary';
import type { Fault } from '@commonplace/kit/errors';
import { isObject } from '@commonplace/kit/json';
import type { Warning } from '../html/sanitise.js';
import { type Attrs, BLOCKS, type Doc, type DocNode, type Holds, INLINE, MAX_DEPTH } from '../model/model.js';
import { readAttributes } from './attributes.js';
import { createReport, type Report } from './faults.js';
import { readInlineNode, readTexts } from './inline.js';

/** The type of node that a block with restricted content may hold. */
const PARTS: Partial<Record<Holds, string>> = {
  items: 'list_item',
  rows: 'table_row',
  cells: 'table_cell',
  columns: 'column',
};

/** Type names that other editors use for known types. */
const ALIASES: Readonly<Record<string, string>> = dictionary({
  table_header: 'table_cell',
  horizontal_rule: 'divider',
});

/**
 * Validates document JSON and converts it, collecting all faults; `param` is the name of the request field that holds
 * it. The document is usable only if there are no faults. Nodes of unknown type are kept as they are, with a warning.
 */
export function readDoc(json: unknown, param = 'content'): { doc: Doc; faults: Fault[]; warnings: Warning[] } {
  const report = createReport();
  const doc: Doc = { type: 'doc', content: [] };
  if (!isObject(json)) report.fault(param, 'invalid_type', 'A document must be an object.');
  else {
    if (json.type !== 'doc') report.fault(`${param}.type`, 'invalid_value', 'A document has the type "doc".');
    doc.content = readBlocks(json.content, `${param}.content`, 0, report);
  }
  return { doc, faults: report.faults, warnings: report.warnings() };
}

function readArray(value: unknown, param: string, report: Report): unknown[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value;
  report.fault(param, 'invalid_type', 'content must be an array.');
  return [];
}

const readBlocks = (value: unknown, param: string, depth: number, report: Report): DocNode[] =>
  readArray(value, param, report)
    .map((entry, index) => readBlock(entry, `${param}[${index}]`, depth, report))
    .filter((block) => block !== undefined);

/** Returns the type of a node with aliases resolved; undefined, with a fault, if it is invalid. */
function typeOf(value: Record<string, unknown>, param: string, report: Report): string | undefined {
  const { type } = value;
  if (type === undefined) report.fault(`${param}.type`, 'missing_field', 'Every block needs a type.');
  else if (typeof type !== 'string' || type === '' || type.length > 64) {
    report.fault(`${param}.type`, 'invalid_value', 'type must be a string of 1 to 64 characters.');
  } else return ALIASES[type] ?? type;
  return undefined;
}

function idOf(value: Record<string, unknown>, param: string, report: Report): { id?: string } {
  const { id } = value;
  if (id === undefined || id === null) return {};
  if (typeof id === 'string' && /^[\w-]{1,64}$/.test(id)) return { id };
  report.fault(`${param}.id`, 'invalid_value', 'id must be 1 to 64 letters, digits, _ and -.');
  return {};
}

function readBlock(value: unknown, param: string, depth: number, report: Report): DocNode | undefined {
  if (!isObject(value)) {
    report.fault(param, 'invalid_type', 'A block must be an object.');
    return undefined;
  }
  const type = typeOf(value, param, report);
  if (type === undefined) return undefined;
  if (depth >= MAX_DEPTH) return readTooDeep(value, report);
  const spec = BLOCKS[type];
  if (spec === undefined) {
    if (!INLINE.has(type)) return readUnknown(type, value, param, depth, report);
    report.fault(
      `${param}.type`,
      'invalid_value',
      `${type} is inline and must be within text, such as in a paragraph.`,
    );
    return undefined;
  }
  const node: DocNode = { ...idOf(value, param, report), type };
  const attrs = readAttributes(type, type === 'math' ? texOf(value) : value.attrs, `${param}.attrs`, report);
  if (attrs !== undefined) node.attrs = attrs;
  const content = readContent(type, spec.holds, value.content, `${param}.content`, depth, report);
  if (content !== undefined) node.content = type === 'task_list' ? content.map(withBox) : content;
  if (type === 'heading' && attrs?.level === undefined) node.attrs = { level: 1, ...attrs };
  return node;
}

/** Marks a task without `checked` as unchecked. */
const withBox = (item: DocNode): DocNode =>
  typeof item.attrs?.checked === 'boolean' ? item : { ...item, attrs: { ...item.attrs, checked: false } };

/** Accepts a formula whose TeX is in its content, as some editors write it. */
function texOf({ attrs, content }: Record<string, unknown>): unknown {
  const [first] = Array.isArray(content) ? content : [];
  if (!isObject(first) || typeof first.text !== 'string' || (isObject(attrs) && attrs.tex !== undefined)) return attrs;
  return { ...(isObject(attrs) ? attrs : {}), tex: first.text };
}

function readContent(
  type: string,
  holds: Holds,
  value: unknown,
  param: string,
  depth: number,
  report: Report,
): DocNode[] | undefined {
  switch (holds) {
    case 'none':
      return undefined;
    case 'text':
      return readTexts(readArray(value, param, report), param, report);
    case 'inline':
      return readInlineContent(value, param, report);
    case 'blocks':
      return type === 'table_cell'
        ? readCell(value, param, depth, report)
        : readBlocks(value, param, depth + 1, report);
    default:
      return readParts(PARTS[holds] ?? '', value, param, depth, report);
  }
}

const readInlineContent = (value: unknown, param: string, report: Report): DocNode[] =>
  readArray(value, param, report)
    .map((entry, index) => readInlineNode(entry, `${param}[${index}]`, report))
    .filter((node) => node !== undefined);

function readParts(part: string, value: unknown, param: string, depth: number, report: Report): DocNode[] {
  const entries = readArray(value, param, report);
  entries.forEach((entry, index) => {
    const type = isObject(entry) ? entry.type : undefined;
    if (typeof type !== 'string' || (ALIASES[type] ?? type) === part) return;
    report.fault(`${param}[${index}].type`, 'invalid_value', `Only ${part} is allowed here.`);
  });
  return readBlocks(entries, param, depth + 1, report);
}

/** Reads a table cell, which holds inline nodes or blocks; a single plain paragraph is replaced by its inline nodes. */
function readCell(value: unknown, param: string, depth: number, report: Report): DocNode[] {
  const entries = readArray(value, param, report);
  const type = (entry: unknown) => (isObject(entry) && typeof entry.type === 'string' ? entry.type : '');
  if (entries.every((entry) => INLINE.has(type(entry)))) return readInlineContent(entries, param, report);
  const blocks = readBlocks(entries, param, depth + 1, report);
  const [only] = blocks;
  return blocks.length === 1 && only?.type === 'paragraph' && only.attrs === undefined ? (only.content ?? []) : blocks;
}

/**
 * Reads a block of unknown type. Its content is read if it consists of valid blocks, and is otherwise kept as it is.
 */
function readUnknown(
  type: string,
  value: Record<string, unknown>,
  param: string,
  depth: number,
  report: Report,
): DocNode {
  report.warn('unknown_block_type', `The block type "${type}" is unknown; it is kept as it is.`);
  const { id: _id, type: _type, attrs, content, ...extra } = value;
  const node: DocNode = { ...idOf(value, param, report), type };
  if (isObject(attrs)) node.attrs = attrs as Attrs;
  else if (attrs !== undefined) Object.assign(extra, { attrs });
  if (Array.isArray(content)) {
    const trial = createReport();
    const blocks = readBlocks(content, `${param}.content`, depth + 1, trial);
    if (trial.faults.length > 0) Object.assign(extra, { content });
    else {
      node.content = blocks;
      for (const { code, message } of trial.warnings()) report.warn(code, message);
    }
  } else if (content !== undefined) Object.assign(extra, { content });
  if (Object.keys(extra).length > 0) node.extra = extra as Attrs;
  return node;
}

/** Replaces a block that is nested too deep by a paragraph with its text. The caller still stores the original JSON. */
function readTooDeep(value: Record<string, unknown>, report: Report): DocNode {
  report.warn('nested_too_deep', `Blocks nested more than ${MAX_DEPTH} levels deep are shown as text.`);
  const words: string[] = [];
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (Array.isArray(next)) for (let index = next.length - 1; index >= 0; index -= 1) open.push(next[index]);
    else if (isObject(next)) {
      if (typeof next.text === 'string') words.push(next.text);
      open.push(next.content);
    }
  }
  return { type: 'paragraph', content: words.length === 0 ? [] : [{ type: 'text', text: words.join(' ') }] };
}

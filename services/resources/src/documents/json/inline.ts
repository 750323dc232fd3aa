import { dictionary } from '@commonplace/kit/dictionary';
import { isObject } from '@commonplace/kit/json';
import { sortMarks } from '../model/inline.js';
import { type Attrs, BLOCKS, type DocNode, INLINE, MARKS, type Mark } from '../model/model.js';
import { readAttributes } from './attributes.js';
import type { Report } from './faults.js';

const KNOWN_MARKS = new Set<string>(MARKS);
const ALIASES: Readonly<Record<string, string>> = dictionary({
  strong: 'bold',
  em: 'italic',
  strikethrough: 'strike',
  subscript: 'sub',
  superscript: 'sup',
});

function readMark(value: unknown, param: string, report: Report): Mark | undefined {
  if (!isObject(value) || typeof value.type !== 'string' || value.type === '') {
    report.fault(param, 'invalid_type', 'A mark must be an object with a type.');
    return undefined;
  }
  const type = ALIASES[value.type] ?? value.type;
  if (!KNOWN_MARKS.has(type))
    report.warn('unknown_mark_type', `The mark type "${type}" is unknown; it is kept as it is.`);
  const attrs = readAttributes(type, value.attrs, `${param}.attrs`, report);
  return attrs === undefined ? { type } : { type, attrs };
}

function readMarks(value: unknown, param: string, report: Report): readonly Mark[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) {
    report.fault(param, 'invalid_type', 'marks must be an array.');
    return [];
  }
  const marks = value.map((entry, index) => readMark(entry, `${param}[${index}]`, report));
  return sortMarks(marks.filter((mark) => mark !== undefined));
}

/** Accepts a mention in the form of other editors, which name the user's attributes `id` and `label`. */
function mentionAttrs(attrs: unknown): unknown {
  if (!isObject(attrs) || attrs.user_id !== undefined || typeof attrs.id !== 'string') return attrs;
  const { id, label, ...others } = attrs;
  return { ...others, user_id: id, name: others.name ?? label };
}

/** Validates and reads one inline node. */
export function readInlineNode(value: unknown, param: string, report: Report): DocNode | undefined {
  if (!isObject(value)) {
    report.fault(param, 'invalid_type', 'An inline node must be an object.');
    return undefined;
  }
  const { type } = value;
  if (typeof type !== 'string' || type === '' || type.length > 64) {
    const code = type === undefined ? 'missing_field' : 'invalid_value';
    report.fault(`${param}.type`, code, 'type must be a string of 1 to 64 characters.');
    return undefined;
  }
  const marks = readMarks(value.marks, `${param}.marks`, report);
  const marked = marks.length === 0 ? {} : { marks };
  if (type === 'text') {
    if (typeof value.text === 'string') return { type, text: value.text, ...marked };
    report.fault(`${param}.text`, 'invalid_type', 'text must be a string.');
    return undefined;
  }
  if (!INLINE.has(type)) return readUnknown(type, value, marked, param, report);
  const attrs = readAttributes(
    type,
    type === 'mention' ? mentionAttrs(value.attrs) : value.attrs,
    `${param}.attrs`,
    report,
  );
  return attrs === undefined ? { type, ...marked } : { type, attrs, ...marked };
}

function readUnknown(
  type: string,
  value: Record<string, unknown>,
  marked: { marks?: readonly Mark[] },
  param: string,
  report: Report,
): DocNode | undefined {
  if (BLOCKS[type] !== undefined) {
    report.fault(`${param}.type`, 'invalid_value', `${type} is a block and not allowed within text.`);
    return undefined;
  }
  report.warn('unknown_inline_type', `The type "${type}" is unknown in text; it is kept as it is.`);
  const { type: _type, attrs, marks: _marks, ...extra } = value;
  const node: DocNode = isObject(attrs) ? { type, attrs: attrs as Attrs, ...marked } : { type, ...marked };
  return Object.keys(extra).length > 0 ? { ...node, extra: extra as Attrs } : node;
}

/** Reads the content of a code block as one text node without marks. */
export function readTexts(values: readonly unknown[], param: string, report: Report): DocNode[] {
  const texts = values.map((value, index) => {
    if (isObject(value) && value.type === 'text' && typeof value.text === 'string') return value.text;
    report.fault(`${param}[${index}]`, 'invalid_value', 'A code block may contain only text.');
    return '';
  });
  const text = texts.join('');
  return text === '' ? [] : [{ type: 'text', text }];
}

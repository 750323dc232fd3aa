import { AppError, invalidField, invalidFields } from '@commonplace/kit/errors';
import { ContentMode } from '@commonplace/proto/resources/v1/content_service.js';
import type { Settings } from '../../config.js';
import { modeOf } from '../../content/input.js';
import type { ContentInput, Warning } from '../../content/kind.js';
import { DocumentTooNested, EditNotApplicable } from '../../errors.js';
import { sanitise } from '../html/sanitise.js';
import {
  appendMarkdown,
  applyEdits,
  countBlocks,
  type Doc,
  MAX_BLOCKS,
  parseHtml,
  parseMarkdown,
  parseText,
  prependMarkdown,
  readDoc,
  toHtml,
  toJson,
  toMarkdown,
} from '../index.js';
import { MAX_OPEN_ELEMENTS } from '../model/model.js';
import { type Body, docOf, formatFrom, textIn } from './document-body.js';
import type { DocumentFormat } from './records.js';

export interface ReadInput {
  readonly body: Body;
  readonly warnings: readonly Warning[];
}

export type Limits = Pick<Settings, 'documentBytes' | 'documentJsonBytes'>;

/** Returns the body that a write in any mode results in. Throws if the body exceeds the limits. */
export function bodyAfter(before: Body, input: ContentInput, limits: Limits): ReadInput {
  switch (modeOf(input)) {
    case ContentMode.EDIT:
      return checked(edited(before, input, limits), limits, 'edits');
    case ContentMode.APPEND:
    case ContentMode.PREPEND:
      return joined(before, input, limits);
    default:
      return bodyFrom(input, limits);
  }
}

interface InputText {
  readonly param: string;
  readonly format: DocumentFormat;
  readonly text: string;
}

/** Returns the body that a write or a creation brings. */
export function bodyFrom(input: ContentInput, limits: Limits): ReadInput {
  const { param, format, text } = inputTextOf(input);
  return checked({ format, text }, limits, param);
}

/**
 * Returns a write's text and the field that it came in; a string in `content` is Markdown unless `format` says
 * otherwise.
 */
function inputTextOf({ content, markdown, html, document, format }: ContentInput): InputText {
  const asked = formatFrom(format);
  if (markdown !== undefined) return named({ param: 'markdown', format: 'markdown', text: markdown }, asked);
  if (html !== undefined) return named({ param: 'html', format: 'html', text: html }, asked);
  if (document.length > 0) return named({ param: 'document', format: 'json', text: document.toString() }, asked);
  const json = content.toString();
  if (json.trimStart().startsWith('{')) return named({ param: 'content', format: 'json', text: json }, asked);
  if (asked === 'json') throw invalidField('content', 'invalid_type', 'content must be an object for format "json".');
  return { param: 'content', format: asked ?? 'markdown', text: JSON.parse(json) as string };
}

/** Refuses a `format` that contradicts the field that the text came in. */
function named(input: InputText, asked: DocumentFormat | undefined): InputText {
  if (asked === undefined || asked === input.format) return input;
  throw invalidField('format', 'invalid_value', `must not be ${asked}: ${input.param} is ${input.format}.`);
}

/**
 * Matches what opens containers at the start of a line of Markdown: quotes, items of lists, definitions of footnotes.
 * They can follow one another on one line.
 */
const OPENERS = /^(?:[ \t]*(?:>|[-*+](?![^ \t\r\n])|\d{1,9}[.)](?![^ \t\r\n])|\[\^[^\]\r\n]+\]:))+/gm;
const LINE_BREAKS = /\r\n?|\n/g;
/** Matches Markdown whose HTML may have parts removed by the sanitiser. */
const SUSPECT = /<[a-z!/?]|script:|data:|file:/i;

/** Checks a body against the limits. Returns it with warnings about what its derived forms leave out. */
function checked(body: Body, limits: Limits, param: string): ReadInput {
  const { format, text } = body;
  const [limit, setting] =
    format === 'json'
      ? [limits.documentJsonBytes, 'COMMONPLACE_DOCUMENT_JSON_BYTES']
      : [limits.documentBytes, 'COMMONPLACE_DOCUMENT_BYTES'];
  const bytes = Buffer.byteLength(text);
  if (bytes > limit) throw tooLarge(`A document may have at most ${limit} bytes.`, param, { limit, bytes, setting });
  const needsLook = format === 'json' || format === 'html' || SUSPECT.test(text) || mayHoldTooMany(text);
  if (!needsLook) return { body, warnings: [] };
  const { doc, warnings } = parse(body, param);
  const blocks = countBlocks(doc);
  if (blocks > MAX_BLOCKS) {
    throw tooLarge(`A document may have at most ${MAX_BLOCKS} blocks.`, param, { limit: MAX_BLOCKS, blocks });
  }
  // Parsing HTML drops what is not shown, so the warnings are taken from the source text instead.
  const left = format === 'html' ? sanitise(text) : toHtml(doc);
  if (left.isTooNested === true) throw DocumentTooNested({ limit: MAX_OPEN_ELEMENTS }, { param });
  return { body, warnings: [...warnings, ...left.warnings] };
}

const MAX_STORED_BYTES = 64 * 1024;

/**
 * Returns whether a text can be stored without being parsed: plain Markdown of moderate size that replaces a document
 * in Markdown. Such a write costs next to nothing.
 */
export function needsNoReading(input: ContentInput, before: DocumentFormat = 'markdown'): boolean {
  const { html, document, edits, format, content } = input;
  if (before !== 'markdown' || html !== undefined || document.length > 0 || edits.length > 0) return false;
  if ((formatFrom(format) ?? 'markdown') !== 'markdown' || modeOf(input) !== ContentMode.REPLACE) return false;
  if (content.length > MAX_STORED_BYTES) return false;
  const text = input.markdown ?? content.toString();
  // JSON may escape `<` as `\u003c`.
  if (text.length > MAX_STORED_BYTES || SUSPECT.test(text) || text.includes('\\u')) return false;
  if (text.length < MAX_BLOCKS) return true;
  return !mayHoldTooMany(input.markdown ?? String(JSON.parse(text)));
}

/**
 * Returns whether a text may have more blocks than a document is allowed, by an upper bound: each line is a block, and
 * each character that opens a container opens two at most, a list and its item. Such a text is parsed, to count them.
 */
function mayHoldTooMany(text: string): boolean {
  // A block takes a character at least.
  if (text.length < MAX_BLOCKS) return false;
  let blocks = text.match(LINE_BREAKS)?.length ?? 0;
  for (const [openers] of text.matchAll(OPENERS)) {
    blocks += 2 * openers.replaceAll(/[ \t]/g, '').length;
    if (blocks > MAX_BLOCKS) return true;
  }
  return blocks >= MAX_BLOCKS;
}

function parse({ format, text }: Body, param: string): { doc: Doc; warnings: readonly Warning[] } {
  if (format === 'markdown') return { doc: parseMarkdown(text), warnings: [] };
  if (format === 'html') return { doc: parseHtml(text), warnings: [] };
  if (format === 'text') return { doc: parseText(text), warnings: [] };
  const { doc, faults, warnings } = readDoc(JSON.parse(text), param);
  if (faults.length > 0) throw invalidFields(faults);
  return { doc, warnings };
}

function tooLarge(message: string, param: string, details: Record<string, unknown>): AppError {
  return new AppError('INVALID_ARGUMENT', 'payload_too_large', message, { param, details });
}

/** Applies the edits to the text, all or none. They apply to the Markdown unless `format` says otherwise. */
function edited(before: Body, { edits, format }: ContentInput, { documentBytes: limit }: Limits): Body {
  const asked = formatFrom(format) ?? 'markdown';
  if (asked === 'json') throw invalidField('format', 'invalid_value', 'must be markdown, html or text for edits.');
  const requested = edits.map((edit) => ({
    old_text: edit.oldText,
    new_text: edit.newText,
    replace_all: edit.replaceAll,
  }));
  const outcome = applyEdits(textIn(before, asked), requested, limit);
  if (outcome === 'too_long') {
    const details = { limit, setting: 'COMMONPLACE_DOCUMENT_BYTES' };
    throw tooLarge(`A document may have at most ${limit} bytes.`, 'edits', details);
  }
  if ('faults' in outcome) throw EditNotApplicable({}, { faults: [...outcome.faults] });
  return { format: asked, text: outcome.text };
}

/** Appends or prepends a write's content to the document. */
function joined(before: Body, input: ContentInput, limits: Limits): ReadInput {
  const text = inputTextOf(input);
  const more = checked({ format: text.format, text: text.text }, limits, text.param);
  const atEnd = modeOf(input) === ContentMode.APPEND;
  const { body } = checked(join(before, more.body, atEnd), limits, text.param);
  return { body, warnings: more.warnings };
}

/**
 * Joins two bodies. A JSON document stays JSON; otherwise the result has the format that both share, or becomes
 * Markdown.
 */
function join(before: Body, more: Body, atEnd: boolean): Body {
  if (before.format === 'json') {
    const [doc, added] = [docOf(before), docOf(more)];
    const content = atEnd ? [...doc.content, ...added.content] : [...added.content, ...doc.content];
    return { format: 'json', text: JSON.stringify(toJson({ type: 'doc', content })) };
  }
  if (before.format === more.format && before.format !== 'markdown') {
    const [first, second] = atEnd ? [before.text, more.text] : [more.text, before.text];
    return { format: before.format, text: first === '' || second === '' ? first + second : `${first}\n${second}` };
  }
  const text = textIn(before, 'markdown');
  const added = more.format === 'markdown' ? more.text : toMarkdown(docOf(more));
  return { format: 'markdown', text: atEnd ? appendMarkdown(text, added) : prependMarkdown(text, added) };
}

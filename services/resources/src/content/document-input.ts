import { AppError, invalidField, invalidFields } from '@commonplace/kit/errors';
import { ContentMode } from '@commonplace/proto/resources/v1/content_service.js';
import type { Settings } from '../config.js';
import { sanitise } from '../documents/html/sanitise.js';
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
} from '../documents/index.js';
import { EditNotApplicable } from '../errors.js';
import type { DocumentFormat } from '../stores/contents.js';
import { type Body, docOf, formatFrom, textIn } from './document-body.js';
import { modeOf } from './input.js';
import type { ContentInput, Warning } from './kind.js';

export interface ReadInput {
  readonly body: Body;
  readonly warnings: readonly Warning[];
}

export type Limits = Pick<Settings, 'documentBytes' | 'documentJsonBytes'>;

/** What a write makes of a document, in any of its modes, within the limits. */
export function bodyAfter(before: Body, input: ContentInput, limits: Limits): ReadInput {
  switch (modeOf(input)) {
    case ContentMode.EDIT:
      return checked(edited(before, input), limits, 'edits');
    case ContentMode.APPEND:
    case ContentMode.PREPEND:
      return joined(before, input, limits);
    default:
      return bodyFrom(input, limits);
  }
}

interface Given {
  readonly param: string;
  readonly format: DocumentFormat;
  readonly text: string;
}

/** The body that a write or a creation brings. */
export function bodyFrom(input: ContentInput, limits: Limits): ReadInput {
  const { param, format, text } = givenIn(input);
  return checked({ format, text }, limits, param);
}

/** A write's text under one of its names; a string is Markdown unless `format` says otherwise. */
function givenIn({ content, markdown, html, document, format }: ContentInput): Given {
  const asked = formatFrom(format);
  if (markdown !== undefined) return named({ param: 'markdown', format: 'markdown', text: markdown }, asked);
  if (html !== undefined) return named({ param: 'html', format: 'html', text: html }, asked);
  if (document.length > 0) return named({ param: 'document', format: 'json', text: document.toString() }, asked);
  const json = content.toString();
  if (json.trimStart().startsWith('{')) return named({ param: 'content', format: 'json', text: json }, asked);
  if (asked === 'json') throw invalidField('content', 'invalid_type', 'content must be an object for format "json".');
  return { param: 'content', format: asked ?? 'markdown', text: JSON.parse(json) as string };
}

/** Refuses a format beside what says its own. */
function named(given: Given, asked: DocumentFormat | undefined): Given {
  if (asked === undefined || asked === given.format) return given;
  throw invalidField('format', 'invalid_value', `${given.param} is ${given.format}, not ${asked}.`);
}

/** Text that may hold more blocks than a document has is looked at; below there is no need to. */
const COUNTED_LINES = MAX_BLOCKS / 2;
/** What the HTML of a Markdown text may have to leave out. */
const SUSPECT = /<[a-z!/?]|script:|data:|file:/i;

/** A body within the limits, with what its derived forms leave out. */
function checked(body: Body, limits: Limits, param: string): ReadInput {
  const { format, text } = body;
  const [limit, setting] =
    format === 'json'
      ? [limits.documentJsonBytes, 'COMMONPLACE_DOCUMENT_JSON_BYTES']
      : [limits.documentBytes, 'COMMONPLACE_DOCUMENT_BYTES'];
  const bytes = Buffer.byteLength(text);
  if (bytes > limit) throw tooLarge(`A document has ${limit} bytes at the most.`, param, { limit, bytes, setting });
  const needsLook = format === 'json' || format === 'html' || SUSPECT.test(text) || hasManyLines(text);
  if (!needsLook) return { body, warnings: [] };
  const { doc, warnings } = look(body, param);
  const blocks = countBlocks(doc);
  if (blocks > MAX_BLOCKS) {
    throw tooLarge(`A document has ${MAX_BLOCKS} blocks at the most.`, param, { limit: MAX_BLOCKS, blocks });
  }
  // Reading HTML leaves out what is not shown: the text itself tells of it.
  const left = format === 'html' ? sanitise(text) : toHtml(doc);
  return { body, warnings: [...warnings, ...left.warnings] };
}

function hasManyLines(text: string): boolean {
  let lines = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) if (++lines > COUNTED_LINES) return true;
  return false;
}

function look({ format, text }: Body, param: string): { doc: Doc; warnings: readonly Warning[] } {
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

/** The text with pieces of it changed, all or none; Markdown unless `format` says otherwise. */
function edited(before: Body, { edits, format }: ContentInput): Body {
  const asked = formatFrom(format) ?? 'markdown';
  if (asked === 'json') throw invalidField('format', 'invalid_value', 'edits are of text: markdown, html or text.');
  const asSaid = edits.map((edit) => ({
    old_text: edit.oldText,
    new_text: edit.newText,
    replace_all: edit.replaceAll,
  }));
  const outcome = applyEdits(textIn(before, asked), asSaid);
  if ('faults' in outcome) throw EditNotApplicable({}, { faults: outcome.faults });
  return { format: asked, text: outcome.text };
}

/** The document with more at its end or its beginning. */
function joined(before: Body, input: ContentInput, limits: Limits): ReadInput {
  const given = givenIn(input);
  const more = checked({ format: given.format, text: given.text }, limits, given.param);
  const atEnd = modeOf(input) === ContentMode.APPEND;
  const { body } = checked(join(before, more.body, atEnd), limits, given.param);
  return { body, warnings: more.warnings };
}

/** What is JSON stays so; else both are of one format, or become Markdown. */
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

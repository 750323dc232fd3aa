import { createHash } from 'node:crypto';
import { ContentFormat } from '@commonplace/proto/resources/v1/content_service.js';
import {
  applyBlockIds,
  blockIds,
  countWords as countDocWords,
  type Doc,
  parseHtml,
  parseMarkdown,
  parseText,
  readDoc,
  toHtml,
  toJson,
  toMarkdown,
  toText,
  withBlockIds,
  withoutPlaceholders,
  withPlaceholders,
} from '../documents/index.js';
import { UnsupportedFormat } from '../errors.js';
import type { DocumentFormat, StoredContent } from '../stores/contents.js';
import type { Payload } from './kind.js';
import { countWords } from './words.js';

/** What a document holds: the text as it was last written, and the ids of its blocks where anybody knows them. */
export type Body = Pick<StoredContent, 'format' | 'text' | 'blockIds'>;

export const EMPTY: Body = { format: 'markdown', text: '' };

/** The body alone, without the record that holds it. */
export function bare({ format, text, blockIds }: Body): Body {
  return { format, text, blockIds };
}

/** The blocks of a document, with the ids that they have or are given by what is in them. */
export function docOf(body: Body): Doc {
  const doc = parse(body);
  return body.blockIds === undefined ? withBlockIds(doc) : applyBlockIds(doc, body.blockIds.split(' '));
}

function parse({ format, text }: Pick<Body, 'format' | 'text'>): Doc {
  switch (format) {
    case 'markdown':
      return parseMarkdown(text);
    case 'html':
      return parseHtml(text);
    case 'text':
      return parseText(text);
    case 'json':
      return readDoc(JSON.parse(text)).doc;
  }
}

/** The ids of a document's blocks as they are stored. */
export function idsOf(doc: Doc): string {
  return blockIds(doc).join(' ');
}

/**
 * A body that follows another. Where anybody knows the ids of the one before, its blocks keep theirs
 * through the change; else they go on being derived when they are asked for.
 */
export function following(before: Body, after: Body): Body {
  const known = before.blockIds !== undefined || before.format === 'json';
  if (after.blockIds !== undefined || !known) return after;
  return { ...after, blockIds: idsOf(withBlockIds(parse(after), docOf(before))) };
}

/** Whether a body brings nothing new: it is what the one before reads as in its format. */
export function isSame(before: Body, after: Body): boolean {
  if (before.format === after.format) return before.text === after.text;
  const text = textIn(before, after.format);
  return after.format === 'json' ? text === JSON.stringify(toJson(parse(after))) : text === after.text;
}

/** Equal for equal bodies, whatever ids their blocks have. */
export function hashOf({ format, text }: Body): string {
  return createHash('sha256').update(format).update('\0').update(text).digest('hex');
}

/** The text of a document in a format: as it was written where it is that format's, else derived. */
export function textIn(body: Body, format: DocumentFormat): string {
  if (body.format === format) return body.text;
  return write(docOf(body), format);
}

function write(doc: Doc, format: DocumentFormat): string {
  switch (format) {
    case 'markdown':
      return toMarkdown(doc);
    case 'html':
      return toHtml(doc).html;
    case 'text':
      return toText(doc);
    case 'json':
      return JSON.stringify(toJson(doc));
  }
}

const MESSAGES: Record<DocumentFormat, ContentFormat> = {
  markdown: ContentFormat.MARKDOWN,
  json: ContentFormat.JSON,
  html: ContentFormat.HTML,
  text: ContentFormat.TEXT,
};

const BY_MESSAGE = new Map(Object.entries(MESSAGES).map(([name, format]) => [format, name as DocumentFormat]));

/** A format by the contract's name; undefined where none is named. Throws `unsupported_format` for a table's and the like. */
export function formatFrom(message: ContentFormat): DocumentFormat | undefined {
  const format = BY_MESSAGE.get(message);
  if (format === undefined && message !== ContentFormat.UNSPECIFIED) {
    throw UnsupportedFormat({ formats: Object.keys(MESSAGES).join(', ') });
  }
  return format;
}

/**
 * A document as it is answered in a format, with placeholders for what is `hidden` from its reader: the
 * ids of resources that it refers to.
 */
export function payloadOf(body: Body, format: DocumentFormat, hidden: readonly string[] = []): Payload {
  const shown = shownOf(body, format, hidden);
  const text = shown.text;
  return {
    format: MESSAGES[format],
    content: Buffer.from(format === 'json' ? text : JSON.stringify(text)),
    wordCount: shown.doc === undefined ? wordsOf(body) : countDocWords(shown.doc),
  };
}

interface Shown {
  readonly text: string;
  /** Where something of it is hidden: what the text was made of. */
  readonly doc?: Doc;
}

/** What a reader gets of a document: as it is, as long as nothing of it is hidden. */
function shownOf(body: Body, format: DocumentFormat, hidden: readonly string[]): Shown {
  if (hidden.length > 0) {
    const whole = docOf(body);
    const doc = withPlaceholders(whole, new Set(hidden));
    if (doc !== whole) return { text: write(doc, format), doc };
  }
  return { text: textIn(body, format) };
}

/** The text that a reader gets of a document in a format. */
export function shownText(body: Body, format: DocumentFormat, hidden: readonly string[]): string {
  return shownOf(body, format, hidden).text;
}

/** A body that its writer made of one with placeholders, with what these stand for. */
export function disclosed(before: Body, after: Body, hidden: readonly string[]): Body {
  if (shownText(before, after.format, hidden) === after.text) return before;
  const doc = parse(after);
  const whole = withoutPlaceholders(doc, docOf(before), new Set(hidden));
  return whole === doc ? after : { ...after, text: write(whole, after.format) };
}

/** Words, whatever the format asked for; of Markdown the text is counted as it is. */
function wordsOf(body: Body): number {
  return body.format === 'markdown' || body.format === 'text' ? countWords(body.text) : countDocWords(docOf(body));
}

import { createHash } from 'node:crypto';
import { type Breathe, createBreathe, jsonPiecesOf, piecesOf } from '@commonplace/kit/slices';
import { ContentFormat } from '@commonplace/proto/resources/v1/content_service.js';
import type { Payload } from '../../content/kind.js';
import { UnsupportedFormat } from '../../errors.js';
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
} from '../index.js';
import type { DocumentFormat, StoredContent } from './records.js';
import { countWords, countWordsInSlices } from './words.js';

/** A document's content: the text as it was last written, and the ids of its blocks if they have been assigned. */
export type Body = Pick<StoredContent, 'format' | 'text' | 'blockIds'>;

export const EMPTY: Body = { format: 'markdown', text: '' };

/** Picks the body alone out of the record that holds it. */
export function bare({ format, text, blockIds }: Body): Body {
  return { format, text, blockIds };
}

/**
 * Parses a document into blocks with their stored ids; without stored ids, each id is derived from the block's content.
 */
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

/** Serialises the ids of a document's blocks in the stored form, separated by spaces. */
export function idsOf(doc: Doc): string {
  return blockIds(doc).join(' ');
}

/**
 * Returns the body `after` with the block ids that it takes over from `before`. If `before` has known ids, blocks keep
 * them through the change; otherwise ids are still derived on demand.
 */
export function following(before: Body, after: Body): Body {
  const known = before.blockIds !== undefined || before.format === 'json';
  if (after.blockIds !== undefined || !known) return after;
  return { ...after, blockIds: idsOf(withBlockIds(parse(after), docOf(before))) };
}

/** Returns whether `after` changes nothing: it equals `before` converted to the format of `after`. */
export function isSame(before: Body, after: Body): boolean {
  if (before.format === after.format) return before.text === after.text;
  const text = textIn(before, after.format);
  return after.format === 'json' ? text === JSON.stringify(toJson(parse(after))) : text === after.text;
}

/** Returns a hash that is equal for equal bodies, whatever ids their blocks have. Yields to the event loop in between. */
export async function hashOf({ format, text }: Body, breathe: Breathe): Promise<string> {
  const hash = createHash('sha256').update(format).update('\0');
  for (const piece of piecesOf(text)) {
    hash.update(piece);
    await breathe();
  }
  return hash.digest('hex');
}

/** Returns a document's text in a format: as it was written if it was written in that format, otherwise derived. */
export function textIn(body: Body, format: DocumentFormat): string {
  if (body.format === format) return body.text;
  return write(docOf(body), format);
}

function write(doc: Doc, format: DocumentFormat): string {
  switch (format) {
    case 'markdown':
      return toMarkdown(doc);
    case 'html':
      return toHtml(doc, { restorable: true }).html;
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

/**
 * Maps the contract's format to a document format; undefined if unspecified. Throws `unsupported_format` for formats of
 * other content kinds, such as tables.
 */
export function formatFrom(message: ContentFormat): DocumentFormat | undefined {
  const format = BY_MESSAGE.get(message);
  if (format === undefined && message !== ContentFormat.UNSPECIFIED) {
    throw UnsupportedFormat({ formats: Object.keys(MESSAGES).join(', ') }, { param: 'format' });
  }
  return format;
}

/**
 * Returns a document as an API payload in a format. Placeholders replace the references to resources whose ids are in
 * `hidden`, because the reader may not know of them.
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

/** Returns the payload of a body in its own format, Markdown or text, and yields to the event loop in between. */
export async function sourcePayloadInSlices({ text }: Body, format: 'markdown' | 'text'): Promise<Payload> {
  const breathe = createBreathe();
  const content = await jsonInSlices(text, breathe);
  return { format: MESSAGES[format], content, wordCount: await countWordsInSlices(text, breathe) };
}

/** Returns a text as a JSON string in UTF-8, which is made piece by piece. */
async function jsonInSlices(text: string, breathe: Breathe): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for (const piece of jsonPiecesOf(text)) {
    pieces.push(Buffer.from(piece));
    await breathe();
  }
  return Buffer.concat(pieces);
}

interface ShownDocument {
  readonly text: string;
  /** The document that the text was written from; set only if something in it is hidden. */
  readonly doc?: Doc;
}

/** Returns what a reader may see of a document: the text as it is, unless some of it is hidden. */
function shownOf(body: Body, format: DocumentFormat, hidden: readonly string[]): ShownDocument {
  if (hidden.length > 0) {
    const whole = docOf(body);
    const doc = withPlaceholders(whole, new Set(hidden));
    if (doc !== whole) return { text: write(doc, format), doc };
  }
  return { text: textIn(body, format) };
}

/** Returns the text of a document in a format, as a reader may see it. */
export function shownText(body: Body, format: DocumentFormat, hidden: readonly string[]): string {
  return shownOf(body, format, hidden).text;
}

/** Restores the hidden references in a body whose writer saw placeholders in their place. */
export function disclosed(before: Body, after: Body, hidden: readonly string[]): Body {
  if (shownText(before, after.format, hidden) === after.text) return before;
  const doc = parse(after);
  const whole = withoutPlaceholders(doc, docOf(before), new Set(hidden));
  return whole === doc ? after : { ...after, text: write(whole, after.format) };
}

/**
 * Counts the words of a body, independently of the requested format. In Markdown, the source text is counted as it is.
 */
function wordsOf(body: Body): number {
  return body.format === 'markdown' || body.format === 'text' ? countWords(body.text) : countDocWords(docOf(body));
}

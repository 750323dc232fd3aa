import { createHash } from 'node:crypto';
import { AppError } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import type { Collection } from '@commonplace/kit/store';
import { ContentFormat, ContentMode } from '@commonplace/proto/resources/v1/content_service.js';
import type { Settings } from '../config.js';
import { EditNotApplicable, UnsupportedFormat } from '../errors.js';
import type { StoredContent } from '../stores/contents.js';
import type { Keeper } from '../stores/kept.js';
import type { Node } from '../stores/nodes.js';
import { appendMarkdown, applyEdits, prependMarkdown } from './edits.js';
import { modeOf } from './input.js';
import type { ContentInput, ContentKind, ContentQuery, Holder, Payload, PreparedWrite } from './kind.js';
import { countWords } from './words.js';

export interface DocumentParts {
  readonly contents: Collection<StoredContent>;
  readonly keeper: Keeper;
  readonly settings: Pick<Settings, 'documentBytes' | 'documentJsonBytes'>;
}

/** What a document holds, in the format in which it was written. */
type Body = Pick<StoredContent, 'format' | 'text'>;

const EMPTY: Body = { format: 'markdown', text: '' };

/** Documents: the text as it was last written is the truth, byte for byte. */
export function createDocumentKind(parts: DocumentParts): ContentKind {
  const { contents, keeper, settings } = parts;

  async function bodyOf(node: Pick<Node, 'id'>, { work }: Pick<CallContext, 'work'>): Promise<Body> {
    return (await work.get(contents, node.id)) ?? EMPTY;
  }

  async function kept(snapshotId: string, { work }: CallContext): Promise<Body> {
    const body = await keeper.read(snapshotId, work);
    if (body === undefined) throw new Error(`nothing is kept for snapshot ${snapshotId}`);
    return body as Body;
  }

  /** A write that leaves this body behind. */
  async function replacing(node: Node, body: Body, context: CallContext): Promise<PreparedWrite> {
    const before = await context.work.get(contents, node.id);
    const { format, text } = before ?? EMPTY;
    return {
      changed: format !== body.format || text !== body.text,
      sizeBytes: Buffer.byteLength(body.text),
      warnings: [],
      loses: false,
      apply() {
        const record = recordOf(node, body);
        if (before === undefined) context.work.insert(contents, record);
        else context.work.replace(contents, before, record);
      },
      answer: async (query) => payloadOf(body, query),
    };
  }

  return {
    create(holder, input, context) {
      const body = bodyFrom(input, settings);
      return {
        changed: true,
        sizeBytes: Buffer.byteLength(body.text),
        warnings: [],
        loses: false,
        apply: () => {
          context.work.insert(contents, recordOf(holder, body));
        },
      };
    },
    read: async (node, query, context) => payloadOf(await bodyOf(node, context), query),
    async write(node, input, context) {
      return replacing(node, bodyAfter(await bodyOf(node, context), input, settings), context);
    },
    async keep(node, snapshotId, context) {
      const { format, text } = await bodyOf(node, context);
      const kept = { sizeBytes: Buffer.byteLength(text), hash: hashOf(format, text) };
      await keeper.keep(node, snapshotId, { format, text }, kept, context.work);
      return kept;
    },
    readKept: async (_node, snapshotId, query, context) => payloadOf(await kept(snapshotId, context), query),
    restore: async (node, snapshotId, context) => replacing(node, await kept(snapshotId, context), context),
    forget: (_node, snapshotId, { work }) => keeper.forget(snapshotId, work),
    async copy(from, to, context) {
      const body = await bodyOf(from, context);
      return {
        changed: body.text !== '',
        sizeBytes: Buffer.byteLength(body.text),
        warnings: [],
        loses: false,
        apply() {
          if (body.text !== '') context.work.insert(contents, recordOf(to, body));
        },
      };
    },
    async remove(node, { work }) {
      const record = await work.get(contents, node.id);
      if (record !== undefined) work.remove(contents, record);
    },
    text: async (node) => (await contents.get(node.id))?.text ?? '',
    async texts(nodes) {
      const found = await contents.getMany(nodes.map(({ id }) => id));
      return new Map(found.map(({ id, text }) => [id, text]));
    },
  };
}

function recordOf(
  { id, tenant }: Pick<Holder, 'id' | 'tenant'>,
  { format, text }: Body,
): Omit<StoredContent, 'version'> {
  return { id, tenant, format, text };
}

function hashOf(format: string, text: string): string {
  return createHash('sha256').update(format).update('\0').update(text).digest('hex');
}

/** What a write makes of a document, in any of its modes. */
function bodyAfter(before: Body, input: ContentInput, settings: DocumentParts['settings']): Body {
  const mode = modeOf(input);
  if (mode === ContentMode.EDIT) {
    requireFormat(input.format);
    const outcome = applyEdits(before.text, input.edits);
    if ('faults' in outcome) throw EditNotApplicable({}, { faults: outcome.faults });
    return within(outcome.text, settings);
  }
  const body = bodyFrom(input, settings);
  if (mode === ContentMode.APPEND) return within(appendMarkdown(before.text, body.text), settings);
  if (mode === ContentMode.PREPEND) return within(prependMarkdown(before.text, body.text), settings);
  return body;
}

/** The body that a write brings. */
function bodyFrom(input: ContentInput, settings: DocumentParts['settings']): Body {
  requireFormat(input.format);
  return within(input.markdown ?? textIn(input), settings);
}

/** Refuses a text that is too large. */
function within(text: string, settings: DocumentParts['settings']): Body {
  const bytes = Buffer.byteLength(text);
  if (bytes > settings.documentBytes) throw tooLarge(bytes, settings.documentBytes, 'COMMONPLACE_DOCUMENT_BYTES');
  return { format: 'markdown', text };
}

function textIn({ content }: ContentInput): string {
  if (content.length === 0) throw UnsupportedFormat({ formats: 'markdown' });
  const value: unknown = JSON.parse(content.toString());
  if (typeof value !== 'string') throw UnsupportedFormat({ formats: 'markdown' });
  return value;
}

function requireFormat(format: ContentFormat): void {
  if (format !== ContentFormat.UNSPECIFIED && format !== ContentFormat.MARKDOWN) {
    throw UnsupportedFormat({ formats: 'markdown' });
  }
}

function tooLarge(bytes: number, limit: number, setting: string): AppError {
  const message = `A document has ${limit} bytes at the most.`;
  return new AppError('INVALID_ARGUMENT', 'payload_too_large', message, {
    param: 'content',
    details: { limit, bytes, setting },
  });
}

function payloadOf({ text }: Body, { format }: Pick<ContentQuery, 'format'>): Payload {
  requireFormat(format);
  return {
    format: ContentFormat.MARKDOWN,
    content: Buffer.from(JSON.stringify(text)),
    wordCount: countWords(text),
  };
}

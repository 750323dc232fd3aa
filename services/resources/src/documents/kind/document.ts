import type { CallContext } from '@commonplace/kit/rpc';
import { createBreathe } from '@commonplace/kit/slices';
import type { Collection, UnitOfWork } from '@commonplace/kit/store';
import type { Keeper } from '../../content/kept.js';
import type { ContentInput, ContentKind, Holder, Part, Payload, PreparedWrite, Renaming } from '../../content/kind.js';
import { NO_WRITE } from '../../content/kind.js';
import type { Node } from '../../domain/node.js';
import type { AccessSubject } from '../../policy.js';
import { type Doc, namedResources, type PublicLinks, type PublishedHtml } from '../index.js';
import type { Outcome } from './derivation.js';
import { createDerivedForms } from './derived.js';
import type { Deriver, Requester } from './deriver.js';
import { type Body, bare, EMPTY, formatFrom, hashOf } from './document-body.js';
import { type Limits, needsNoReading, type ReadInput } from './document-input.js';
import type { Hidden } from './hidden.js';
import { createLocated } from './located.js';
import type { DocumentFormat, StoredContent } from './records.js';
import { renamesIn } from './redirect.js';

interface DocumentParts {
  readonly contents: Collection<StoredContent>;
  readonly keeper: Keeper;
  readonly settings: Limits;
  readonly hidden: Hidden;
  readonly deriver: Deriver;
}

export interface DocumentKind extends ContentKind {
  /** Returns the blocks of a document to a caller that will refer to one, and stores their ids from then on. */
  blocks(node: Pick<Node, 'id'>, context: Pick<CallContext, 'work'>): Promise<Doc>;
  /** Returns the body as the given caller may read it, in the format that it was written in. */
  shownBody(node: Pick<Node, 'id'>, subject: AccessSubject): Promise<Body>;
  /** Converts a body's text to another format. */
  textIn(tenant: string, body: Body, format: DocumentFormat): Promise<string> | string;
  /** Returns the body with references to renamed resources changed to the new ids. */
  redirected(tenant: string, body: Body, renamed: Renaming): Promise<Body>;
  /** Stores block ids from elsewhere for a new document, provided there are as many ids as blocks. */
  takeIds(node: Pick<Node, 'id'>, ids: readonly string[], context: Pick<CallContext, 'work'>): Promise<void>;
  /**
   * Returns the document as readers of a publication see it: its current state, or the one stored under `keptId`.
   * References become links only if `linksOf` returns an address. Returns HTML or Markdown, as `format` asks for.
   */
  published(
    of: { readonly node: Pick<Node, 'id' | 'tenant'>; readonly keptId?: string },
    linksOf: (ids: readonly string[]) => PublicLinks,
    format: 'html' | 'markdown',
    context: CallContext,
  ): Promise<Partial<PublishedHtml> & { readonly markdown?: string }>;
  /** Returns the document's Markdown as the given caller may read it. */
  shownText(node: Pick<Node, 'id'>, subject: AccessSubject): Promise<string>;
}

/**
 * Creates the content kind of documents. The text as it was last written is authoritative, byte for byte; other formats
 * are derived from it.
 */
export function createDocumentKind({ contents, keeper, settings, hidden, deriver }: DocumentParts): DocumentKind {
  const derived = createDerivedForms(deriver);
  const located = createLocated(deriver);
  const limits: Limits = { documentBytes: settings.documentBytes, documentJsonBytes: settings.documentJsonBytes };

  async function kept(snapshotId: string, { work }: CallContext): Promise<Body> {
    const body = await keeper.read(snapshotId, work);
    if (body === undefined) throw new Error(`no content is stored for snapshot ${snapshotId}`);
    return bare(body as Body);
  }

  async function shown(tenant: string, body: Body, format: DocumentFormat, context: CallContext): Promise<Payload> {
    const breathe = createBreathe(context.signal);
    const unknown = await hidden.in(context, body.text);
    await breathe();
    return deriver.run(within({ tenant }, context), body.text.length, 'payload', bare(body), format, unknown);
  }

  /** Prepares a write that replaces the body. */
  function replacing(
    node: Node,
    before: StoredContent | undefined,
    { body, changed, warnings }: Outcome,
    asked: DocumentFormat,
    context: CallContext,
  ): PreparedWrite {
    const breathe = createBreathe(context.signal);
    return {
      changed,
      sizeBytes: Buffer.byteLength(body.text),
      warnings,
      loses: false,
      async apply() {
        await breathe();
        const record = recordOf(node, body);
        toReplace.delete(context.work);
        if (before === undefined) context.work.insert(contents, record);
        else context.work.replace(contents, before, record);
      },
      async answer({ format }) {
        await breathe();
        return shown(node.tenant, body, formatFrom(format) ?? asked, context);
      },
    };
  }

  /** Stores the block ids of a document, because ids that were returned to a caller must stay valid. */
  async function keepIds(
    record: StoredContent,
    work: CallContext['work'],
    requester: Requester,
  ): Promise<StoredContent> {
    if (record.blockIds !== undefined || record.format === 'json') return record;
    const blockIds = await deriver.run(requester, record.text.length, 'ids', bare(record));
    return work.replace(contents, record, { ...record, blockIds });
  }

  /** Reads a body to be kept; a write in the same unit has read it already. */
  const toReplace = new WeakMap<UnitOfWork, StoredContent>();
  async function current({ id }: Pick<Node, 'id'>, work: UnitOfWork): Promise<Body> {
    const read = toReplace.get(work);
    return (read?.id === id ? read : await work.get(contents, id)) ?? EMPTY;
  }

  return {
    create(holder, input, context) {
      const read = deriver.run(
        within(holder, context),
        needsNoReading(input) ? 0 : inputBytes(input),
        'create',
        input,
        limits,
      );
      const begin = ({ body, warnings }: ReadInput) => beginning(holder, body, warnings, context);
      return read instanceof Promise ? read.then(begin) : begin(read);
    },
    async read(node, query, context) {
      const format = formatFrom(query.format) ?? 'markdown';
      const known = context.work.dirty ? undefined : derived.known(node, format);
      if (known !== undefined) return known;
      const breathe = createBreathe(context.signal);
      const record = await context.work.get(contents, node.id);
      if (record === undefined) return deriver.run(node.tenant, 0, 'payload', EMPTY, format, []);
      await breathe();
      const withIds = format === 'json' ? await keepIds(record, context.work, within(record, context)) : record;
      // Uncommitted content must not be cached: it may be rolled back.
      if (context.work.dirty) return shown(node.tenant, withIds, format, context);
      const unknown = await hidden.in(context, withIds.text);
      await breathe();
      return derived.read(node, withIds, format, unknown, context.deadline);
    },
    async write(node, input, context) {
      const breathe = createBreathe(context.signal);
      const before = await context.work.get(contents, node.id);
      if (before !== undefined) toReplace.set(context.work, before);
      await breathe();
      const was = before === undefined ? EMPTY : bare(before);
      const unknown = await hidden.in(context, was.text);
      await breathe();
      const isStored = unknown.length === 0 && was.blockIds === undefined && needsNoReading(input, was.format);
      const bytes = isStored ? 0 : lengthAfter(was.text.length, input.edits) + inputBytes(input);
      const outcome = await deriver.run(within(node, context), bytes, 'write', was, input, limits, unknown);
      return replacing(node, before, outcome, outcome.format, context);
    },
    async keep(node, snapshotId, context) {
      const breathe = createBreathe(context.signal);
      const body = await current(node, context.work);
      await breathe();
      const kept = { sizeBytes: Buffer.byteLength(body.text), hash: await hashOf(body, breathe) };
      await keeper.keep(node, snapshotId, bare(body), kept, context.work);
      await breathe();
      return kept;
    },
    async keepInput(node, snapshotId, input, context) {
      const { body } = await deriver.run(within(node, context), inputBytes(input), 'create', input, limits);
      const hash = await hashOf(body, createBreathe(context.signal));
      const kept = { sizeBytes: Buffer.byteLength(body.text), hash };
      await keeper.keep(node, snapshotId, body, kept, context.work);
      return kept;
    },
    async readKept({ tenant }, snapshotId, { format }, context) {
      return shown(tenant, await kept(snapshotId, context), formatFrom(format) ?? 'markdown', context);
    },
    async restore(node, snapshotId, context) {
      const before = await context.work.get(contents, node.id);
      const was = before === undefined ? EMPTY : bare(before);
      const body = await kept(snapshotId, context);
      const outcome = await deriver.run(
        within(node, context),
        was.text.length + body.text.length,
        'replace',
        was,
        body,
      );
      return replacing(node, before, outcome, body.format, context);
    },
    forget: (_node, snapshotId, { work }) => keeper.forget(snapshotId, work),
    async copy(from, to, context, renamed = () => undefined) {
      const record = await context.work.get(contents, from.id);
      if (record === undefined) return NO_WRITE;
      const body = bare(record);
      const renames = renamesIn(body, renamed);
      const copied =
        renames.size === 0 ? body : await deriver.run(to.tenant, body.text.length, 'redirect', body, renames);
      return beginning(to, copied, [], context);
    },
    async remove(node, { work }) {
      const record = await work.get(contents, node.id);
      if (record !== undefined) work.remove(contents, record);
    },
    async blocks(node, context) {
      const record = await context.work.get(contents, node.id);
      if (record === undefined) return deriver.run('', 0, 'doc', EMPTY);
      const withIds = await keepIds(record, context.work, record.tenant);
      return deriver.run(record.tenant, withIds.text.length, 'doc', bare(withIds));
    },
    async shownBody(node, subject) {
      const record = await contents.get(node.id);
      const body = bare(record ?? EMPTY);
      const text = await deriver.run(
        record?.tenant ?? '',
        body.text.length,
        'text',
        body,
        body.format,
        await hidden.from(subject, body.text),
      );
      return text === body.text ? body : { format: body.format, text };
    },
    async published({ node, keptId }, linksOf, format, context) {
      const body = keptId === undefined ? bare((await contents.get(node.id)) ?? EMPTY) : await kept(keptId, context);
      const links = linksOf(namedResources(body.text));
      const { tenant } = node;
      const requester = within({ tenant }, context);
      if (format === 'html') return deriver.run(requester, body.text.length, 'publishedHtml', body, links);
      return { markdown: await deriver.run(requester, body.text.length, 'publishedMarkdown', body, links) };
    },
    async redirected(tenant, body, renamed) {
      const renames = renamesIn(body, renamed);
      return renames.size === 0 ? body : deriver.run(tenant, body.text.length, 'redirect', bare(body), renames);
    },
    textIn: (tenant, body, format) => deriver.run(tenant, body.text.length, 'text', bare(body), format, []),
    async takeIds(node, ids, { work }) {
      const record = await work.get(contents, node.id);
      if (record === undefined || record.format === 'json' || !ids.every((id) => BLOCK_ID.test(id))) return;
      const own = await deriver.run(record.tenant, record.text.length, 'ids', bare(record));
      const fits = own.split(' ').length === ids.length && new Set(ids).size === ids.length;
      if (fits) work.replace(contents, record, { ...record, blockIds: ids.join(' ') });
    },
    async shownText(node, subject) {
      const record = await contents.get(node.id);
      if (record === undefined) return '';
      const { tenant, text } = record;
      return deriver.run(tenant, text.length, 'text', bare(record), 'markdown', await hidden.from(subject, text));
    },
    text: async (node) => markdownOf(await contents.get(node.id)),
    async texts(nodes) {
      const found = await contents.getMany(nodes.map(({ id }) => id));
      const texts = new Map<string, string>();
      await createBreathe()();
      for (const record of found) texts.set(record.id, await markdownOf(record));
      return texts;
    },
    async locate(places) {
      const breathe = createBreathe();
      const found = new Map<string, (Part | undefined)[]>();
      for (const record of await contents.getMany([...places.keys()])) {
        found.set(record.id, await located(record, places.get(record.id) ?? []));
        await breathe();
      }
      return found;
    },
  };

  function markdownOf(record: StoredContent | undefined): Promise<string> | string {
    if (record === undefined || record.format === 'markdown') return record?.text ?? '';
    return deriver.run(record.tenant, record.text.length, 'text', bare(record), 'markdown', []);
  }

  /** Prepares the first content of a node. */
  function beginning(holder: Holder, body: Body, warnings: ReadInput['warnings'], context: CallContext): PreparedWrite {
    return {
      changed: true,
      sizeBytes: Buffer.byteLength(body.text),
      warnings,
      loses: false,
      apply: () => {
        context.work.insert(contents, recordOf(holder, body));
      },
    };
  }
}

/** Returns the requester of a parse that has to end before the call's deadline. */
function within({ tenant }: Pick<Holder, 'tenant'>, { deadline }: Pick<CallContext, 'deadline'>): Requester {
  return { tenant, deadline };
}

/** Matches a valid block id. */
const BLOCK_ID = /^[\w-]{1,64}$/;

function recordOf({ id, tenant }: Pick<Holder, 'id' | 'tenant'>, body: Body): Omit<StoredContent, 'version'> {
  return { id, tenant, format: body.format, text: body.text, blockIds: body.blockIds };
}

/** Returns the length that edits can give a text at most: those of all occurrences can make a short one very long. */
function lengthAfter(length: number, edits: ContentInput['edits']): number {
  return edits.reduce((most, { oldText, newText, replaceAll }) => {
    const found = replaceAll ? most / Math.max(1, oldText.length) : 1;
    return most + found * Math.max(0, newText.length - oldText.length);
  }, length);
}

/** Estimates how much text of a write has to be parsed. */
function inputBytes({ content, markdown = '', html = '', document, edits }: ContentInput): number {
  const changed = edits.reduce((sum, { oldText, newText }) => sum + oldText.length + newText.length, 0);
  return content.length + markdown.length + html.length + document.length + changed;
}

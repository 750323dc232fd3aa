import type { CallContext } from '@commonplace/kit/rpc';
import type { Collection } from '@commonplace/kit/store';
import { type Doc, type Leads, namedResources, type PublishedHtml, type TextPlace } from '../documents/index.js';
import type { Standing } from '../policy.js';
import type { DocumentFormat, StoredContent } from '../stores/contents.js';
import type { Keeper } from '../stores/kept.js';
import type { Node } from '../stores/nodes.js';
import { createBreathe } from '../tables/slices.js';
import type { Outcome } from './derivation.js';
import { createDerivedForms } from './derived.js';
import type { Deriver } from './deriver.js';
import { type Body, bare, EMPTY, formatFrom, hashOf } from './document-body.js';
import type { Limits, ReadInput } from './document-input.js';
import type { Hidden } from './hidden.js';
import type { ContentInput, ContentKind, Holder, Part, Payload, PreparedWrite, Renaming } from './kind.js';
import { createLocated } from './located.js';
import { renamesIn } from './redirect.js';

export interface DocumentParts {
  readonly contents: Collection<StoredContent>;
  readonly keeper: Keeper;
  readonly settings: Limits;
  readonly hidden: Hidden;
  readonly deriver: Deriver;
}

export interface DocumentKind extends ContentKind {
  /** The blocks of a document, for what is to point at one: their ids are kept from now on. */
  blocks(node: Pick<Node, 'id'>, context: Pick<CallContext, 'work'>): Promise<Doc>;
  /** What it holds as somebody may read it, in the format that it was written in. */
  shownBody(node: Pick<Node, 'id'>, standing: Standing): Promise<Body>;
  /** A text of a body in another format. */
  textIn(body: Body, format: DocumentFormat): Promise<string> | string;
  /** A body whose references to renamed resources lead to the new ones. */
  redirected(body: Body, renamed: Renaming): Promise<Body>;
  /** Gives the blocks of a new document the ids that they had elsewhere, where these are as many. */
  takeIds(node: Pick<Node, 'id'>, ids: readonly string[], context: Pick<CallContext, 'work'>): Promise<void>;
  /**
   * As readers of a publication get it, who may see what `leadsOf` gives an address for: now, or as it was kept.
   * Markdown in place of HTML where that is asked for.
   */
  published(
    of: { readonly node: Pick<Node, 'id'>; readonly keptId?: string },
    leadsOf: (ids: readonly string[]) => Leads,
    format: 'html' | 'markdown',
    context: CallContext,
  ): Promise<Partial<PublishedHtml> & { readonly markdown?: string }>;
  /** Its Markdown as somebody may read it. */
  shownText(node: Pick<Node, 'id'>, standing: Standing): Promise<string>;
}

/** Documents: the text as it was last written is the truth, byte for byte; other formats are derived. */
export function createDocumentKind({ contents, keeper, settings, hidden, deriver }: DocumentParts): DocumentKind {
  const derived = createDerivedForms(deriver);
  const located = createLocated();
  const limits: Limits = { documentBytes: settings.documentBytes, documentJsonBytes: settings.documentJsonBytes };

  async function kept(snapshotId: string, { work }: CallContext): Promise<Body> {
    const body = await keeper.read(snapshotId, work);
    if (body === undefined) throw new Error(`nothing is kept for snapshot ${snapshotId}`);
    return bare(body as Body);
  }

  async function shown(body: Body, format: DocumentFormat, context: CallContext): Promise<Payload> {
    return deriver.run(body.text.length, 'payload', bare(body), format, await hidden.in(context, body.text));
  }

  /** A write that leaves a body behind. */
  function replacing(
    node: Node,
    before: StoredContent | undefined,
    { body, changed, warnings }: Outcome,
    asked: DocumentFormat,
    context: CallContext,
  ): PreparedWrite {
    return {
      changed,
      sizeBytes: Buffer.byteLength(body.text),
      warnings,
      loses: false,
      apply() {
        const record = recordOf(node, body);
        if (before === undefined) context.work.insert(contents, record);
        else context.work.replace(contents, before, record);
      },
      answer: async ({ format }) => shown(body, formatFrom(format) ?? asked, context),
    };
  }

  /** Block ids that somebody is told of are kept from then on. */
  async function keepIds(record: StoredContent, { work }: Pick<CallContext, 'work'>): Promise<StoredContent> {
    if (record.blockIds !== undefined || record.format === 'json') return record;
    const blockIds = await deriver.run(record.text.length, 'ids', bare(record));
    return work.replace(contents, record, { ...record, blockIds });
  }

  return {
    create(holder, input, context) {
      const read = deriver.run(inputBytes(input), 'create', input, limits);
      const begin = ({ body, warnings }: ReadInput) => beginning(holder, body, warnings, context);
      return read instanceof Promise ? read.then(begin) : begin(read);
    },
    async read(node, query, context) {
      const record = await context.work.get(contents, node.id);
      const format = formatFrom(query.format) ?? 'markdown';
      if (record === undefined) return deriver.run(0, 'payload', EMPTY, format, []);
      const told = format === 'json' ? await keepIds(record, context) : record;
      // What is not committed yet may never be: nothing is remembered of it.
      if (context.work.dirty) return shown(told, format, context);
      return derived(told, format, await hidden.in(context, told.text));
    },
    async write(node, input, context) {
      const before = await context.work.get(contents, node.id);
      const was = before === undefined ? EMPTY : bare(before);
      const unknown = await hidden.in(context, was.text);
      const bytes = was.text.length + inputBytes(input);
      const outcome = await deriver.run(bytes, 'write', was, input, limits, unknown);
      return replacing(node, before, outcome, outcome.format, context);
    },
    async keep(node, snapshotId, context) {
      const body = (await context.work.get(contents, node.id)) ?? EMPTY;
      const kept = { sizeBytes: Buffer.byteLength(body.text), hash: hashOf(body) };
      await keeper.keep(node, snapshotId, bare(body), kept, context.work);
      return kept;
    },
    async keepInput(node, snapshotId, input, context) {
      const { body } = await deriver.run(inputBytes(input), 'create', input, limits);
      const kept = { sizeBytes: Buffer.byteLength(body.text), hash: hashOf(body) };
      await keeper.keep(node, snapshotId, body, kept, context.work);
      return kept;
    },
    async readKept(_node, snapshotId, { format }, context) {
      return shown(await kept(snapshotId, context), formatFrom(format) ?? 'markdown', context);
    },
    async restore(node, snapshotId, context) {
      const before = await context.work.get(contents, node.id);
      const was = before === undefined ? EMPTY : bare(before);
      const body = await kept(snapshotId, context);
      const outcome = await deriver.run(was.text.length + body.text.length, 'replace', was, body);
      return replacing(node, before, outcome, body.format, context);
    },
    forget: (_node, snapshotId, { work }) => keeper.forget(snapshotId, work),
    async copy(from, to, context, renamed = () => undefined) {
      const record = await context.work.get(contents, from.id);
      if (record === undefined) return NO_WRITE;
      const body = bare(record);
      const renames = renamesIn(body, renamed);
      const copied = renames.size === 0 ? body : await deriver.run(body.text.length, 'redirect', body, renames);
      return beginning(to, copied, [], context);
    },
    async remove(node, { work }) {
      const record = await work.get(contents, node.id);
      if (record !== undefined) work.remove(contents, record);
    },
    async blocks(node, context) {
      const record = await context.work.get(contents, node.id);
      const told = record === undefined ? EMPTY : await keepIds(record, context);
      return deriver.run(told.text.length, 'doc', bare(told));
    },
    async shownBody(node, standing) {
      const body = bare((await contents.get(node.id)) ?? EMPTY);
      const text = await deriver.run(
        body.text.length,
        'text',
        body,
        body.format,
        await hidden.from(standing, body.text),
      );
      return text === body.text ? body : { format: body.format, text };
    },
    async published({ node, keptId }, leadsOf, format, context) {
      const body = keptId === undefined ? bare((await contents.get(node.id)) ?? EMPTY) : await kept(keptId, context);
      const leads = leadsOf(namedResources(body.text));
      if (format === 'html') return deriver.run(body.text.length, 'publishedHtml', body, leads);
      return { markdown: await deriver.run(body.text.length, 'publishedMarkdown', body, leads) };
    },
    async redirected(body, renamed) {
      const renames = renamesIn(body, renamed);
      return renames.size === 0 ? body : deriver.run(body.text.length, 'redirect', bare(body), renames);
    },
    textIn: (body, format) => deriver.run(body.text.length, 'text', bare(body), format, []),
    async takeIds(node, ids, { work }) {
      const record = await work.get(contents, node.id);
      if (record === undefined || record.format === 'json' || !ids.every((id) => BLOCK_ID.test(id))) return;
      const own = await deriver.run(record.text.length, 'ids', bare(record));
      const fits = own.split(' ').length === ids.length && new Set(ids).size === ids.length;
      if (fits) work.replace(contents, record, { ...record, blockIds: ids.join(' ') });
    },
    async shownText(node, standing) {
      const body = bare((await contents.get(node.id)) ?? EMPTY);
      return deriver.run(body.text.length, 'text', body, 'markdown', await hidden.from(standing, body.text));
    },
    text: async (node) => markdownOf((await contents.get(node.id)) ?? EMPTY),
    async texts(nodes) {
      const found = await contents.getMany(nodes.map(({ id }) => id));
      const texts = new Map<string, string>();
      for (const record of found) texts.set(record.id, await markdownOf(record));
      return texts;
    },
    async locate(places) {
      const breathe = createBreathe();
      const found = new Map<string, (Part | undefined)[]>();
      for (const record of await contents.getMany([...places.keys()])) {
        found.set(record.id, await located(record, places.get(record.id) ?? [], partsOf));
        await breathe();
      }
      return found;
    },
  };

  /** Blocks of one document; texts that are read at once are short. */
  async function partsOf(record: StoredContent, places: readonly TextPlace[]): Promise<(Part | undefined)[]> {
    const ids = await deriver.run(record.text.length, 'blocksAt', bare(record), places);
    return ids.map((blockId) => (blockId === undefined ? undefined : { blockId }));
  }

  function markdownOf(body: Body): Promise<string> | string {
    return body.format === 'markdown' ? body.text : deriver.run(body.text.length, 'text', bare(body), 'markdown', []);
  }

  /** The first content of a node. */
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

/** What an id of a block is made of. */
const BLOCK_ID = /^[\w-]{1,64}$/;

const NO_WRITE: PreparedWrite = { changed: false, sizeBytes: 0, warnings: [], loses: false, apply() {} };

function recordOf({ id, tenant }: Pick<Holder, 'id' | 'tenant'>, body: Body): Omit<StoredContent, 'version'> {
  return { id, tenant, format: body.format, text: body.text, blockIds: body.blockIds };
}

/** About what there is to read of a write. */
function inputBytes({ content, markdown = '', html = '', document, edits }: ContentInput): number {
  const changed = edits.reduce((sum, { oldText, newText }) => sum + oldText.length + newText.length, 0);
  return content.length + markdown.length + html.length + document.length + changed;
}

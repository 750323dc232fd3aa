import type { CallContext } from '@commonplace/kit/rpc';
import type { Collection } from '@commonplace/kit/store';
import type { Doc } from '../documents/index.js';
import type { StoredContent } from '../stores/contents.js';
import type { Keeper } from '../stores/kept.js';
import type { Node } from '../stores/nodes.js';
import { createDerivedForms } from './derived.js';
import {
  type Body,
  docOf,
  EMPTY,
  following,
  formatFrom,
  hashOf,
  idsOf,
  isSame,
  payloadOf,
  textIn,
} from './document-body.js';
import { bodyAfter, bodyFrom, type Limits, type ReadInput } from './document-input.js';
import type { ContentKind, ContentQuery, Holder, Payload, PreparedWrite } from './kind.js';
import { redirected } from './redirect.js';

export interface DocumentParts {
  readonly contents: Collection<StoredContent>;
  readonly keeper: Keeper;
  readonly settings: Limits;
}

export interface DocumentKind extends ContentKind {
  /** The blocks of a document, for what is to point at one: their ids are kept from now on. */
  blocks(node: Pick<Node, 'id'>, context: Pick<CallContext, 'work'>): Promise<Doc>;
}

/** Documents: the text as it was last written is the truth, byte for byte; other formats are derived. */
export function createDocumentKind({ contents, keeper, settings }: DocumentParts): DocumentKind {
  const derived = createDerivedForms();

  async function kept(snapshotId: string, { work }: CallContext): Promise<Body> {
    const body = await keeper.read(snapshotId, work);
    if (body === undefined) throw new Error(`nothing is kept for snapshot ${snapshotId}`);
    return body as Body;
  }

  /** A write that leaves a body behind. */
  function replacing(
    node: Node,
    before: StoredContent | undefined,
    { body, warnings }: ReadInput,
    context: CallContext,
  ): PreparedWrite {
    const was = before ?? EMPTY;
    const changed = !isSame(was, body);
    const after = changed ? following(was, body) : was;
    return {
      changed,
      sizeBytes: Buffer.byteLength(after.text),
      warnings,
      loses: false,
      apply() {
        const record = recordOf(node, after);
        if (before === undefined) context.work.insert(contents, record);
        else context.work.replace(contents, before, record);
      },
      answer: async ({ format }) => payloadOf(after, formatFrom(format) ?? body.format),
    };
  }

  /** Block ids that somebody is told of are kept from then on. */
  function keepIds(record: StoredContent, { work }: Pick<CallContext, 'work'>): StoredContent {
    if (record.blockIds !== undefined || record.format === 'json') return record;
    return work.replace(contents, record, { ...record, blockIds: idsOf(docOf(record)) });
  }

  return {
    create(holder, input, context) {
      const { body, warnings } = bodyFrom(input, settings);
      return beginning(holder, body, warnings, context);
    },
    async read(node, query, context) {
      const record = await context.work.get(contents, node.id);
      const format = formatFrom(query.format) ?? 'markdown';
      if (record === undefined) return payloadOf(EMPTY, format);
      const told = format === 'json' ? keepIds(record, context) : record;
      // What is not committed yet may never be: nothing is remembered of it.
      return context.work.dirty ? payloadOf(told, format) : derived(told, format);
    },
    async write(node, input, context) {
      const before = await context.work.get(contents, node.id);
      return replacing(node, before, bodyAfter(before ?? EMPTY, input, settings), context);
    },
    async keep(node, snapshotId, context) {
      const body = (await context.work.get(contents, node.id)) ?? EMPTY;
      const kept = { sizeBytes: Buffer.byteLength(body.text), hash: hashOf(body) };
      await keeper.keep(node, snapshotId, bare(body), kept, context.work);
      return kept;
    },
    readKept: async (_node, snapshotId, query, context) => keptPayload(await kept(snapshotId, context), query),
    async restore(node, snapshotId, context) {
      const before = await context.work.get(contents, node.id);
      return replacing(node, before, { body: await kept(snapshotId, context), warnings: [] }, context);
    },
    forget: (_node, snapshotId, { work }) => keeper.forget(snapshotId, work),
    async copy(from, to, context, renamed) {
      const body = await context.work.get(contents, from.id);
      return body === undefined ? NO_WRITE : beginning(to, redirected(bare(body), renamed), [], context);
    },
    async remove(node, { work }) {
      const record = await work.get(contents, node.id);
      if (record !== undefined) work.remove(contents, record);
    },
    async blocks(node, context) {
      const record = await context.work.get(contents, node.id);
      return docOf(record === undefined ? EMPTY : keepIds(record, context));
    },
    text: async (node) => textIn((await contents.get(node.id)) ?? EMPTY, 'markdown'),
    async texts(nodes) {
      const found = await contents.getMany(nodes.map(({ id }) => id));
      return new Map(found.map((record) => [record.id, textIn(record, 'markdown')]));
    },
  };

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

const NO_WRITE: PreparedWrite = { changed: false, sizeBytes: 0, warnings: [], loses: false, apply() {} };

function recordOf({ id, tenant }: Pick<Holder, 'id' | 'tenant'>, body: Body): Omit<StoredContent, 'version'> {
  return { id, tenant, format: body.format, text: body.text, blockIds: body.blockIds };
}

/** The body alone, without the record that holds it. */
function bare({ format, text, blockIds }: Body): Body {
  return { format, text, blockIds };
}

function keptPayload(body: Body, { format }: Pick<ContentQuery, 'format'>): Payload {
  return payloadOf(body, formatFrom(format) ?? 'markdown');
}

import { createSharedWork } from '@commonplace/kit/cache';
import type { CallContext } from '@commonplace/kit/rpc';
import { createBreathe } from '@commonplace/kit/slices';
import { createDerivedForms } from './derived.js';
import type { Requester } from './deriver.js';
import { bare, EMPTY, formatFrom } from './document-body.js';
import { createDocumentReader, type DocumentKind, type DocumentParts, within } from './document-parts.js';
import { createDocumentTexts } from './document-texts.js';
import { createDocumentWrites } from './document-writes.js';
import type { StoredContent } from './records.js';

/**
 * Creates the content kind of documents. The text as it was last written is authoritative, byte for byte; other formats
 * are derived from it.
 */
export function createDocumentKind(parts: DocumentParts): DocumentKind {
  const { contents, keeper, hidden, deriver } = parts;
  const derived = createDerivedForms(deriver);
  const reader = createDocumentReader(parts);
  const shared = createSharedWork<string>();

  /** Stores the block ids of a document, because ids that were returned to a caller must stay valid. */
  async function keepIds(
    record: StoredContent,
    work: CallContext['work'],
    requester: Requester,
  ): Promise<StoredContent> {
    if (record.blockIds !== undefined || record.format === 'json') return record;
    // Of several readers one keeps them; the others begin anew, and find them kept.
    const blockIds = await shared(`${record.id}:${record.version}`, async () =>
      deriver.run(requester, record.text.length, 'ids', bare(record)),
    );
    return work.replace(contents, record, { ...record, blockIds });
  }

  return {
    ...createDocumentWrites(parts, reader),
    ...createDocumentTexts(parts, reader),
    async read(node, query, context) {
      const format = formatFrom(query.format) ?? 'markdown';
      // Uncommitted content must not be cached: it may be rolled back.
      const isCommitted = !context.work.dirty;
      const known = isCommitted ? derived.known(node, format) : undefined;
      if (known !== undefined) return known;
      const breathe = createBreathe(context.signal);
      const record = await context.work.get(contents, node.id);
      if (record === undefined) return deriver.run(node.tenant, 0, 'payload', EMPTY, format, []);
      await breathe();
      const withIds = format === 'json' ? await keepIds(record, context.work, within(record, context)) : record;
      if (!isCommitted) return reader.shown(node.tenant, withIds, format, context);
      const unknown = await hidden.in(context, withIds.text);
      await breathe();
      if (withIds !== record) return derived.readOnce(withIds, format, unknown, context.deadline);
      return derived.read(node, record, format, unknown, context.deadline);
    },
    async readKept({ tenant }, snapshotId, { format }, context) {
      return reader.shown(tenant, await reader.kept(snapshotId, context), formatFrom(format) ?? 'markdown', context);
    },
    forget: (_node, snapshotId, { work }) => keeper.forget(snapshotId, work),
    async remove(node, { work }) {
      const record = await work.get(contents, node.id);
      if (record !== undefined) work.remove(contents, record);
    },
    async places(node, anchors, { work }) {
      const record = await work.get(contents, node.id);
      if (record === undefined) return deriver.run('', 0, 'anchors', EMPTY, anchors);
      const withIds = await keepIds(record, work, record.tenant);
      const found: Awaited<ReturnType<DocumentKind['places']>> = [];
      for (let from = 0; from < anchors.length; from += ANCHORS_AT_ONCE) {
        const some = anchors.slice(from, from + ANCHORS_AT_ONCE);
        found.push(...(await deriver.run(record.tenant, withIds.text.length, 'anchors', bare(withIds), some)));
      }
      return found;
    },
    async hiddenWords(node, hiddenIds) {
      const record = (await contents.get(node.id)) ?? { ...EMPTY, tenant: '' };
      return deriver.run(record.tenant, record.text.length, 'hiddenWords', bare(record), hiddenIds);
    },
    async takeIds(node, ids, { work }) {
      const record = await work.get(contents, node.id);
      if (record === undefined || record.format === 'json' || !ids.every((id) => BLOCK_ID.test(id))) return;
      const own = await deriver.run(record.tenant, record.text.length, 'ids', bare(record));
      const fits = own.split(' ').length === ids.length && new Set(ids).size === ids.length;
      if (fits) work.replace(contents, record, { ...record, blockIds: ids.join(' ') });
    },
  };
}

/** Number of passages that are looked for at a time, within one time limit: edited words take up to 0.1 s each. */
const ANCHORS_AT_ONCE = 50;

/** Matches a valid block id. */
const BLOCK_ID = /^[\w-]{1,64}$/;

import { AppError, type Fault, invalidFields } from '@commonplace/kit/errors';
import { type CallContext, type Handlers, requireVersion } from '@commonplace/kit/rpc';
import { type Collection, decodeCursor, encodeCursor, invalidCursor, keyset, type Where } from '@commonplace/kit/store';
import type { Page, PageRequest } from '@commonplace/proto/api/v1/page.js';
import { type Import, ImportItemStatus, ImportStatus } from '@commonplace/proto/files/v1/import.js';
import {
  type CreateImportRequest,
  type GetImportRequest,
  ImportInclude,
  ImportRetryScope,
  type ImportService,
} from '@commonplace/proto/files/v1/import_service.js';
import type { ImportPlace } from '@commonplace/proto/resources/v1/tree_import_service.js';
import { signUpload } from '../acts/sign-upload.js';
import { createImport } from '../imports/acts/create-import.js';
import { removeImport } from '../imports/acts/remove-import.js';
import { type ImportWish, nameOf, readImportWish, readOptions } from '../imports/domain/wish.js';
import { ImportActive, ImportNotRetryable, TooManyImports } from '../imports/errors.js';
import type { ImportRunner } from '../imports/jobs/runner.js';
import { enterWorkspace, type ImportPolicyParts, requireUnarchived, seeImport, seesAll } from '../imports/policy.js';
import {
  type ImportRecord,
  type ImportState,
  type ItemRecord,
  type ItemState,
  isActive,
} from '../imports/stores/records.js';
import { importMessage, itemMessage } from '../imports/views.js';

export function createImportHandlers(
  parts: ImportPolicyParts,
  runner: Pick<ImportRunner, 'wake'>,
): Handlers<ImportService> {
  return {
    async listImports({ workspaceId, page, status }, context) {
      const membership = await enterWorkspace(parts, workspaceId, context);
      const where: Where<ImportRecord> = {
        workspaceId,
        ...(seesAll(membership) ? {} : { userId: context.caller.userId }),
        ...(status === ImportStatus.UNSPECIFIED ? {} : { status: nameOf(status, 'IMPORT_STATUS_') as ImportState }),
      };
      const found = await pageOf(parts.imports, where, ['-createdAt'], page);
      return { items: found.items.map((record) => importMessage(record)), page: found.page };
    },

    async createImport(request, context) {
      const { wish, place } = await admit(parts, request, context);
      await requireTurn(parts, place);
      const { record, upload } = await createImport(parts, request, wish, place, context);
      context.afterCommit(() => runner.wake());
      const signed = upload === undefined ? undefined : await signUpload(parts, upload);
      return { ...importMessage(record), upload: signed };
    },

    getImport: (request, context) => getImport(parts, request, context),

    async deleteImport({ importId, deleteResources }, context) {
      const record = await seeImport(parts, importId, context);
      await requireUnarchived(parts, record, context);
      requireVersion(context, record.version, { updatedAt: record.finishedAt ?? record.createdAt });
      const resourcesDeleted = await removeImport(parts, record, deleteResources, context);
      context.afterCommit(() => runner.wake());
      return { id: importId, deleted: true, resourcesDeleted };
    },

    async retryImport({ importId, scope, options }, context) {
      const record = await seeImport(parts, importId, context);
      const faults: Fault[] = [];
      const asked = readOptions(options, (param, code, message) => faults.push({ param, code, message }));
      if (record.planned === true && asked.splitHeadings && !record.options.splitHeadings) faults.push(SPLIT_LATER);
      if (faults.length > 0) throw invalidFields(faults);
      await requireUnarchived(parts, record, context);
      if (isActive(record)) throw ImportActive({ status: record.status });
      const hasBytes = record.blobId !== undefined || record.url !== undefined;
      if (record.status === 'completed' || !hasBytes) throw ImportNotRetryable();
      const { error: _, finishedAt: __, phase: ___, ...before } = record;
      const { splitHeadings = false } = record.options;
      const now = new Date().toISOString();
      const after = context.work.replace(parts.imports, record, {
        ...before,
        status: 'queued',
        attempt: record.attempt + 1,
        scope: scope === ImportRetryScope.ALL ? 'all' : 'failed',
        ...(options === undefined ? {} : { options: { ...asked, ...(splitHeadings && { splitHeadings }) } }),
        queuedAt: now,
        leaseUntil: now,
      });
      context.afterCommit(() => runner.wake());
      return importMessage(after);
    },
  };
}

/** What items there are is settled by the first attempt that has looked through the source. */
const SPLIT_LATER: Fault = {
  param: 'options.split_headings',
  code: 'invalid_value',
  message: 'The items of the import are known already: make a new import to split them.',
};

/** The gates in their order: what the caller may not see or do, what the request has wrong, the present state. */
async function admit(
  parts: ImportPolicyParts,
  request: CreateImportRequest,
  context: CallContext,
): Promise<{ wish: ImportWish; place: ImportPlace }> {
  let wish: ImportWish | undefined;
  let faults: unknown;
  try {
    wish = readImportWish(request, parts.settings, parts.guard);
  } catch (error) {
    faults = error;
  }
  const { workspaceId, parentId } = request;
  const place = await parts.treeImports.checkImportPlace({ workspaceId, parentId }, context.onward).catch((error) => {
    const state = error instanceof AppError && error.code === 'ABORTED';
    throw state && faults !== undefined ? faults : error;
  });
  if (wish === undefined) throw faults;
  return { wish, place };
}

async function requireTurn({ imports, settings }: ImportPolicyParts, { workspaceId }: ImportPlace): Promise<void> {
  const limit = settings.importsWaiting;
  const waiting = await Promise.all(
    (['queued', 'pending_upload'] as const).map((status) => imports.count({ workspaceId, status }, limit)),
  );
  if (waiting.reduce((sum, count) => sum + count) >= limit) {
    throw TooManyImports({ limit, setting: 'COMMONPLACE_IMPORTS_WAITING' });
  }
}

async function getImport(parts: ImportPolicyParts, request: GetImportRequest, context: CallContext): Promise<Import> {
  const record = await seeImport(parts, request.importId, context);
  const report = isActive(record) ? undefined : (await parts.importReports.get(record.id))?.text;
  const message = importMessage(record, report);
  placeOf(request.page);
  if (!request.include.includes(ImportInclude.ITEMS)) return message;
  const { status } = request;
  const where: Where<ItemRecord> = {
    importId: record.id,
    ...(status === ImportItemStatus.UNSPECIFIED ? {} : { status: nameOf(status, 'IMPORT_ITEM_STATUS_') as ItemState }),
  };
  const { items, page } = await pageOf(parts.importItems, where, ['seq'], request.page);
  return { ...message, items: items.map(itemMessage), page };
}

/** Where a list goes on; undefined at its beginning. */
function placeOf(asked: PageRequest | undefined) {
  if (asked === undefined || asked.cursor === '') return undefined;
  const after = decodeCursor(asked.cursor);
  if (after.length !== 2 || typeof after[1] !== 'string') throw invalidCursor();
  return after;
}

/** A page of records. */
async function pageOf<T extends ImportRecord | ItemRecord>(
  records: Collection<T>,
  where: Where<T>,
  sort: readonly ['-createdAt'] | readonly ['seq'],
  asked: PageRequest | undefined,
): Promise<{ items: T[]; page: Page }> {
  const { limit, offset } = asked ?? { limit: 50, offset: 0 };
  const order = sort as never;
  const after = placeOf(asked);
  const [found, total] = await Promise.all([
    records.find({ where, sort: order, limit: limit + 1, offset, ...(after && { after }) }),
    records.count(where),
  ]);
  const items = found.slice(0, limit);
  const last = items.at(-1);
  const hasMore = found.length > limit && last !== undefined;
  return {
    items,
    page: {
      limit,
      offset,
      total,
      totalIsEstimate: false,
      hasMore,
      nextOffset: hasMore && after === undefined ? offset + limit : undefined,
      nextCursor: hasMore ? encodeCursor(keyset(last, order)) : undefined,
    },
  };
}

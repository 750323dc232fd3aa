import { AppError, type Fault, invalidFields } from '@commonplace/kit/errors';
import { followRecord } from '@commonplace/kit/events';
import { type CallContext, type Handlers, requireVersion } from '@commonplace/kit/rpc';
import {
  type Collection,
  decodeCursor,
  encodeCursor,
  invalidCursor,
  keyset,
  timesWithin,
  type Where,
} from '@commonplace/kit/store';
import { foldName } from '@commonplace/kit/words';
import { enumName } from '@commonplace/platform/enums';
import type { Page, PageRequest } from '@commonplace/proto/api/v1/page.js';
import { type Import, ImportItemStatus, ImportStatus } from '@commonplace/proto/files/v1/import.js';
import {
  type CreateImportRequest,
  type GetImportRequest,
  type ImportEvent,
  ImportInclude,
  ImportRetryScope,
  type ImportService,
  type WatchImportRequest,
} from '@commonplace/proto/files/v1/import_service.js';
import type { ImportPlace } from '@commonplace/proto/resources/v1/tree_import_service.js';
import { abandonAttempt } from '../../uploads/clean-up-attempt.js';
import { signUpload } from '../../uploads/sign-upload.js';
import { attemptsOf, createImport } from '../acts/create-import.js';
import { removeImport } from '../acts/remove-import.js';
import { ImportActive, ImportNotRetryable } from '../errors.js';
import { type ImportRequest, readImportRequest, readOptions } from '../import-request.js';
import { enterWorkspace, type ImportPolicyParts, requireUnarchived, seeImport, seesAll } from '../policy.js';
import { type ImportRecord, type ImportState, type ItemRecord, type ItemState, isActive } from '../stores/records.js';
import { importTopic } from '../topic.js';
import { importEvent, importMessage, itemMessage, nothingNew } from '../wire.js';

export function createImportHandlers(parts: ImportPolicyParts): Handlers<ImportService> {
  return {
    async listImports({ workspaceId, page, status, q, createdBy, createdAfter, createdBefore }, context) {
      const membership = await enterWorkspace(parts, workspaceId, context);
      const where: Where<ImportRecord> = {
        workspaceId,
        ...(seesAll(membership) ? {} : { userId: context.caller.userId }),
        ...(q !== '' && { nameFold: { substring: foldName(q) } }),
        ...(createdBy !== undefined && { and: [{ userId: createdBy }] }),
        ...timesWithin({ createdAfter, createdBefore }),
        ...(status === ImportStatus.UNSPECIFIED ? {} : { status: enumName(status, 'IMPORT_STATUS') as ImportState }),
      };
      const found = await pageOf(parts.imports, where, ['-createdAt'], page);
      return { items: found.items.map((record) => importMessage(record)), page: found.page };
    },

    async createImport(request, context) {
      const { parsed, place } = await admit(parts, request, context);
      await reserveTurn(parts, place, context);
      const { record, upload } = await createImport(parts, request, parsed, place, context);
      const signed = upload === undefined ? undefined : await signUpload(parts, upload);
      return { ...importMessage(record), upload: signed };
    },

    getImport: (request, context) => getImport(parts, request, context),

    watchImport: (request, context) => watchImport(parts, request, context),

    async deleteImport({ importId, deleteResources }, context) {
      const record = await seeImport(parts, importId, context);
      await requireUnarchived(parts, record, context);
      requireVersion(context, record.version, { updatedAt: record.finishedAt ?? record.createdAt });
      const resourcesDeleted = await removeImport(parts, record, deleteResources, context);
      return { id: importId, deleted: true, resourcesDeleted };
    },

    async retryImport({ importId, scope, options }, context) {
      const record = await seeImport(parts, importId, context);
      const faults: Fault[] = [];
      const requested = readOptions(options, (param, code, message) => faults.push({ param, code, message }));
      if (record.planned === true && requested.splitHeadings && !record.options.splitHeadings) faults.push(SPLIT_LATER);
      if (faults.length > 0) throw invalidFields(faults);
      await requireUnarchived(parts, record, context);
      if (isActive(record)) throw ImportActive({ status: record.status });
      const hasBytes = record.blobId !== undefined || record.url !== undefined;
      if (record.status === 'completed' || !hasBytes) throw ImportNotRetryable();
      await parts.importQuotas.waiting.reserve(context.work, record.workspaceId);
      const { error: _, finishedAt: __, phase: ___, ...before } = record;
      const { splitHeadings = false } = record.options;
      const now = new Date().toISOString();
      const after = context.work.replace(parts.imports, record, {
        ...before,
        status: 'queued',
        attempt: record.attempt + 1,
        scope: scope === ImportRetryScope.ALL ? 'all' : 'failed',
        ...(options === undefined ? {} : { options: { ...requested, ...(splitHeadings && { splitHeadings }) } }),
        queuedAt: now,
        leaseUntil: now,
      });
      return importMessage(after);
    },
  };
}

/**
 * Fault for changing `split_headings` after the first attempt, because that attempt determines the items of an import.
 */
const SPLIT_LATER: Fault = {
  param: 'options.split_headings',
  code: 'invalid_value',
  message: 'The items of the import are already determined: create a new import to split them.',
};

/**
 * Checks a creation in order of precedence: access first, then faults of the request, then conflicts with the present
 * state.
 */
async function admit(
  parts: ImportPolicyParts,
  request: CreateImportRequest,
  context: CallContext,
): Promise<{ parsed: ImportRequest; place: ImportPlace }> {
  const { workspaceId, parentId, sourceUrl } = request;
  const checked = parts.treeImports.checkImportPlace({ workspaceId, parentId }, context.onward);
  const [place] = await Promise.allSettled([checked]);
  if (place.status === 'rejected' && !isConflict(place.reason)) throw place.reason;
  const isNarrowed = sourceUrl !== undefined && place.status === 'fulfilled';
  const guard = isNarrowed ? await parts.guard.of(place.value.tenant) : parts.guard;
  const parsed = await readImportRequest(request, parts.settings, guard);
  if (place.status === 'rejected') throw place.reason;
  return { parsed, place: place.value };
}

/** Returns whether a place is refused for its present state, which faults of the request precede. */
function isConflict(error: unknown): boolean {
  return error instanceof AppError && error.code === 'ABORTED';
}

/**
 * Reserves a place among the workspace's waiting imports. When there is none, abandons what an earlier run of this call
 * has begun.
 */
async function reserveTurn(
  parts: ImportPolicyParts,
  { workspaceId }: ImportPlace,
  context: CallContext,
): Promise<void> {
  try {
    await parts.importQuotas.waiting.reserve(context.work, workspaceId);
  } catch (error) {
    for (const attempt of attemptsOf(parts, context)) await abandonAttempt(parts, attempt);
    throw error;
  }
}

/** Seconds after which a client should poll an import again. */
const POLL_SECONDS = 1;

/** Streams the states of an import as long as the caller may see it. */
async function* watchImport(
  parts: ImportPolicyParts,
  { importId, lastEventId }: WatchImportRequest,
  context: CallContext,
): AsyncGenerator<ImportEvent> {
  const records = followRecord({
    bus: parts.bus,
    topic: importTopic(importId),
    read: () => seeImport(parts, importId, context),
    stateOf: ({ version }) => String(version),
    isFinal: (record) => !isActive(record),
    signal: context.signal,
  });
  let last: ImportRecord | undefined;
  try {
    for await (const record of records) {
      // A reader that already has this state receives only a message that the stream is open.
      const isKnown = last === undefined && isActive(record) && String(record.version) === lastEventId;
      last = record;
      if (isKnown) {
        yield nothingNew(record);
        continue;
      }
      const report = isActive(record) ? undefined : (await parts.importReports.get(record.id))?.text;
      yield importEvent(record, report);
    }
  } catch (error) {
    // Removing an import cancels it first; the stream may have missed that state.
    if (last === undefined || (await parts.imports.get(importId)) !== undefined) throw error;
    yield importEvent({ ...last, status: 'canceled', version: last.version + 1 });
  }
}

async function getImport(parts: ImportPolicyParts, request: GetImportRequest, context: CallContext): Promise<Import> {
  const record = await seeImport(parts, request.importId, context);
  if (isActive(record)) context.reply.retryAfter = POLL_SECONDS;
  const report = isActive(record) ? undefined : (await parts.importReports.get(record.id))?.text;
  const message = importMessage(record, report);
  placeOf(request.page);
  if (!request.include.includes(ImportInclude.ITEMS)) return message;
  const { status } = request;
  const where: Where<ItemRecord> = {
    importId: record.id,
    ...(status === ImportItemStatus.UNSPECIFIED ? {} : { status: enumName(status, 'IMPORT_ITEM_STATUS') as ItemState }),
  };
  const { items, page } = await pageOf(parts.importItems, where, ['seq'], request.page);
  return { ...message, items: items.map(itemMessage), page };
}

/**
 * Decodes the position that a cursor names, or returns undefined for the first page. Throws when the cursor is invalid.
 */
function placeOf(requested: PageRequest | undefined) {
  if (requested === undefined || requested.cursor === '') return undefined;
  const after = decodeCursor(requested.cursor);
  if (after.length !== 2 || typeof after[1] !== 'string') throw invalidCursor();
  return after;
}

/** Reads one page of records and their total. */
async function pageOf<T extends ImportRecord | ItemRecord>(
  records: Collection<T>,
  where: Where<T>,
  sort: readonly ['-createdAt'] | readonly ['seq'],
  requested: PageRequest | undefined,
): Promise<{ items: T[]; page: Page }> {
  const { limit, offset } = requested ?? { limit: 50, offset: 0 };
  const order = sort as never;
  const after = placeOf(requested);
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

import { AppError } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import { inWork, type UnitOfWork } from '@commonplace/kit/store';
import { removeUpload } from '../../uploads/purge.js';
import { resourceIdOf, rootIdOf } from '../domain/ids.js';
import { finishedEvent } from '../events.js';
import type { ImportParts } from '../parts.js';
import { itemRecords } from '../stores/item-records.js';
import { type ImportRecord, isActive } from '../stores/records.js';

/**
 * Cancels an import if it is active and deletes its record in this call's unit of work; a job deletes items and bytes
 * later. With `deleteResources` the resources that it created are moved to the trash first. Returns the number of
 * trashed resources.
 */
export async function removeImport(
  parts: ImportParts,
  record: ImportRecord,
  deleteResources: boolean,
  context: CallContext,
): Promise<number> {
  const ended = isActive(record) ? await cancel(parts, record) : record;
  const deleted = deleteResources ? await trash(parts, ended, context) : 0;
  await removeRecord(parts, context.work, ended);
  return deleted;
}

/** Number of imports that one round of `removeImportsOf` reads. */
const CHUNK = 50;

/** Cancels the active imports of a workspace that was purged, and deletes all of its imports; jobs delete the rest. */
export async function removeImportsOf(parts: ImportParts, workspaceId: string): Promise<void> {
  for (;;) {
    const found = await parts.imports.find({ where: { workspaceId }, limit: CHUNK });
    for (const record of found) {
      const ended = isActive(record) ? await cancel(parts, record) : record;
      await inWork(parts.store, async (work) => {
        const present = await work.get(parts.imports, ended.id);
        if (present !== undefined) await removeRecord(parts, work, present);
      });
    }
    if (found.length < CHUNK) return;
  }
}

async function removeRecord(parts: ImportParts, work: UnitOfWork, record: ImportRecord): Promise<void> {
  const { id, tenant, blobId, heldBytes } = record;
  for (const upload of await parts.uploads.find({ where: { fileId: id }, limit: 10 }))
    removeUpload(parts, work, upload);
  work.remove(parts.imports, record);
  work.insert(parts.importRemovals, {
    id,
    tenant,
    ...(blobId !== undefined && { blobId, heldBytes }),
    createdAt: new Date().toISOString(),
  });
}

/** Once this commits, the worker finds that it has lost the import and writes nothing more. */
async function cancel(parts: ImportParts, { id, ...was }: ImportRecord): Promise<ImportRecord> {
  return inWork(parts.store, async (work) => {
    const present = await work.get(parts.imports, id);
    if (present === undefined || !isActive(present)) return present ?? { ...was, id };
    const finishedAt = new Date().toISOString();
    const canceled = work.replace(parts.imports, present, { ...present, status: 'canceled', finishedAt });
    work.publish(finishedEvent(canceled));
    return canceled;
  });
}

/** Trashes what an import has created, but nothing that it has only replaced: its root folder, or each item. */
async function trash(parts: ImportParts, { id, rootResourceId }: ImportRecord, context: CallContext): Promise<number> {
  const root = rootIdOf(id);
  let count = await trashOne(parts, root, context);
  if (count > 0 || rootResourceId === root) return count;
  for await (const chunk of itemRecords(parts, id)) {
    // The first item may exist before its record is stored.
    const own = chunk.filter(({ status, seq }) => status === 'created' || seq === 0);
    for (const { path } of own) count += await trashOne(parts, resourceIdOf(id, path), context);
  }
  return count;
}

async function trashOne(parts: ImportParts, resourceId: string, context: CallContext): Promise<number> {
  try {
    const { trashedCount } = await parts.resources.deleteResource({ resourceId }, context.onward);
    return trashedCount;
  } catch (error) {
    if (error instanceof AppError && error.code === 'NOT_FOUND') return 0;
    throw error;
  }
}

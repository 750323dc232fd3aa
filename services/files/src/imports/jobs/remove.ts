import type { HeldJob } from '@commonplace/kit/jobs';
import { releaseSource } from '../acts/source-bytes.js';
import type { ImportParts } from '../parts.js';
import type { ItemRecord, RemovalRecord } from '../stores/records.js';

const CHUNK = 500;

/** Deletes what remains of a removed import: the records of its items, its report, its bytes. */
export async function removeImport(parts: ImportParts, job: HeldJob<RemovalRecord>): Promise<void> {
  const { id: importId } = job.record;
  const nextItems = () => parts.importItems.find({ where: { importId }, sort: ['seq'], limit: CHUNK });
  for (let items: ItemRecord[] = await nextItems(); items.length > 0; items = await nextItems()) {
    if (job.isStopping) return;
    await job.save({}, (work) => {
      for (const item of items) work.remove(parts.importItems, item);
    });
  }
  await job.remove(async (work, { tenant, blobId, heldBytes }) => {
    const report = await work.get(parts.importReports, importId);
    if (report !== undefined) work.remove(parts.importReports, report);
    if (blobId !== undefined) await releaseSource(parts, work, { tenant, blobId, heldBytes });
  });
}

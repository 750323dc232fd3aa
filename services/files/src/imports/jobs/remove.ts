import { inWork } from '@commonplace/kit/store';
import { releaseSource } from '../acts/source-bytes.js';
import type { ImportParts } from '../parts.js';

const CHUNK = 500;

/** Takes away what removed imports have left: the records of their items, their reports, their bytes. */
export async function removeImports(parts: ImportParts): Promise<void> {
  const removals = await parts.importRemovals.find({
    where: { createdAt: { gt: '' } },
    sort: ['createdAt'],
    limit: 10,
  });
  for (const removal of removals) {
    const { id: importId, blobId } = removal;
    const items = await parts.importItems.find({ where: { importId }, sort: ['seq'], limit: CHUNK });
    await inWork(parts.store, async (work) => {
      for (const item of items) work.remove(parts.importItems, item);
      const present = await work.get(parts.importRemovals, importId);
      if (items.length === CHUNK || present === undefined) return;
      const report = await work.get(parts.importReports, importId);
      if (report !== undefined) work.remove(parts.importReports, report);
      if (blobId !== undefined) await releaseSource(parts, work, blobId);
      work.remove(parts.importRemovals, present);
    });
  }
}

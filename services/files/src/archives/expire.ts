import { inWork } from '@commonplace/kit/store';
import type { ArchiveParts } from './parts.js';
import { type ArchiveRecord, archiveKey } from './records.js';

/** Deletes the bytes of an archive, and says so. */
export async function expireArchive(parts: ArchiveParts, { id }: Pick<ArchiveRecord, 'id'>): Promise<void> {
  await parts.bytes.delete(archiveKey(id));
  await inWork(parts.store, async (work) => {
    const record = await work.get(parts.archives, id);
    if (record === undefined || record.expiresAt === undefined) return;
    const status = record.status === 'failed' ? 'failed' : 'expired';
    work.replace(parts.archives, record, { ...record, status, expiresAt: undefined, expiredAt: record.expiresAt });
  });
}

const CHUNK = 100;

/** Takes away what an export has noted while it ran. */
export async function removeSteps(parts: ArchiveParts, archiveId: string): Promise<void> {
  for (let more = true; more; ) {
    more = await inWork(parts.store, async (work) => {
      const steps = await parts.archiveSteps.find({ where: { archiveId }, sort: ['number'], limit: CHUNK });
      for (const step of steps) work.remove(parts.archiveSteps, step);
      return steps.length === CHUNK;
    });
  }
}

/** Those whose time is over. */
export async function expireArchives(parts: ArchiveParts): Promise<number> {
  const where = { expiresAt: { lte: new Date().toISOString() } };
  const over = await parts.archives.find({ where, sort: ['expiresAt'], limit: CHUNK });
  for (const record of over) await expireArchive(parts, record);
  return over.length;
}

import { inWork } from '@commonplace/kit/store';
import type { ArchiveParts } from './parts.js';
import { type ArchiveRecord, archiveKey } from './records.js';
import { releaseArchive } from './room.js';

/** Deletes the bytes of an archive and marks it as expired. */
async function expireArchive(parts: ArchiveParts, { id }: Pick<ArchiveRecord, 'id'>): Promise<void> {
  await parts.bytes.delete(archiveKey(id));
  await inWork(parts.store, async (work) => {
    const record = await work.get(parts.archives, id);
    if (record === undefined || record.expiresAt === undefined) return;
    const status = record.status === 'failed' ? 'failed' : 'expired';
    work.replace(parts.archives, record, {
      ...record,
      status,
      expiresAt: undefined,
      expiredAt: record.expiresAt,
      heldBytes: undefined,
    });
    releaseArchive(parts, work, record);
  });
}

const CHUNK = 100;

/** Deletes the bytes of up to 100 archives that have expired. Returns the number of archives found. */
export async function expireArchives(parts: ArchiveParts): Promise<number> {
  const where = { expiresAt: { lte: new Date().toISOString() } };
  const over = await parts.archives.find({ where, sort: ['expiresAt'], limit: CHUNK });
  for (const record of over) {
    await expireArchive(parts, record).catch((error) =>
      parts.log.warn('archive.not_expired', { archive_id: record.id, error }),
    );
  }
  return over.length;
}

/** Expires the other archives of a workspace: only the newest is kept. */
export async function expireEarlier(parts: ArchiveParts, workspaceId: string, id: string): Promise<void> {
  const found = await parts.archives.find({ where: { workspaceId }, sort: ['-createdAt'], limit: 20 });
  for (const record of found)
    if (record.id !== id && record.expiresAt !== undefined) await expireArchive(parts, record);
}

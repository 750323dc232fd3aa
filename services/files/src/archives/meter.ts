import type { HeldJob } from '@commonplace/kit/jobs';
import { isOverQuota, reserveBytes } from '../storage/quota.js';
import { expireEarlier } from './expire.js';
import type { ArchiveParts } from './parts.js';
import type { ArchiveRecord } from './records.js';

/**
 * Reserves the bytes of an export before they are put. What an earlier process has reserved for parts that are put
 * again is used first. When the quota is exceeded, the workspace's earlier export is expired to make space.
 */
export function archiveMeter(parts: ArchiveParts, hold: HeldJob<ArchiveRecord>): (bytes: number) => Promise<void> {
  let passed = hold.record.offset;
  return async (bytes) => {
    passed += bytes;
    const more = passed - (hold.record.heldBytes ?? 0);
    if (parts.settings.storageQuotaBytes === undefined || more <= 0) return;
    try {
      await reserve(parts, hold, more);
    } catch (error) {
      if (!isOverQuota(error)) throw error;
      await expireEarlier(parts, hold.record.workspaceId, hold.record.id);
      await reserve(parts, hold, more);
    }
  };
}

async function reserve(parts: ArchiveParts, hold: HeldJob<ArchiveRecord>, bytes: number): Promise<void> {
  const { tenant, heldBytes = 0 } = hold.record;
  await hold.save({ heldBytes: heldBytes + bytes }, (work) =>
    reserveBytes(parts, work, { tenant, account: 'archives', bytes }),
  );
}

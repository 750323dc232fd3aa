import { reserveAmount } from '@commonplace/kit/quota';
import { inWork, type UnitOfWork } from '@commonplace/kit/store';
import { StorageQuotaExceeded } from '../errors.js';
import type { StorageParts } from './parts.js';
import type { Intent, Reservation } from './records.js';

type QuotaParts = Pick<StorageParts, 'settings' | 'usage' | 'store' | 'intents'>;

/**
 * Reserves bytes of a tenant's storage in this unit of work; units that commit concurrently can't exceed the quota
 * together. Throws `storage_quota_exceeded`. Sources of imports and exports are temporary: they share a limit of their
 * own, so that an archive need not fit beside the files that it is made of or becomes.
 */
export async function reserveBytes(
  { settings, usage }: Pick<StorageParts, 'settings' | 'usage'>,
  work: UnitOfWork,
  { tenant, account, bytes }: Reservation,
): Promise<void> {
  const limit = limitOf(settings, account);
  const refuse = (used: number) => StorageQuotaExceeded({ used_bytes: used, quota_bytes: limit });
  const id = accountId({ tenant, account });
  await reserveAmount(work, { records: usage, id, field: 'bytes', limit, refuse }, bytes);
}

/** Releases reserved bytes in this unit of work. */
export function releaseBytes(
  { usage }: Pick<StorageParts, 'usage'>,
  work: UnitOfWork,
  { tenant, account, bytes }: Reservation,
): void {
  if (bytes !== 0) work.increment(usage, accountId({ tenant, account }), 'bytes', -bytes, {});
}

/** Returns an account's limit in bytes, or undefined for no limit. */
function limitOf(
  { storageQuotaBytes: quotaBytes, temporaryStorageBytes }: StorageParts['settings'],
  account: Reservation['account'],
) {
  return account === 'files' || quotaBytes === undefined ? quotaBytes : (temporaryStorageBytes ?? quotaBytes);
}

/**
 * Returns the id of the record that counts an account. The id of temporary bytes contains `sources` because it once
 * counted sources only.
 */
function accountId({ tenant, account }: Pick<Reservation, 'tenant' | 'account'>): string {
  return account === 'files' ? tenant : `${tenant}:sources`;
}

/** Counts the actual number of bytes in place of what was reserved for them. Throws `storage_quota_exceeded`. */
export async function settleBytes(
  parts: Pick<StorageParts, 'settings' | 'usage'>,
  work: UnitOfWork,
  { tenant, account, bytes }: Reservation,
  reserved: number,
): Promise<void> {
  const more = bytes - reserved;
  if (more > 0) await reserveBytes(parts, work, { tenant, account, bytes: more });
  else releaseBytes(parts, work, { tenant, account, bytes: -more });
}

/** Increases the reservation of an attempt that is in progress. */
async function growReservation(parts: QuotaParts, { id }: Intent, more: Reservation): Promise<void> {
  await inWork(parts.store, async (work) => {
    const present = await work.get(parts.intents, id);
    // The code that abandoned the attempt has released its reservation.
    if (present === undefined) throw new Error(`the attempt ${id} was abandoned`);
    await reserveBytes(parts, work, more);
    const bytes = (present.reserved?.bytes ?? 0) + more.bytes;
    work.replace(parts.intents, present, { ...present, reserved: { ...more, bytes } });
  });
}

/** Reserves quota for bytes before they are stored. */
export interface Meter {
  /** Reserves quota for this many more bytes. Rejects with `storage_quota_exceeded`. */
  admit(bytes: number): Promise<void>;
}

/** Maximum bytes that one step reserves. */
const MAX_STEP_BYTES = 4 * 1024 * 1024;

/**
 * Creates a meter that reserves bytes for an attempt as they arrive. Each step grows with the number of bytes so far,
 * or covers exactly the needed bytes when the quota is nearly used up. `covered` bytes are reserved already.
 */
export function createMeter(
  parts: QuotaParts,
  intent: Intent,
  { tenant, account }: Pick<Reservation, 'tenant' | 'account'>,
  covered: number,
): Meter {
  let reserved = covered;
  let passed = 0;
  return {
    async admit(bytes) {
      passed += bytes;
      if (parts.settings.storageQuotaBytes === undefined || passed <= reserved) return;
      const needed = passed - reserved;
      const step = Math.max(needed, Math.min(passed, MAX_STEP_BYTES));
      try {
        await growReservation(parts, intent, { tenant, account, bytes: step });
        reserved += step;
      } catch (error) {
        if (step === needed || !isOverQuota(error)) throw error;
        await growReservation(parts, intent, { tenant, account, bytes: needed });
        reserved += needed;
      }
    },
  };
}

/** Yields the chunks of `source`, each only after its bytes are reserved. */
export async function* metered(source: AsyncIterable<Uint8Array>, meter: Meter): AsyncGenerator<Uint8Array> {
  for await (const chunk of source) {
    await meter.admit(chunk.length);
    yield chunk;
  }
}

/** Checks whether an error reports that the storage quota is exceeded. */
export function isOverQuota(error: unknown): error is Error {
  return error instanceof Error && (error as { reason?: string }).reason === 'storage_quota_exceeded';
}

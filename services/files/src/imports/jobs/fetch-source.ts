import { blobKey } from '../../domain/layout.js';
import { beginAttempt, endAttempt } from '../../storage/attempt.js';
import { createMeter, metered, settleBytes } from '../../storage/quota.js';
import { deleteBytes } from '../../storage/release.js';
import { faultIn, openUrl, SourceUnavailable } from '../../uploads/fetcher.js';
import type { ImportParts } from '../parts.js';
import { ImportFault } from '../sources/port.js';
import type { Hold } from './hold.js';
import { typeOfUrl } from './url-type.js';

/** Attempts to fetch a URL, and milliseconds of the linear backoff between them. */
const MAX_ATTEMPTS = 3;
const BACKOFF_MS = 2_000;

/** Fetches the bytes of an import from its URL. For the source type `url` it detects what they are. */
export async function fetchSource(parts: ImportParts, hold: Hold): Promise<void> {
  await hold.save(() => ({ phase: 'upload' }));
  for (let tries = 1; ; tries++) {
    try {
      await fetchOnce(parts, hold);
      return;
    } catch (error) {
      const fault = faultIn(error);
      if (fault !== undefined) {
        const retryable = fault.code === 'storage_quota_exceeded';
        throw new ImportFault(fault.code, fault.message, retryable, { cause: error });
      }
      if (!(error instanceof SourceUnavailable)) throw error;
      if (tries === MAX_ATTEMPTS) {
        const message = 'The source did not answer as expected.';
        throw new ImportFault('dependency_unavailable', message, true, { cause: error });
      }
      await new Promise((resolve) => setTimeout(resolve, BACKOFF_MS * tries));
    }
  }
}

async function fetchOnce(parts: ImportParts, hold: Hold): Promise<void> {
  const { id, tenant, url = '', sourceType } = hold.record;
  const limitMs = parts.settings.fetchSeconds * 1000;
  const blobId = parts.ids.create();
  const intent = await beginAttempt(parts, { fileId: id, revision: id, blobId }, limitMs + 60_000);
  const account = { tenant, account: 'sources' } as const;
  const meter = createMeter(parts, intent, account, 0);
  try {
    const signal = AbortSignal.timeout(limitMs);
    const stored = await parts.bytes.put(blobKey(blobId), metered(openUrl(parts, { url, tenant }, signal), meter));
    const readAs = sourceType === 'url' ? await typeOfUrl(parts, blobId, url) : undefined;
    await hold.save(
      () => ({ blobId, heldBytes: stored.sizeBytes, ...(readAs !== undefined && { readAs }) }),
      async (work) => {
        work.insert(parts.blobs, { id: blobId, ...stored, uses: 1 });
        const present = (await work.get(parts.intents, intent.id)) ?? intent;
        await settleBytes(parts, work, { ...account, bytes: stored.sizeBytes }, present.reserved?.bytes ?? 0);
        work.remove(parts.intents, present);
      },
    );
  } catch (error) {
    await deleteBytes(parts, blobId);
    await endAttempt(parts, intent);
    throw error;
  }
}

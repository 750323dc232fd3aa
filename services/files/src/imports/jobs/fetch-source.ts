import { newId } from '@commonplace/kit/id';
import { beginAttempt, endAttempt } from '../../acts/attempt.js';
import { deleteBytes } from '../../acts/release.js';
import { blobKey } from '../../domain/layout.js';
import { faultIn, openUrl } from '../../jobs/fetcher.js';
import { typeOfUrl } from '../domain/url-type.js';
import type { ImportParts } from '../parts.js';
import { ImportFault } from '../sources/port.js';
import { type Hold, ImportLost } from './hold.js';

/** Tries of a URL, and milliseconds between them. */
const TRIES = 3;
const PAUSE_MS = 2_000;

/** Fetches the bytes of an import from its URL; of a `url` it finds out what they are. */
export async function fetchSource(parts: ImportParts, hold: Hold): Promise<void> {
  await hold.save(() => ({ phase: 'upload' }));
  for (let tries = 1; ; tries++) {
    try {
      await fetchOnce(parts, hold);
      return;
    } catch (error) {
      const fault = faultIn(error);
      if (fault !== undefined) throw new ImportFault(fault.code, fault.message, false, { cause: error });
      if (!isNetwork(error)) throw error;
      if (tries === TRIES) {
        const message = 'The source did not answer as it should.';
        throw new ImportFault('dependency_unavailable', message, true, { cause: error });
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS * tries));
    }
  }
}

/** What went wrong on the way to the source, and not here. */
function isNetwork(error: unknown): boolean {
  return error instanceof Error && !(error instanceof ImportFault) && !(error instanceof ImportLost);
}

async function fetchOnce(parts: ImportParts, hold: Hold): Promise<void> {
  const { id, url = '', sourceType } = hold.record;
  const limitMs = parts.settings.fetchSeconds * 1000;
  const blobId = newId();
  const intent = await beginAttempt(parts, { fileId: id, revision: id, blobId }, limitMs + 60_000);
  try {
    const signal = AbortSignal.timeout(limitMs);
    const stored = await parts.bytes.put(blobKey(blobId), openUrl(parts, url, signal));
    const readAs = sourceType === 'url' ? await typeOfUrl(parts, blobId, url) : undefined;
    await hold.save(
      () => ({ blobId, ...(readAs !== undefined && { readAs }) }),
      async (work) => {
        work.insert(parts.blobs, { id: blobId, ...stored, uses: 1 });
        work.remove(parts.intents, intent);
      },
    );
  } catch (error) {
    await deleteBytes(parts, blobId);
    await endAttempt(parts, intent);
    throw error;
  }
}

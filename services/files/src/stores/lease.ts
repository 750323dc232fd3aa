import { LostRace } from '@commonplace/kit/store';
import type { Parts } from '../parts.js';
import type { Upload } from './records.js';

/** Takes an upload for this process, for so long; undefined where another was faster or it is gone. */
export async function lease(parts: Parts, upload: Upload, forMs: number): Promise<Upload | undefined> {
  const work = parts.store.begin();
  const lookAt = new Date(Date.now() + forMs).toISOString();
  const leased = work.replace(parts.uploads, upload, { ...upload, lookAt, attempts: upload.attempts + 1 });
  try {
    await work.commit();
    return leased;
  } catch (error) {
    if (error instanceof LostRace) return undefined;
    throw error;
  }
}

/** Says when an upload is to be looked at next; nothing where others have it by now. */
export async function lookAgain(parts: Parts, upload: Upload, inMs: number): Promise<void> {
  const work = parts.store.begin();
  const lookAt = new Date(Date.now() + inMs).toISOString();
  work.replace(parts.uploads, upload, { ...upload, lookAt });
  try {
    await work.commit();
  } catch (error) {
    if (!(error instanceof LostRace)) throw error;
  }
}

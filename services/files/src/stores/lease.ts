import { inWork, LostRace } from '@commonplace/kit/store';
import type { Parts } from '../parts.js';
import type { Upload } from './records.js';

/** Milliseconds that an upload is held for without saying so again, and after which that is said. */
export const LEASE_MS = 60_000;
const RENEW_MS = 20_000;

export interface Lease {
  readonly upload: Upload;
  /** Lets go of it. */
  end(): void;
}

/** Takes an upload for this process until `end`; undefined where another was faster or it is gone. */
export async function lease(parts: Parts, upload: Upload): Promise<Lease | undefined> {
  const work = parts.store.begin();
  const held = { ...upload, lookAt: after(LEASE_MS), attempts: upload.attempts + 1 };
  const leased = work.replace(parts.uploads, upload, held);
  try {
    await work.commit();
  } catch (error) {
    if (error instanceof LostRace) return undefined;
    throw error;
  }
  const renewal = setInterval(() => lookAgain(parts, upload.id, LEASE_MS).catch(() => {}), RENEW_MS);
  renewal.unref();
  return { upload: leased, end: () => clearInterval(renewal) };
}

/** Says when an upload is to be looked at next. */
export async function lookAgain(parts: Parts, id: string, inMs: number): Promise<void> {
  await inWork(parts.store, async (work) => {
    const present = await work.get(parts.uploads, id);
    if (present !== undefined) work.replace(parts.uploads, present, { ...present, lookAt: after(inMs) });
  });
}

const CHUNK = 200;

/** Gives back what a process held that is gone; only where there is no other process than this one. */
export async function takeLeases(parts: Parts): Promise<void> {
  const now = after(0);
  for (;;) {
    const where = { lookAt: { gt: now } };
    const held = await parts.uploads.find({ where, sort: ['lookAt'], limit: CHUNK });
    await inWork(parts.store, async (work) => {
      for (const upload of held) work.replace(parts.uploads, upload, { ...upload, lookAt: now });
    });
    if (held.length < CHUNK) return;
  }
}

function after(ms: number): string {
  return new Date(Date.now() + ms).toISOString();
}

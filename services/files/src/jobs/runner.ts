import type { Parts } from '../parts.js';
import { lookAgain } from '../stores/lease.js';
import type { Upload } from '../stores/records.js';
import { completeUpload, missingParts } from './complete.js';
import { fetchUpload } from './fetcher.js';

export interface Runner {
  /** Looks after uploads whose time has come, each second. */
  begin(): void;
  /** Looks now. */
  look(): Promise<void>;
  /** Takes nothing more on, and waits for what runs. */
  close(): Promise<void>;
}

const LOOK_MS = 1000;
/** Uploads that are worked on at the same time. */
const WIDTH = 4;

/** Fetches from URLs, and completes uploads whose bytes have landed without this process seeing it. */
export function createRunner(parts: Parts): Runner {
  const running = new Map<string, Promise<void>>();
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  const work = (upload: Upload) =>
    upload.how === 'fetch' ? fetchUpload(parts, upload) : completeWhenLanded(parts, upload);

  function start(upload: Upload): void {
    const done = work(upload)
      .catch(async (error) => {
        parts.log.warn('upload.failed', { upload_id: upload.id, error });
        await lookAgain(parts, upload.id, FAILED_MS);
      })
      // What waits behind it need not wait for the next second: after a restart all are looked at.
      .then(() => void setImmediate(lookNow))
      .catch((error) => parts.log.error('upload.lost', { upload_id: upload.id, error }))
      .finally(() => running.delete(upload.id));
    running.set(upload.id, done);
  }

  function lookNow(): void {
    if (!closed) look().catch((error) => parts.log.error('uploads.look_failed', { error }));
  }

  async function look(): Promise<void> {
    const room = WIDTH - running.size;
    if (room <= 0) return;
    const now = new Date().toISOString();
    const due = await parts.uploads.find({ where: { lookAt: { lte: now } }, sort: ['lookAt'], limit: room });
    if (closed) return;
    for (const upload of due) if (!running.has(upload.id)) start(upload);
  }

  return {
    look,
    begin() {
      timer = setInterval(lookNow, LOOK_MS);
      timer.unref();
    },
    async close() {
      closed = true;
      clearInterval(timer);
      await Promise.all(running.values());
    },
  };
}

const FAILED_MS = 30_000;

/** Clients put straight into a bucket, which tells nobody: it is asked, less often the longer it takes. */
async function completeWhenLanded(parts: Parts, upload: Upload): Promise<void> {
  const nothing = parts.bytes.exclusive && upload.how === 'single';
  if (!nothing && (await missingParts(parts, upload)) === 0) await completeUpload(parts, upload);
  else await lookAgain(parts, upload.id, parts.bytes.exclusive ? 300_000 : pauseMs(upload));
}

function pauseMs({ createdAt }: Upload): number {
  const age = Date.now() - Date.parse(createdAt);
  return age < 60_000 ? 2_000 : age < 600_000 ? 10_000 : 60_000;
}

import { inWork } from '@commonplace/kit/store';
import { failUpload } from '../acts/finish.js';
import { dropUpload } from '../acts/purge.js';
import { deleteDeadBlobs } from '../acts/release.js';
import { settle } from '../acts/settle.js';
import { tell } from '../acts/tell.js';
import type { Parts } from '../parts.js';
import { isKnown } from '../stores/known.js';
import type { Intent, Upload } from '../stores/records.js';
import { readPendingTexts } from './read-text.js';

export interface Sweeper {
  /** Begins the first pass, which also looks for bytes that nobody knows; then there is one each minute. */
  begin(): void;
  pass(whole: boolean): Promise<Swept>;
  close(): Promise<void>;
}

export interface Swept {
  readonly settled: number;
  readonly expired: number;
  readonly deleted: number;
  readonly orphans: number;
}

const PASS_MS = 60_000;
/** After a pass that failed, as when the tree is not up yet. */
const RETRY_MS = 3_000;
/** Passes from one that looks for bytes that nobody knows to the next. */
const WHOLE_EVERY = 60;
const CHUNK = 100;
/** Texts that have waited so long have been forgotten by who should have read them. */
const TEXT_MS = 300_000;

/** Settles what crashes have left between the tree, the records and the bytes, and what nobody finishes. */
export function createSweeper(parts: Parts): Sweeper {
  let timer: NodeJS.Timeout | undefined;
  let passes = 0;
  let closed = false;
  let running: Promise<unknown> = Promise.resolve();

  async function pass(whole: boolean): Promise<Swept> {
    const stopped = () => closed;
    const settled = await settleDead(parts, stopped);
    const expired = await expireUploads(parts, stopped);
    const deleted = await deleteDeadBlobs(parts);
    const orphans = whole ? await deleteOrphans(parts, stopped) : 0;
    const before = new Date(Date.now() - (passes === 0 && parts.bytes.exclusive ? 0 : TEXT_MS)).toISOString();
    parts.background('texts.failed', () => readPendingTexts(parts, before));
    passes++;
    const swept = { settled, expired, deleted, orphans };
    if (settled + expired + orphans > 0) parts.log.info('files.swept', swept);
    return swept;
  }

  const tick = () => {
    running = pass(passes % WHOLE_EVERY === 0)
      .then(() => PASS_MS)
      .catch((error) => {
        parts.log.warn('files.sweep_failed', { error });
        return RETRY_MS;
      })
      .then((pauseMs) => {
        if (!closed) timer = setTimeout(tick, pauseMs).unref();
      });
  };

  return {
    pass,
    begin: tick,
    async close() {
      closed = true;
      clearTimeout(timer);
      await running;
    },
  };
}

/** Whether the process ends: what a pass leaves is for the next process. */
type Stopped = () => boolean;

/** Attempts whose time is over, or whose process is gone. */
async function settleDead(parts: Parts, stopped: Stopped): Promise<number> {
  const now = new Date().toISOString();
  const isDead = (intent: Intent) => intent.until <= now || (parts.bytes.exclusive && intent.process !== parts.process);
  let settled = 0;
  let after: readonly (string | number | boolean)[] | undefined;
  for (;;) {
    const until = parts.bytes.exclusive ? { gt: '' } : { lte: now };
    const found: Intent[] = await parts.intents.find({ where: { until }, sort: ['until'], limit: CHUNK, after });
    for (const intent of found.filter(isDead)) {
      if (stopped()) return settled;
      await settle(parts, intent);
      settled++;
    }
    const last = found.at(-1);
    if (last === undefined || found.length < CHUNK) return settled;
    after = [last.until, last.id];
  }
}

/** Uploads that nobody has finished within their time. */
async function expireUploads(parts: Parts, stopped: Stopped): Promise<number> {
  const where = { expiresAt: { lte: new Date().toISOString() } };
  const over = await parts.uploads.find({ where, sort: ['expiresAt'], limit: CHUNK });
  let expired = 0;
  for (const upload of over) {
    if (stopped()) break;
    await expire(parts, upload);
    expired++;
  }
  return expired;
}

async function expire(parts: Parts, upload: Upload): Promise<void> {
  if (upload.importId !== undefined) {
    await failUpload(parts, upload, { code: 'upload_incomplete', message: 'The bytes did not come in time.' });
    return;
  }
  if (upload.how === 'fetch') {
    await failUpload(parts, upload, { code: 'timeout', message: 'The source was not fetched in time.' });
    return;
  }
  await dropUpload(parts, upload);
  const file = await inWork(parts.store, async (work) => {
    const before = await work.get(parts.files, upload.fileId);
    if (before === undefined || before.versionId !== undefined || before.revision !== upload.id) return undefined;
    return work.replace(parts.files, before, { ...before, status: 'expired', updatedAt: new Date().toISOString() });
  });
  if (file !== undefined) await tell(parts, file);
}

/** Bytes and parts that no record and no attempt knows. Attempts are written before their bytes are. */
async function deleteOrphans(parts: Parts, stopped: Stopped): Promise<number> {
  let orphans = 0;
  for await (const { key } of parts.bytes.list('')) {
    if (stopped()) return orphans;
    if (await isKnown(parts, key)) continue;
    await parts.bytes.delete(key);
    orphans++;
  }
  for await (const { key, upload } of parts.bytes.unfinished('')) {
    if (stopped()) return orphans;
    if (await isKnown(parts, key)) continue;
    await parts.bytes.abortParts(key, upload);
    orphans++;
  }
  return orphans;
}

import { findPages, inWork } from '@commonplace/kit/store';
import { abortOrphans, emptyTrash, observeHeld, ownsBytes, sweepOrphans } from '../storage/orphans.js';
import type { Intent, Upload } from '../storage/records.js';
import { deleteDeadBlobs } from '../storage/release.js';
import { updateNode } from '../storage/update-node.js';
import { createPendingTexts } from '../texts/read-text.js';
import { cleanUpAttempt } from './clean-up-attempt.js';
import { failUpload } from './finish.js';
import type { SweeperParts } from './parts.js';
import { dropUpload } from './purge.js';

interface Sweeper {
  /** Starts with a full pass, which also looks for unreferenced bytes; then runs one pass a minute. */
  begin(): void;
  pass(whole: boolean): Promise<SweepCounts>;
  close(): Promise<void>;
}

interface SweepCounts {
  readonly settled: number;
  readonly expired: number;
  readonly deleted: number;
  /** Number of objects moved to the trash and of aborted multipart uploads. */
  readonly orphans: number;
  /** Number of objects deleted from the trash. */
  readonly purged: number;
  /** Number of attempts and uploads that are left for the next pass. */
  readonly failed: number;
}

const NOTHING: SweepCounts = { settled: 0, expired: 0, deleted: 0, orphans: 0, purged: 0, failed: 0 };

const PASS_MS = 60_000;
/**
 * Milliseconds after a pass with failures, as when the tree service has not started yet; doubles each time, up to a
 * minute.
 */
const RETRY_MS = 3_000;

function pauseAfter(failures: number): number {
  return failures === 0 ? PASS_MS : Math.min(RETRY_MS * 2 ** (failures - 1), PASS_MS);
}

/** Passes from one full pass to the next. */
const WHOLE_EVERY = 60;
const CHUNK = 100;
/** Milliseconds after which a pending text is considered forgotten by the process that should have extracted it. */
const TEXT_MS = 300_000;

/** Cleans up inconsistencies between tree, records and bytes that crashes have left, and expires unfinished uploads. */
export function createSweeper(parts: SweeperParts): Sweeper {
  let timer: NodeJS.Timeout | undefined;
  let passes = 0;
  let failures = 0;
  let closed = false;
  let running: Promise<unknown> = Promise.resolve();
  const unobserve = observeHeld(parts);
  const readPendingTexts = createPendingTexts(parts);

  async function pass(whole: boolean): Promise<SweepCounts> {
    const stopped = () => closed;
    if (!(await ownsBytes(parts))) return NOTHING;
    const attempts = await cleanUpDeadAttempts(parts, stopped);
    const uploads = await expireUploads(parts, stopped);
    const [settled, expired] = [attempts.done, uploads.done];
    const deleted = await deleteDeadBlobs(parts);
    const orphans = whole ? (await sweepOrphans(parts, stopped)) + (await abortOrphans(parts, stopped)) : 0;
    const purged = whole ? await emptyTrash(parts, stopped) : 0;
    const before = new Date(Date.now() - (passes === 0 && parts.bytes.exclusive ? 0 : TEXT_MS)).toISOString();
    parts.background('texts.failed', () => readPendingTexts(before));
    passes++;
    const failed = attempts.failed + uploads.failed;
    const swept = { settled, expired, deleted, orphans, purged, failed };
    if (settled + expired + orphans + purged + failed > 0) parts.log.info('files.swept', swept);
    return swept;
  }

  const tick = () => {
    running = pass(passes % WHOLE_EVERY === 0)
      .then(({ failed }) => failed === 0)
      .catch((error) => {
        parts.log.warn('files.sweep_failed', { error });
        return false;
      })
      .then((isClean) => {
        failures = isClean ? 0 : failures + 1;
        if (!closed) timer = setTimeout(tick, pauseAfter(failures)).unref();
      });
  };

  return {
    pass,
    begin: tick,
    async close() {
      closed = true;
      clearTimeout(timer);
      await running;
      unobserve();
    },
  };
}

/** Returns whether the process is ending; the rest of a pass is left to the next process. */
type StopCheck = () => boolean;

/** Counts what a pass has handled, and failures that are left for the next pass. */
interface Tally {
  done: number;
  failed: number;
}

/** Calls `act` for each record. A failure is logged and does not stop the others. */
async function forEach<T extends { readonly id: string }>(
  { log }: SweeperParts,
  found: readonly T[],
  tally: Tally,
  stopped: StopCheck,
  what: string,
  act: (one: T) => Promise<void>,
): Promise<void> {
  for (const one of found) {
    if (stopped()) return;
    try {
      await act(one);
      tally.done++;
    } catch (error) {
      tally.failed++;
      log.warn(what, { id: one.id, error });
    }
  }
}

/** Cleans up after attempts whose time is over or whose process is gone. */
async function cleanUpDeadAttempts(parts: SweeperParts, stopped: StopCheck): Promise<Tally> {
  const now = new Date().toISOString();
  const isDead = (intent: Intent) => intent.until <= now || (parts.bytes.exclusive && intent.process !== parts.process);
  const tally: Tally = { done: 0, failed: 0 };
  const until = parts.bytes.exclusive ? { gt: '' } : { lte: now };
  const act = (intent: Intent) => cleanUpAttempt(parts, intent);
  for await (const found of findPages(parts.intents, { where: { until }, sort: ['until'] }, CHUNK)) {
    await forEach(parts, found.filter(isDead), tally, stopped, 'attempt.not_settled', act);
    if (stopped()) break;
  }
  return tally;
}

/** Expires uploads that were not finished in time. */
async function expireUploads(parts: SweeperParts, stopped: StopCheck): Promise<Tally> {
  const where = { expiresAt: { lte: new Date().toISOString() } };
  const tally: Tally = { done: 0, failed: 0 };
  for await (const over of findPages(parts.uploads, { where, sort: ['expiresAt'] }, CHUNK)) {
    await forEach(parts, over, tally, stopped, 'upload.not_expired', (upload) => expire(parts, upload));
    if (stopped()) break;
  }
  return tally;
}

async function expire(parts: SweeperParts, upload: Upload): Promise<void> {
  if (upload.importId !== undefined) {
    await failUpload(parts, upload, { code: 'upload_incomplete', message: 'The bytes were not uploaded in time.' });
    return;
  }
  if (upload.how === 'fetch') {
    await failUpload(parts, upload, { code: 'timeout', message: 'The source could not be fetched in time.' });
    return;
  }
  await dropUpload(parts, upload);
  const file = await inWork(parts.store, async (work) => {
    const before = await work.get(parts.files, upload.fileId);
    if (before === undefined || before.versionId !== undefined || before.revision !== upload.id) return undefined;
    return work.replace(parts.files, before, { ...before, status: 'expired', updatedAt: new Date().toISOString() });
  });
  if (file !== undefined) await updateNode(parts, file);
}

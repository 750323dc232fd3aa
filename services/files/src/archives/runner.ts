import { AppError } from '@commonplace/kit/errors';
import { inWork } from '@commonplace/kit/store';
import { expireArchives, removeSteps } from './expire.js';
import { runExport } from './export.js';
import { ArchiveLost, type Hold, holdArchive } from './hold.js';
import type { ArchiveParts } from './parts.js';
import { type ArchiveRecord, archiveKey } from './records.js';

export interface ArchiveRunner {
  /** Looks after exports whose time has come, each second; first after those of an earlier process of this store. */
  begin(): Promise<void>;
  /** Looks now. */
  look(): void;
  close(): Promise<void>;
}

const LOOK_MS = 1_000;
/** Exports that run at the same time. */
const WIDTH = 2;
/** Tries one after the other that come to nothing. */
const TRIES = 8;
const PAUSE_MS = 5_000;

/** Runs exports, and takes away those whose time is over. */
export function createArchiveRunner(parts: ArchiveParts): ArchiveRunner {
  const running = new Map<string, Promise<void>>();
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> = Promise.resolve();
  let closed = false;
  let looks = 0;

  async function work(record: ArchiveRecord): Promise<void> {
    const hold = await holdArchive(parts, record);
    if (hold === undefined) return;
    try {
      await runExport(parts, hold, () => closed);
      if (closed) await handBack(hold);
    } catch (error) {
      if (!(error instanceof ArchiveLost)) await failed(parts, hold, error);
    } finally {
      await hold.end();
    }
  }

  async function lookOnce(): Promise<void> {
    if (looks++ % 60 === 0) await expireArchives(parts);
    const room = WIDTH - running.size;
    if (room <= 0 || closed) return;
    const where = { leaseUntil: { lte: new Date().toISOString() } };
    const due = await parts.archives.find({ where, sort: ['leaseUntil'], limit: room });
    for (const record of due) {
      if (closed || running.has(record.id)) continue;
      const done = work(record)
        .catch((error) => parts.log.error('archive.lost', { archive_id: record.id, error }))
        .finally(() => running.delete(record.id));
      running.set(record.id, done);
    }
  }

  const look = () => {
    looking = looking.then(lookOnce).catch((error) => parts.log.error('archives.look_failed', { error }));
  };

  return {
    look,
    async begin() {
      if (parts.bytes.exclusive) await takeOver(parts);
      timer = setInterval(look, LOOK_MS);
      timer.unref();
      look();
    },
    async close() {
      closed = true;
      clearInterval(timer);
      await looking;
      await Promise.all(running.values());
    },
  };
}

/** What this process has not finished goes on elsewhere at once. */
async function handBack(hold: Hold): Promise<void> {
  if (hold.record.leaseUntil !== undefined) await hold.save({ leaseUntil: new Date().toISOString() });
}

/** What a dead process held is due; only where there is no other process than this one. */
async function takeOver(parts: ArchiveParts): Promise<void> {
  const now = new Date().toISOString();
  const held = await parts.archives.find({ where: { leaseUntil: { gt: now } }, sort: ['leaseUntil'], limit: 1000 });
  for (const { id } of held) {
    await inWork(parts.store, async (work) => {
      const record = await work.get(parts.archives, id);
      if (record?.leaseUntil !== undefined) work.replace(parts.archives, record, { ...record, leaseUntil: now });
    });
  }
}

const REFUSALS: ReadonlySet<AppError['code']> = new Set(['PERMISSION_DENIED', 'NOT_FOUND', 'UNAUTHENTICATED']);

/** Tries again in a while, or ends an export that can't be made. */
async function failed(parts: ArchiveParts, hold: Hold, error: unknown): Promise<void> {
  const { id, attempt, upload, tries } = hold.record;
  parts.log.warn('archive.failed', { archive_id: id, attempt, error });
  const refused = error instanceof AppError && REFUSALS.has(error.code);
  if (!refused && tries < TRIES) {
    const leaseUntil = new Date(Date.now() + PAUSE_MS * (tries + 1)).toISOString();
    await hold.save({ leaseUntil, tries: tries + 1 });
    return;
  }
  if (upload !== undefined) await parts.bytes.abortParts(archiveKey(id), upload);
  const fault = refused
    ? { code: 'access_lost', message: 'Who asked for it does not administer the workspace any more.', retryable: false }
    : { code: 'internal_error', message: 'It could not be written. Ask for it again.', retryable: true };
  await hold.save({
    status: 'failed',
    error: fault,
    finishedAt: new Date().toISOString(),
    activeKey: undefined,
    leaseUntil: undefined,
  });
  await hold.end();
  await removeSteps(parts, id);
}

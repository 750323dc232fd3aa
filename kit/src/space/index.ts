import { randomBytes } from 'node:crypto';
import { statSync, unlinkSync, writeFileSync } from 'node:fs';
import { statfs as statfsOf } from 'node:fs/promises';
import { join } from 'node:path';
import { isStorageFull, StorageFull } from '../errors/index.js';
import type { Log } from '../log/index.js';
import { gauge } from '../telemetry/instruments.js';

/** Watches the free space on the disk of a folder, and reserves some of it for deletions. */
export interface SpaceGuard {
  /** Whether writes that need space are refused at present. */
  readonly full: boolean;
  /** Number of free bytes at the last check. */
  readonly freeBytes: number;
  /** Throws `storage_full` if there is not enough space. */
  requireRoom(): void;
  /**
   * Releases the reserve after a write failed because the disk was full. Returns whether there was a reserve, so that
   * the write may be retried.
   */
  recover(): boolean;
  /** Checks the disk now; otherwise it is checked each second. */
  look(): Promise<void>;
  close(): void;
}

type Statfs = (folder: string) => Promise<{ bavail: number; blocks: number; bsize: number }>;

interface SpaceOptions {
  readonly folder: string;
  /**
   * Free bytes below which writes that need space are refused, at most 5 % of the disk. With 0, they are accepted until
   * the disk refuses them.
   */
  readonly reserveBytes: number;
  readonly log: Log;
  /** Returns the bytes that later writes can reuse without the disk, such as the free pages of a database. */
  readonly reusableBytes?: () => number;
  readonly statfs?: Statfs;
}

/** Maximum share of the disk for the reserve. */
const MAX_RESERVE_SHARE = 0.05;
/** Maximum size in bytes of the file that reserves space for a deletion when the disk is full. */
const MAX_BALLAST_BYTES = 8 * 2 ** 20;
/** Free space, as a multiple of the reserve, above which writes that need space are accepted again. */
const ENOUGH_SHARE = 1.1;
const LOOK_MS = 1000;
/** Name of that file in the folder. */
export const BALLAST_FILE = 'room.reserve';

const freeRoom = gauge('storage.free', 'By', 'Free bytes on the disk of the data folder.');
const allRoom = gauge('storage.size', 'By', 'Bytes of the disk of the data folder.');
const fullness = gauge('storage.full', '{state}', 'Whether writes that need more room are refused: 1 or 0.');

/**
 * Opens the guard of a folder. It checks the disk each second, so that a request costs only a comparison. Deletions are
 * never refused: when the disk refuses one, the reserve file is deleted, and the deletion can use its space.
 */
export async function openSpaceGuard(options: SpaceOptions): Promise<SpaceGuard> {
  const { folder, log, reusableBytes = () => 0, statfs = statfsOf } = options;
  const file = join(folder, BALLAST_FILE);
  let full = false;
  let freeBytes = 0;
  let sizeBytes = 0;
  let reserve = 0;
  let hasBallast = false;
  let looking: Promise<void> | undefined;

  function set(now: boolean): void {
    if (now === full) return;
    full = now;
    const facts = { folder, free_bytes: freeBytes, reserve_bytes: reserve };
    if (now) log.error('storage.full', { ...facts, effect: 'only reads and deletions are served' });
    else log.warn('storage.has_room', facts);
  }

  async function measure(): Promise<void> {
    const { bavail, blocks, bsize } = await statfs(folder);
    freeBytes = bavail * bsize;
    sizeBytes = blocks * bsize;
    reserve = Math.min(options.reserveBytes, Math.floor(blocks * bsize * MAX_RESERVE_SHARE));
    const isShort = freeBytes < reserve * (full ? ENOUGH_SHARE : 1);
    // The log of a database needs some disk space even if its pages are reused.
    const room = isShort && freeBytes >= reserve / 4 ? freeBytes + reusableBytes() : freeBytes;
    set(reserve > 0 && room < reserve * (full ? ENOUGH_SHARE : 1));
    const ballast = ballastOf(reserve);
    if (ballast === 0) giveUp(file);
    else if (!hasBallast && statSync(file, { throwIfNoEntry: false })?.size === ballast) hasBallast = true;
    else if (!hasBallast && freeBytes >= reserve + 2 * ballast) hasBallast = takeRoom(file, ballast, log);
  }

  const look = () => {
    looking ??= measure()
      .catch((error) => log.warn('storage.unknown', { folder, error }))
      .finally(() => {
        looking = undefined;
      });
    return looking;
  };

  await look();
  const timer = setInterval(look, LOOK_MS).unref();
  const observed = [
    freeRoom.observe(() => [{ attributes: {}, value: freeBytes }]),
    allRoom.observe(() => [{ attributes: {}, value: sizeBytes }]),
    fullness.observe(() => [{ attributes: {}, value: full ? 1 : 0 }]),
  ];
  return {
    get full() {
      return full;
    },
    get freeBytes() {
      return freeBytes;
    },
    requireRoom() {
      if (full) throw StorageFull();
    },
    recover() {
      set(true);
      hasBallast = false;
      return giveUp(file);
    },
    look,
    close() {
      clearInterval(timer);
      for (const end of observed) end();
    },
  };
}

/** Runs a write, and retries it once if it failed because the disk was full and the reserve could be released. */
export function withRoom<T>(space: SpaceGuard | undefined, write: () => Promise<T>): Promise<T> {
  if (space === undefined) return write();
  return write().catch((error) => {
    if (!isStorageFull(error) || !space.recover()) throw error;
    return write();
  });
}

const ballastOf = (reserve: number): number => Math.min(MAX_BALLAST_BYTES, Math.floor(reserve / 2));

/** Reserves space with random bytes, which no file system can compress. */
function takeRoom(file: string, bytes: number, log: Log): boolean {
  try {
    writeFileSync(file, randomBytes(bytes), { mode: 0o600 });
    return true;
  } catch (error) {
    giveUp(file);
    log.warn('storage.no_reserve', { file, error });
    return false;
  }
}

function giveUp(file: string): boolean {
  try {
    unlinkSync(file);
    return true;
  } catch {
    return false;
  }
}

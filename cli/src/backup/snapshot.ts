import { setTimeout } from 'node:timers/promises';
import { openSqliteDatabase } from '@commonplace/adapters/sqlite';
import { openConnection } from '@commonplace/adapters/sqlite/file';
import { isKnown, openKeyRecords, usedKeys } from '@commonplace/files/blobs';
import { CommandError, EXIT } from '../exit.js';
import type { Progress } from '../progress.js';
import type { Stage } from './stage.js';

/** The contents of a database copy and the blobs that belong to it. */
interface Snapshot {
  readonly records: Record<string, number>;
  readonly events: number;
  readonly keys: readonly string[];
  /** Keys that the copy's records name but for which no bytes exist. */
  readonly missing: readonly string[];
}

/** Maximum number of attempts to copy, because bytes may be created and deleted between the copy and its check. */
const MAX_ATTEMPTS = 5;
const HOLD_EVERY_MS = 20;

/**
 * Copies the records and holds the bytes that they name. Bytes are written before the records that name them, and
 * deleted after them. So existing bytes are held first, then new ones while the database is copied, and once more
 * afterwards.
 */
export async function takeSnapshot(stage: Stage, progress: Progress, withBlobs: boolean): Promise<Snapshot> {
  if (withBlobs) {
    progress.step('Holding the bytes of files');
    await stage.holdBlobs(progress.add);
  }
  for (let tries = 1; ; tries++) {
    progress.step('Copying the records');
    const copying = stage.copyDatabase();
    if (withBlobs) await holdWhile(copying, stage);
    await copying;
    const held = withBlobs ? await stage.holdBlobs() : [];
    progress.step('Checking the copy');
    const { records, events } = examine(stage.database);
    const { keys, missing } = await namedBytes(stage.database, held, withBlobs);
    if (missing.length === 0 || tries === MAX_ATTEMPTS) return { records, events, keys, missing };
  }
}

/** Keeps holding new bytes until `work` ends, because they may be deleted before that. */
async function holdWhile(work: Promise<unknown>, stage: Stage): Promise<void> {
  const ended = new AbortController();
  const settled = work.then(
    () => ended.abort(),
    () => ended.abort(),
  );
  while (!ended.signal.aborted) {
    await stage.holdBlobs();
    await Promise.race([settled, setTimeout(HOLD_EVERY_MS)]);
  }
}

/** Counts the records and events in a database. Throws if the database is damaged. */
function examine(database: string): { records: Record<string, number>; events: number } {
  const connection = openConnection(database);
  try {
    const [verdict] = connection.get('PRAGMA quick_check(1)') ?? [];
    if (verdict !== 'ok') throw new CommandError(EXIT.failed, `the database is damaged: ${verdict}`);
    const count = (table: string) => Number(connection.get(`SELECT count(*) FROM ${table}`)?.[0]);
    const tables = connection.all("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").map(String);
    // Collections are named `service__collection`. Tables with three parts in their names are derived from collections.
    const collections = tables.filter((name) => /^[a-z0-9]+__[a-z0-9]+(_[a-z0-9]+)*$/.test(name));
    const records = Object.fromEntries(collections.map((name) => [name.replace('__', '.'), count(name)]));
    return { records, events: tables.includes('events') ? count('events') : 0 };
  } finally {
    connection.close();
  }
}

async function namedBytes(file: string, held: readonly string[], withBlobs: boolean) {
  const database = await openSqliteDatabase({ file });
  try {
    const records = await openKeyRecords(database.store('files'));
    const keys: string[] = [];
    for (const key of held) if (await isKnown(records, key)) keys.push(key);
    const there = new Set(keys);
    const missing: string[] = [];
    if (withBlobs) for await (const { key } of usedKeys(records)) if (!there.has(key)) missing.push(key);
    return { keys, missing };
  } finally {
    await database.close();
  }
}

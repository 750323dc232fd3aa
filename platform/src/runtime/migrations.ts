import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigError } from '@commonplace/kit/config';
import { newId } from '@commonplace/kit/id';
import { type Collection, type CollectionSpec, LostRace, type Store, type StoredRecord } from '@commonplace/kit/store';

/**
 * A change to a service's stored data. It may be interrupted at any point and then runs again from the start, and where
 * other processes write to the store it is repeated later, so it must be idempotent.
 */
export interface Migration {
  /** Name of one or several words, for people. */
  readonly name: string;
  run(store: Store): Promise<void>;
}

/** The format version of a service's stored data: 1 at first, plus 1 for each migration. */
interface FormatRecord extends StoredRecord {
  readonly format: number;
  /** The process that holds the lease for migrating; `heldUntil` is the lease's end. */
  readonly holder?: string;
  /** RFC 3339. */
  readonly heldUntil?: string;
  /** When the last migration ended, and the format before it and those that ended shortly before. */
  readonly migratedAt?: string;
  readonly migratedFrom?: number;
  /** When these migrations were last repeated. */
  readonly repeatedAt?: string;
}

const formatCollection: CollectionSpec<FormatRecord> = { name: 'store_format', indexes: [] };
const ID = 'format';
const FIRST = 1;
/** Milliseconds without a renewal after which a migrating process is considered dead. */
const HELD_MS = 30_000;
const LOOK_MS = 500;
/** Milliseconds between repetitions of a migration, and after it in which it is repeated. */
export const REPEAT_MS = 5 * 60_000;
const REPEATED_MS = 60 * 60_000;

interface FormatState {
  /** Absent if nothing has been stored yet. */
  readonly format: number | undefined;
  /** The format version of this release. */
  readonly latest: number;
  /** Names of the migrations still to run, in order; none if nothing has been stored yet. */
  readonly pending: readonly string[];
}

/** Returns the format of a store without changing it. */
export async function formatOf(store: Store, migrations: readonly Migration[]): Promise<FormatState> {
  const record = await (await store.collection(formatCollection)).get(ID);
  const latest = FIRST + migrations.length;
  if (record === undefined) return { format: undefined, latest, pending: [] };
  const pending = migrations.slice(record.format - FIRST).map(({ name }) => name);
  return { format: record.format, latest, pending };
}

/**
 * Checks the format before a service reads its store, and records it for a new store. Migrates a store that no other
 * process writes to. Throws ConfigError if a newer release has changed the store, or if migrations have to run first.
 */
export async function requireFormat(service: string, store: Store, migrations: readonly Migration[]): Promise<void> {
  const { format, latest, pending } = await formatOf(store, migrations);
  if (format !== undefined && format > latest) throw newer(service, format, latest);
  if (format === undefined || store.isExclusive) await migrate(store, migrations);
  else if (pending.length > 0) {
    throw new ConfigError([`the stored data of ${service} must be migrated first (${pending.join(', ')})`]);
  }
}

/**
 * Runs the pending migrations of a store. One of several processes runs them while the others wait. Returns the names
 * of those that this process has run. Throws ConfigError if a newer release has changed the store.
 */
export async function migrate(
  store: Store,
  migrations: readonly Migration[],
  before: (name: string) => void = () => {},
): Promise<string[]> {
  const formats = await store.collection(formatCollection);
  const holder = newId();
  const ran: string[] = [];
  for (;;) {
    const record = await taken(store, formats, holder, FIRST + migrations.length);
    if (record === undefined) return ran;
    const next = migrations[record.format - FIRST];
    if (next === undefined) {
      await release(store, formats, holder);
      return ran;
    }
    before(next.name);
    try {
      await holding(store, formats, holder, () => next.run(store));
    } catch (error) {
      // The lease is released so that a retry need not wait; that of a killed process has to expire.
      await release(store, formats, holder).catch(() => {});
      throw error;
    }
    const now = await formats.get(ID);
    if (now?.holder !== holder) throw new Error('another process has taken the migration over');
    await write(store, formats, { ...now, ...migratedNow(now), format: now.format + 1 });
    ran.push(next.name);
  }
}

/**
 * Repeats the last migrations of a store, if they ended within the last hour and were not repeated for five minutes:
 * processes of the previous release that still ran may have written records meanwhile. Of several processes one repeats
 * them. Returns the names of those that this process has repeated.
 */
export async function repeatMigrations(
  store: Store,
  migrations: readonly Migration[],
  now = Date.now(),
): Promise<string[]> {
  const formats = await store.collection(formatCollection);
  const record = await formats.get(ID);
  const isCurrent = record?.format === FIRST + migrations.length;
  if (record === undefined || !isCurrent || !isFree(record) || !isToRepeat(record, now)) return [];
  const holder = newId();
  try {
    await write(store, formats, { ...record, holder, heldUntil: held(), repeatedAt: new Date(now).toISOString() });
  } catch (error) {
    if (error instanceof LostRace) return [];
    throw error;
  }
  const again = migrations.slice((record.migratedFrom ?? FIRST) - FIRST);
  try {
    await holding(store, formats, holder, async () => {
      for (const migration of again) await migration.run(store);
    });
  } finally {
    await release(store, formats, holder);
  }
  return again.map(({ name }) => name);
}

function isToRepeat({ migratedAt = '', repeatedAt = migratedAt }: FormatRecord, now: number): boolean {
  return now - Date.parse(migratedAt) < REPEATED_MS && now - Date.parse(repeatedAt) >= REPEAT_MS;
}

/** Returns the fields in which a format record notes that its migration has just ended. */
function migratedNow({ format, migratedAt = '', migratedFrom }: FormatRecord): Partial<FormatRecord> {
  const isFirst = !(Date.now() - Date.parse(migratedAt) < REPEATED_MS);
  return {
    migratedAt: new Date().toISOString(),
    migratedFrom: isFirst ? format : (migratedFrom ?? format),
    repeatedAt: undefined,
  };
}

/**
 * Returns the record with this process as lease holder; undefined if there is nothing to do. Waits while another
 * process holds the lease.
 */
async function taken(
  store: Store,
  formats: Collection<FormatRecord>,
  holder: string,
  latest: number,
): Promise<FormatRecord | undefined> {
  for (;;) {
    try {
      const record = (await formats.get(ID)) ?? (await insert(store, formats));
      if (record.format > latest) throw newer('a service', record.format, latest);
      const free = isFree(record) || record.holder === holder;
      if (free && record.format === latest && record.holder === undefined) return undefined;
      if (free) return await write(store, formats, { ...record, holder, heldUntil: held() });
    } catch (error) {
      if (!(error instanceof LostRace)) throw error;
    }
    await sleep(LOOK_MS);
  }
}

/** Runs long work and renews this process's lease meanwhile. */
async function holding(
  store: Store,
  formats: Collection<FormatRecord>,
  holder: string,
  run: () => Promise<void>,
): Promise<void> {
  let renewing: Promise<unknown> = Promise.resolve();
  const renew = async () => {
    const record = await formats.get(ID);
    if (record?.holder === holder) await write(store, formats, { ...record, heldUntil: held() });
  };
  const timer = setInterval(() => {
    // The next renewal makes up for a missed one; a takeover in between is detected at the end.
    renewing = renewing.then(renew).catch(() => {});
  }, HELD_MS / 3);
  try {
    await run();
  } finally {
    clearInterval(timer);
    await renewing;
  }
}

async function release(store: Store, formats: Collection<FormatRecord>, holder: string): Promise<void> {
  const record = await formats.get(ID);
  if (record?.holder === holder) {
    await write(store, formats, { ...record, holder: undefined, heldUntil: undefined });
  }
}

async function insert(store: Store, formats: Collection<FormatRecord>): Promise<FormatRecord> {
  const work = store.begin();
  const record = work.insert(formats, { id: ID, format: FIRST });
  await work.commit();
  return record;
}

async function write(store: Store, formats: Collection<FormatRecord>, record: FormatRecord): Promise<FormatRecord> {
  const before = await formats.get(ID);
  if (before === undefined || before.version !== record.version) throw new LostRace(formatCollection.name, ID);
  const work = store.begin();
  const after = work.replace(formats, before, record);
  await work.commit();
  return after;
}

const held = (): string => new Date(Date.now() + HELD_MS).toISOString();
const isFree = ({ holder, heldUntil }: FormatRecord): boolean => holder === undefined || isPast(heldUntil);
const isPast = (time: string | undefined): boolean => time === undefined || time <= new Date().toISOString();

function newer(service: string, format: number, latest: number): ConfigError {
  return new ConfigError([
    `what ${service} has stored is of a newer release (form ${format}; this one knows ${latest}): run that release`,
  ]);
}

import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigError } from '../config/index.js';
import { newId } from '../id/index.js';
import { type Collection, type CollectionSpec, LostRace, type Store, type StoredRecord } from '../store/port.js';

/**
 * A change of what a service has stored. It may be cut off anywhere and is run again then, from its beginning: what it
 * has done already it finds done.
 */
export interface Migration {
  /** One word or several, for people. */
  readonly name: string;
  run(store: Store): Promise<void>;
}

/** The form of what a service stores: 1 at first, and one more after each of its migrations. */
interface FormatRecord extends StoredRecord {
  readonly format: number;
  /** Who migrates, and until when that is believed. */
  readonly holder?: string;
  /** RFC 3339. */
  readonly heldUntil?: string;
}

const formatCollection: CollectionSpec<FormatRecord> = { name: 'store_format', indexes: [] };
const ID = 'format';
const FIRST = 1;
/** A migrating process that says nothing for so long is taken for dead. */
const HELD_MS = 30_000;
const LOOK_MS = 500;

export interface FormatState {
  /** Absent where nothing has been stored yet. */
  readonly format: number | undefined;
  /** The form that this release knows. */
  readonly latest: number;
  /** What is still to be run, in order. */
  readonly pending: readonly string[];
}

/** How far a store is, without changing that. */
export async function formatOf(store: Store, migrations: readonly Migration[]): Promise<FormatState> {
  const record = await (await store.collection(formatCollection)).get(ID);
  const latest = FIRST + migrations.length;
  const pending = migrations.slice((record?.format ?? FIRST) - FIRST).map(({ name }) => name);
  return { format: record?.format, latest, pending };
}

/**
 * What a service does before it reads its store: notes the form of one that is new. Throws ConfigError where a newer
 * release has been at it, or migrations are to be run first.
 */
export async function requireFormat(service: string, store: Store, migrations: readonly Migration[]): Promise<void> {
  const { format, latest, pending } = await formatOf(store, migrations);
  if (format === undefined) await migrate(store, migrations);
  else if (format > latest) throw newer(service, format, latest);
  else if (pending.length > 0) {
    throw new ConfigError([`what ${service} has stored is to be changed first (${pending.join(', ')}): migrate it`]);
  }
}

/**
 * Runs the migrations that a store lacks. Of several processes one does it, and the others wait. Gives the names of
 * those that this one has run. Throws ConfigError where a newer release has been at the store.
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
      // Whoever tries again need not wait; a process that is killed is waited for.
      await release(store, formats, holder).catch(() => {});
      throw error;
    }
    const now = await formats.get(ID);
    if (now?.holder !== holder) throw new Error('another process has taken the migration over');
    await write(store, formats, { ...now, format: now.format + 1 });
    ran.push(next.name);
  }
}

/** The record, held by this process; undefined where there is nothing to do. Waits for another that holds it. */
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
      const free = record.holder === undefined || record.holder === holder || isPast(record.heldUntil);
      if (free && record.format === latest && record.holder === undefined) return undefined;
      if (free) return await write(store, formats, { ...record, holder, heldUntil: held() });
    } catch (error) {
      if (!(error instanceof LostRace)) throw error;
    }
    await sleep(LOOK_MS);
  }
}

/** Runs what may take long, and says meanwhile that this process is at it. */
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
    // One that is missed is made up for by the next; whoever takes over in between is seen at the end.
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
const isPast = (time: string | undefined): boolean => time === undefined || time <= new Date().toISOString();

function newer(service: string, format: number, latest: number): ConfigError {
  return new ConfigError([
    `what ${service} has stored is of a newer release (form ${format}; this one knows ${latest}): run that release`,
  ]);
}

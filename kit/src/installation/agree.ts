import { ConfigError } from '../config/index.js';
import { newId } from '../id/index.js';
import type { Log } from '../log/index.js';
import type { IdentifiedStore, Installation, InstallationRecords, StoreKind } from './port.js';

/** Values that `COMMONPLACE_ADOPT` accepts. */
export type Adoptable = StoreKind | 'keys';

interface AgreeOptions {
  /** What this start may adopt although it is not provably the installation's own. */
  readonly adopt: readonly Adoptable[];
  readonly log: Log;
  /** The id that the records must have, if it was determined elsewhere. */
  readonly givenId?: string;
  /** Key files that existed before this start without a database next to them. */
  readonly strayKeys?: readonly string[];
}

/**
 * Verifies that records and the stores beside them belong to one installation, and claims those that are not claimed
 * yet. After an interruption, the next start continues. Throws ConfigError if anything belongs to another installation,
 * or if the records are empty although a store beside them is not.
 */
export async function agree(
  records: InstallationRecords,
  stores: readonly IdentifiedStore[],
  options: AgreeOptions,
): Promise<Installation> {
  // The order matters: a concurrent start claims the records first, so a store that is seen as claimed belongs to
  // records that are read later.
  const found = await Promise.all(stores.map(async (store) => ({ store, id: await store.readId() })));
  const known = (await records.read()) ?? (await begin(records, found, options));
  const { installationId } = known;
  if (options.givenId !== undefined && options.givenId !== installationId) {
    throw new ConfigError([
      `${records.place} belongs to installation ${installationId}, and what is beside it to ${options.givenId}: ` +
        'give each installation databases of its own',
    ]);
  }
  const problems: string[] = [];
  for (const { store, id } of found) {
    const problem = await bind(store, id, { ...known, isHeld: () => isHeld(records, store) }, options);
    if (problem !== undefined) problems.push(problem);
  }
  if (problems.length > 0) throw new ConfigError(problems);
  const bound = stores.map(({ kind }) => kind);
  if (bound.every((kind) => known.bound.includes(kind))) return known;
  return records.update((before) => ({ ...before, bound: [...new Set([...before.bound, ...bound])] }));
}

interface Found {
  readonly store: IdentifiedStore;
  readonly id: string | undefined;
}

/** Starts the installation in records without an id. */
async function begin(
  records: InstallationRecords,
  found: readonly Found[],
  { adopt, givenId, strayKeys = [] }: AgreeOptions,
): Promise<Installation> {
  const isNew = await records.isEmpty();
  const problems: string[] = [];
  for (const { store, id } of found) {
    if (adopt.includes(store.kind)) continue;
    // Records are always claimed before the stores beside them, so these are not the records that the store was claimed
    // with.
    if (isNew && (id !== undefined || !(await store.isEmpty()))) problems.push(lost(records.place, store, id));
    else if (id !== undefined) problems.push(foreign(records.place, undefined, store, id));
  }
  if (isNew && strayKeys.length > 0 && !adopt.includes('keys')) {
    problems.push(
      `${strayKeys.join(' and ')} are keys of another database, and ${records.place} is missing or empty: put the ` +
        'database back, or restore a backup; to begin anew with these keys, start once with COMMONPLACE_ADOPT=keys',
    );
  }
  if (problems.length > 0) {
    // Another process may have started the installation since the stores were read.
    const since = await records.read();
    if (since !== undefined) return since;
    throw new ConfigError(problems);
  }
  const installationId = givenId ?? (await records.relatedId()) ?? newId();
  return records.insert({ installationId, origin: isNew ? 'new' : 'upgrade', bound: [], keys: {} });
}

/** Claims an unclaimed store. Returns the reason if the store cannot be used. */
async function bind(
  store: IdentifiedStore,
  id: string | undefined,
  { installationId, origin, bound, isHeld }: Installation & { isHeld(): Promise<boolean> },
  { adopt, log }: AgreeOptions,
): Promise<string | undefined> {
  if (id === installationId) return undefined;
  const adopted = adopt.includes(store.kind);
  const place = 'the database';
  if (id !== undefined) {
    if (!adopted) return foreign(place, installationId, store, id);
    log.warn('installation.adopted', { store: store.place, from: id, installation_id: installationId });
    await store.claim(installationId, true);
    return undefined;
  }
  const isEmpty = await store.isEmpty();
  const fromBefore = origin === 'upgrade' && !bound.includes(store.kind);
  if (!isEmpty && !fromBefore && !adopted && !(await isHeld())) {
    // Another process of the installation may have claimed and used the store since it was read.
    const now = await store.readId();
    return now === installationId ? undefined : unclaimed(installationId, store);
  }
  if (isEmpty && bound.includes(store.kind)) {
    log.warn('installation.store_empty', { store: store.place, installation_id: installationId });
  }
  const now = await store.claim(installationId);
  return now === installationId ? undefined : foreign(place, installationId, store, now);
}

/**
 * Returns whether the store has a token that these records wrote: it is their own, and lost its id when it was emptied
 * under running processes, which have filled it again.
 */
async function isHeld(records: InstallationRecords, { kind, hold }: IdentifiedStore): Promise<boolean> {
  const found = await hold?.read();
  if (found === undefined) return false;
  return (await records.read())?.tokens?.[kind]?.includes(found.token) ?? false;
}

const NAMED: Record<StoreKind, string> = {
  files: 'a bucket, or a prefix of its own in the bucket (COMMONPLACE_S3_URL: https://host/bucket/prefix)',
  index: 'a prefix of its own (COMMONPLACE_TYPESENSE_PREFIX), or delete the index file: it is made anew',
  events: 'NATS servers, or an account of its own there',
};

function foreign(records: string, own: string | undefined, { kind, place }: IdentifiedStore, id: string): string {
  const whose = own === undefined ? `${records} to none yet` : `${records} to installation ${own}`;
  return (
    `${place} belongs to installation ${id}, and ${whose}: name ${NAMED[kind]}; ` +
    `to take it over from a system that will never run again, start once with COMMONPLACE_ADOPT=${kind}`
  );
}

function lost(records: string, { kind, place }: IdentifiedStore, id: string | undefined): string {
  const holds = id === undefined ? 'holds something' : `belongs to installation ${id}`;
  return (
    `${place} ${holds}, and ${records} is missing or empty: put the database back, or restore a backup, or name ` +
    `${NAMED[kind]}; to begin anew beside what is there, start once with COMMONPLACE_ADOPT=${kind}`
  );
}

function unclaimed(own: string, { kind, place }: IdentifiedStore): string {
  return (
    `${place} holds something that does not say to which installation it belongs, and the database is that of ` +
    `installation ${own}: name ${NAMED[kind]}; to take over what is there, start once with COMMONPLACE_ADOPT=${kind}`
  );
}

import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigError } from '../config/index.js';
import { newId } from '../id/index.js';
import type { Log } from '../log/index.js';
import type { Adoptable } from './agree.js';
import type { HeldToken, IdentifiedStore, InstallationRecords, StoreHold } from './port.js';

/** Milliseconds after which the token of a store is replaced by a new one. */
const RENEW_MS = 30_000;
/** Milliseconds for which a token must stay unchanged until its writer is considered dead. */
const LEASE_MS = 100_000;
/** Number of tokens that the records keep: more than all replicas write between two checks by one of them. */
const REMEMBERED = 200;

interface HoldOptions {
  readonly adopt: readonly Adoptable[];
  readonly log: Log;
  /** Is called once when another database has taken over the store. */
  readonly onLost: () => void;
  readonly renewMs?: number;
  readonly leaseMs?: number;
}

/** A store that the records of this process hold, so that copies of the records cannot use it. */
export interface Hold {
  /** Asks the store whether these records still hold it. */
  isHeld(): Promise<boolean>;
  close(): Promise<void>;
}

/**
 * Holds a store for one database and all processes that share it. A copy of the database has the same id, so the id
 * cannot distinguish the two. Each holder therefore keeps replacing a random token in the store by a new one, which it
 * writes to its records first. A copy does not know any token that was written after the copy was made.
 *
 * A process that finds a token unknown to its records watches it for `leaseMs`. If it changes, its writer is alive, and
 * the start is refused with a ConfigError; otherwise the process takes over the store. Clocks of different processes
 * are never compared.
 */
export async function holdStore(
  records: InstallationRecords,
  store: IdentifiedStore & { readonly hold: StoreHold },
  options: HoldOptions,
): Promise<Hold> {
  const { adopt, log, onLost, renewMs = RENEW_MS, leaseMs = LEASE_MS } = options;
  const { kind, place } = store;
  const holder = createHolder(records, store);
  let seen = await holder.renew();
  if (seen === undefined) {
    const foreign = await store.hold.read();
    if (adopt.includes(kind)) log.warn('installation.hold_adopted', { store: place });
    else await waitUntilDead(store, foreign, { log, leaseMs, pollMs: renewMs / 10, isOurs: holder.isOurs });
    // Another process of the same database may have taken it over first.
    seen = (await holder.replace(foreign)) ?? (await holder.renew());
    if (seen === undefined) throw inUse(store);
    log.warn('installation.hold_taken_over', { store: place });
  }

  let lost = false;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  const look = async (): Promise<void> => {
    // If another replica has renewed the token, this one need not.
    const found = await store.hold.read();
    const isNew = found !== undefined && found.token !== seen && (await holder.isOurs(found));
    const now = isNew ? found.token : await holder.renew();
    lost = now === undefined;
    seen = now;
  };
  const schedule = () => {
    timer = setTimeout(
      () => {
        running = look()
          .catch((error) => log.warn('installation.hold_not_renewed', { store: place, error }))
          .then(() => {
            if (!lost) return schedule();
            log.error('installation.hold_lost', { store: place });
            onLost();
          });
      },
      randomInt(Math.ceil(renewMs * 0.75), Math.ceil(renewMs * 1.25) + 1),
    );
    timer.unref();
  };
  schedule();
  return {
    async isHeld() {
      const found = lost ? undefined : await store.hold.read();
      return found !== undefined && holder.isOurs(found);
    },
    async close() {
      lost = true;
      clearTimeout(timer);
      await running;
    },
  };
}

/** Returns access to the tokens that a database has written to a store. */
function createHolder(records: InstallationRecords, { kind, hold }: IdentifiedStore & { readonly hold: StoreHold }) {
  const known = async (): Promise<readonly string[]> => (await records.read())?.tokens?.[kind] ?? [];

  /**
   * Returns whether the records contain a token. They are read after the store was, and receive each token before the
   * store does: an unknown token is another database's, even while other replicas write.
   */
  const isOurs = async ({ token }: HeldToken): Promise<boolean> => (await known()).includes(token);

  /**
   * Replaces the token that was read by a new one. Returns the new token; undefined if the store has changed meanwhile.
   */
  async function replace(before: HeldToken | undefined): Promise<string | undefined> {
    const token = newId();
    await records.update((installation) => {
      const written = (installation.tokens?.[kind] ?? []).filter((one) => one !== before?.token);
      const kept = before === undefined ? [] : [before.token];
      const tokens = { ...installation.tokens, [kind]: [...written.slice(-REMEMBERED), ...kept, token] };
      return { ...installation, tokens };
    });
    return (await hold.write(token, before)) ? token : undefined;
  }

  return {
    isOurs,
    replace,
    /**
     * Replaces an own token, or none, by a new one. Returns the token that is valid; undefined if it belongs to another
     * database.
     */
    async renew(): Promise<string | undefined> {
      for (;;) {
        const before = await hold.read();
        if (before !== undefined && !(await isOurs(before))) return undefined;
        const token = await replace(before);
        if (token !== undefined) return token;
        // Another replica or another database was faster.
        await sleep(randomInt(20, 100));
      }
    },
  };
}

interface Watch {
  readonly log: Log;
  readonly leaseMs: number;
  readonly pollMs: number;
  /** Returns whether a token is one of the same database, whose other processes may start at the same moment. */
  readonly isOurs: (found: HeldToken) => Promise<boolean>;
}

/**
 * Resolves when a token has not changed for the lease time, or another process of the same database has replaced it. Throws
 * ConfigError as soon as another database has.
 */
async function waitUntilDead(
  store: IdentifiedStore & { readonly hold: StoreHold },
  seen: HeldToken | undefined,
  { log, leaseMs, pollMs, isOurs }: Watch,
): Promise<void> {
  log.warn('installation.held_by_another', { store: store.place, waiting_ms: leaseMs });
  const began = process.hrtime.bigint();
  while (Number(process.hrtime.bigint() - began) / 1e6 < leaseMs) {
    await sleep(pollMs);
    const found = await store.hold.read();
    if (found?.token === seen?.token) continue;
    if (found !== undefined && (await isOurs(found))) return;
    throw inUse(store);
  }
}

function inUse({ kind, place }: IdentifiedStore): ConfigError {
  return new ConfigError([
    `${place} is in use by another running system with a copy of this database: stop that one; or give this one a place ` +
      'of its own, with a database that was restored as a new installation (commonplace restore without ' +
      `--same-installation); to take it over from a system that will never run again, start once with COMMONPLACE_ADOPT=${kind}`,
  ]);
}

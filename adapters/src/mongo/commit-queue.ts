import { unbounded, withinCall } from '@commonplace/kit/deadline';
import type { DomainEvent } from '@commonplace/kit/events';
import { LostRace, UniqueTaken } from '@commonplace/kit/store';
import { type Batch, findLostRace, idOf, MadeMeanwhile, StaleRead, sendBatch } from './changes.js';
import { reading, toKitError } from './errors.js';
import type { OutboxWriter } from './outbox.js';
import type { Sessions } from './sessions.js';
import { inTransaction } from './transaction.js';

/** Everything that one unit of work commits. */
export interface Work {
  readonly batches: readonly Batch[];
  readonly events: readonly DomainEvent[];
}

/** Commits the units of work of one service. Units that wait at the same time share a transaction. */
export interface CommitQueue {
  /** Commits one unit. Rejects with LostRace, UniqueTaken or an AppError; other units are not affected. */
  commit(work: Work): Promise<void>;
}

/** Maximum number of concurrent transactions; no two of them write to the same record. */
const MAX_GROUPS = 4;
/** Maximum number of units in one transaction, and of changes in all of them. */
const [MAX_UNITS, MAX_CHANGES] = [32, 500];

interface Waiting extends Work {
  /** Records that are written as a whole, that must still be as they were read, and that are only incremented. */
  readonly exact: ReadonlySet<string>;
  readonly expected: ReadonlySet<string>;
  readonly added: ReadonlySet<string>;
  readonly changes: number;
  readonly settle: (error?: unknown) => void;
}

/**
 * Creates a commit queue. Units that increment the same record conflict in MongoDB, as do those that expect it, such as
 * creations in one folder, and all but one of them would have to start again. Here they share a transaction, and later
 * units that write to the record wait for its end.
 */
export function createCommitQueue(sessions: Sessions, outbox: OutboxWriter): CommitQueue {
  const waiting: Waiting[] = [];
  const underWay = new Set<readonly Waiting[]>();
  let due = false;

  function pump(): void {
    due = false;
    while (waiting.length > 0 && underWay.size < MAX_GROUPS) {
      const group = takeGroup(waiting, [...underWay].flat());
      if (group.length === 0) return;
      underWay.add(group);
      // A group serves several calls, so the deadline of the call that started it must not end it.
      void unbounded(() => commitGroup(sessions, outbox, group)).then(() => {
        underWay.delete(group);
        pump();
      });
    }
  }

  return {
    async commit(work) {
      let unit: Waiting | undefined;
      const settled = new Promise<void>((resolve, reject) => {
        unit = waitingOf(work, (error) => (error === undefined ? resolve() : reject(error)));
        waiting.push(unit);
        // Units that are committed in the same turn of the event loop form one group.
        if (!due) setImmediate(pump);
        due = true;
      });
      try {
        await withinCall(settled);
      } catch (error) {
        // A unit whose caller has stopped waiting is not started.
        const place = waiting.indexOf(unit as Waiting);
        if (place >= 0) waiting.splice(place, 1);
        throw error;
      }
    },
  };
}

function waitingOf(work: Work, settle: Waiting['settle']): Waiting {
  const [exact, expected, added] = [new Set<string>(), new Set<string>(), new Set<string>()];
  const sets = { insert: exact, replace: exact, remove: exact, expect: expected, increment: added };
  let changes = 0;
  for (const { name, changes: some } of work.batches) {
    changes += some.length;
    for (const change of some) sets[change.kind].add(`${name}/${idOf(change)}`);
  }
  return { ...work, exact, expected, added, changes, settle };
}

/**
 * Removes and returns the units that can be committed together now, in order. A unit that has to wait also blocks later
 * units that write to its records.
 */
function takeGroup(waiting: Waiting[], underWay: readonly Waiting[]): Waiting[] {
  const group: Waiting[] = [];
  const held = [...underWay];
  let changes = 0;
  for (let at = 0; at < waiting.length && group.length < MAX_UNITS; ) {
    const unit = waiting[at] as Waiting;
    const full = group.length > 0 && changes + unit.changes > MAX_CHANGES;
    if (full || held.some((other) => touches(unit, other)) || group.some((other) => excludes(unit, other))) {
      held.push(unit);
      at++;
      continue;
    }
    waiting.splice(at, 1);
    group.push(unit);
    changes += unit.changes;
  }
  return group;
}

/** Returns whether two units change the same record in different ways, so that they cannot share a transaction. */
function excludes(one: Waiting, other: Waiting): boolean {
  return meet(one.exact, other.exact) || interferes(one, other) || interferes(other, one);
}

function interferes(one: Waiting, other: Waiting): boolean {
  return meet(one.exact, other.expected) || meet(one.exact, other.added) || meet(one.expected, other.added);
}

/** Returns whether two units change the same record at all, so that their transactions would conflict. */
function touches(one: Waiting, other: Waiting): boolean {
  return excludes(one, other) || meet(one.added, other.added) || meet(one.expected, other.expected);
}

function meet(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  const [small, large] = one.size < other.size ? [one, other] : [other, one];
  for (const key of small) if (large.has(key)) return true;
  return false;
}

/** Resolves or rejects the commit of every unit in the group. Never rejects itself. */
async function commitGroup(sessions: Sessions, outbox: OutboxWriter, group: readonly Waiting[]): Promise<void> {
  try {
    await commit(sessions, outbox, together(group));
    for (const { settle } of group) settle();
  } catch (error) {
    // Nothing was written, and only one unit may be at fault, so each is committed alone.
    if (group.length > 1 && isRefusal(error)) for (const unit of group) await commitGroup(sessions, outbox, [unit]);
    else for (const { settle } of group) settle(error);
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof LostRace || error instanceof UniqueTaken;
}

function together(group: readonly Waiting[]): Work {
  const [only] = group;
  if (group.length === 1 && only !== undefined) return only;
  const batches = new Map<string, Batch>();
  for (const { name, raw, changes } of group.flatMap(({ batches }) => batches)) {
    const batch = batches.get(name) ?? { name, raw, changes: [] };
    batches.set(name, batch);
    for (const change of changes) batch.changes.push(change);
  }
  return { batches: [...batches.values()], events: group.flatMap(({ events }) => events) };
}

async function commit(sessions: Sessions, outbox: OutboxWriter, { batches, events }: Work): Promise<void> {
  const [first] = batches;
  try {
    if (batches.length === 1 && first?.changes.length === 1 && events.length === 0) {
      await againIfMade(() => sendBatch(first));
    } else {
      if (events.length > 0) await outbox.ready();
      await againIfMade(() =>
        inTransaction(sessions, async (session) => {
          for (const batch of batches) await sendBatch(batch, session);
          if (events.length > 0) await outbox.write(events, session);
        }),
      );
      if (events.length > 0) outbox.committed();
    }
  } catch (error) {
    throw error instanceof StaleRead ? await reading(() => findLostRace(batches)) : toKitError(error, 'write');
  }
}

/** Runs work again if another unit created the record that one of its increments would have created. */
async function againIfMade(work: () => Promise<void>): Promise<void> {
  for (let left = 10; ; left--) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof MadeMeanwhile) || left === 0) throw error;
    }
  }
}

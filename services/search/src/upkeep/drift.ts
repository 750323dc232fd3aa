import type { Log } from '@commonplace/kit/log';
import type { CallOptions, Client } from '@commonplace/kit/rpc';
import type { IndexEntry, IndexService } from '@commonplace/proto/resources/v1/index_service.js';
import { type FetchedEntries, fetchEntries } from '../entries.js';
import type { EntryState, SearchIndex } from '../index/port.js';
import { pause } from '../pause.js';

interface DriftParts {
  readonly index: SearchIndex;
  readonly resources: Pick<
    Client<IndexService>,
    'getIndexEntries' | 'getIndexStates' | 'streamIndexStates' | 'countResources'
  >;
  /** Returns the options of a call without a caller, with a deadline in `timeoutMs`. */
  readonly systemCall: (timeoutMs?: number) => CallOptions;
  readonly log: Log;
  /**
   * Milliseconds after which differences are checked again, because events in transit are no drift; 5,000 by default.
   */
  readonly settleMs?: number;
}

/** Describes how the index differed from the tree before it was repaired. */
interface Drift {
  /** Number of entries that were compared. */
  readonly checked: number;
  /** Number of entries that the index lacked. */
  readonly missing: number;
  /** Number of entries with another state in the index. */
  readonly outdated: number;
  /** Number of entries in the index that no longer exist. */
  readonly surplus: number;
}

/** Compares the index with the tree and repairs the index. Rejects with errors of the index or the tree's owner. */
export interface DriftCheck {
  /** Compares the counts of workspaces and a random sample; if these differ, compares everything. */
  quick(signal: AbortSignal): Promise<Drift>;
  /** Compares the states of all entries. */
  full(signal: AbortSignal): Promise<Drift>;
  /** Compares some entries. */
  of(ids: readonly string[]): Promise<Drift>;
}

const SAMPLE_SIZE = 200;
const AT_ONCE = 100;
const STREAMED_AT_ONCE = 500;
const STREAM_TIMEOUT_MS = 3_600_000;
const SETTLE_MS = 5000;

const NONE: Drift = { checked: 0, missing: 0, outdated: 0, surplus: 0 };

export function createDriftCheck(parts: DriftParts): DriftCheck {
  const { index, resources, systemCall, log, settleMs = SETTLE_MS } = parts;

  /** Repairs those entries that still differ, and returns the differences. */
  async function repair(ids: readonly string[]): Promise<Drift> {
    let drift = NONE;
    for (let at = 0; at < ids.length; at += AT_ONCE) {
      drift = sum(drift, await repairSome(parts, ids.slice(at, at + AT_ONCE)));
    }
    return drift;
  }

  async function differing(ids: readonly string[]): Promise<string[]> {
    const differ: string[] = [];
    for (let at = 0; at < ids.length; at += AT_ONCE) {
      const some = ids.slice(at, at + AT_ONCE);
      const { entries } = await resources.getIndexStates({ ids: some }, systemCall());
      differ.push(...differences(some, byId(entries), await index.states(some)));
    }
    return differ;
  }

  /** Returns the ids that differ in one pass over everything, and the number of entries. */
  async function differingAtAll(signal: AbortSignal): Promise<{ suspects: string[]; checked: number }> {
    const accounted = new Map<string, number>();
    const suspects: string[] = [];
    const options = { ...systemCall(STREAM_TIMEOUT_MS), signal };
    let checked = 0;
    for await (const { entries } of resources.streamIndexStates({ batchSize: STREAMED_AT_ONCE }, options)) {
      const ids = entries.map(({ id }) => id);
      const states = await index.states(ids);
      suspects.push(...differences(ids, byId(entries), states));
      for (const { workspaceId } of states.values()) accounted.set(workspaceId, (accounted.get(workspaceId) ?? 0) + 1);
      checked += entries.length;
    }
    // A workspace with more entries in the index than were found contains surplus ones.
    for (const [workspaceId, count] of await index.counts()) {
      if (count > (accounted.get(workspaceId) ?? 0)) suspects.push(...(await index.idsOf(workspaceId)));
    }
    return { suspects, checked };
  }

  async function settled(suspects: readonly string[], checked: number, signal: AbortSignal): Promise<Drift> {
    if (suspects.length === 0) return { ...NONE, checked };
    await pause(settleMs, signal);
    signal.throwIfAborted();
    const drift = { ...(await repair([...new Set(suspects)])), checked };
    if (drift.missing + drift.outdated + drift.surplus > 0) log.warn('index.drift', { ...drift });
    return drift;
  }

  const check: DriftCheck = {
    async quick(signal) {
      const held = await index.counts();
      const { counts } = await resources.countResources(
        { workspaceIds: [...held.keys()], readableIds: [] },
        systemCall(),
      );
      const miscounted = [...held].filter(([id, count]) => (counts[id] ?? 0) !== count);
      const sample = await index.sample(SAMPLE_SIZE);
      const differ = await differing(sample);
      if (miscounted.length === 0 && differ.length === 0) return { ...NONE, checked: sample.length };
      return check.full(signal);
    },
    async full(signal) {
      const { suspects, checked } = await differingAtAll(signal);
      return settled(suspects, checked, signal);
    },
    async of(ids) {
      const drift = { ...(await repair(await differing(ids))), checked: ids.length };
      // What has changed since is mostly an event in transit, so this is no warning as drift is.
      if (drift.missing + drift.outdated + drift.surplus > 0) log.debug('index.rechecked', { ...drift });
      return drift;
    },
  };
  return check;
}

async function repairSome({ index, resources, systemCall }: DriftParts, ids: readonly string[]): Promise<Drift> {
  let drift = NONE;
  for await (const fetched of fetchEntries(resources, ids, systemCall)) {
    drift = sum(drift, await repairFetched(index, fetched));
  }
  return drift;
}

async function repairFetched(index: SearchIndex, { ids, entries }: FetchedEntries): Promise<Drift> {
  const [present, states] = [byId(entries), await index.states(ids)];
  const wrong = differences(ids, present, states);
  const missing = wrong.filter((id) => !states.has(id));
  const surplus = wrong.filter((id) => !present.has(id));
  const outdated = wrong.filter((id) => states.has(id) && present.has(id));
  // The index would ignore an older state, so entries that are ahead of the tree are removed first.
  const ahead = outdated.filter((id) => isBefore(present.get(id) as IndexEntry, states.get(id) as EntryState));
  await index.remove([...surplus, ...ahead]);
  await index.upsert([...missing, ...outdated].flatMap((id) => present.get(id) ?? []));
  return { checked: 0, missing: missing.length, outdated: outdated.length, surplus: surplus.length };
}

function byId(entries: readonly IndexEntry[]): Map<string, IndexEntry> {
  return new Map(entries.map((entry) => [entry.id, entry]));
}

function differences(
  ids: readonly string[],
  present: ReadonlyMap<string, IndexEntry>,
  states: ReadonlyMap<string, EntryState>,
): string[] {
  return ids.filter((id) => {
    const [entry, state] = [present.get(id), states.get(id)];
    if (entry === undefined || state === undefined) return (entry === undefined) !== (state === undefined);
    return (
      entry.version !== state.version ||
      entry.contentVersion !== state.contentVersion ||
      (entry.updatedAt ?? '') !== state.updatedAt ||
      entry.workspaceId !== state.workspaceId ||
      entry.boundaryId !== state.boundaryId
    );
  });
}

function isBefore(entry: IndexEntry, state: EntryState): boolean {
  if (entry.version !== state.version) return entry.version < state.version;
  if (entry.contentVersion !== state.contentVersion) return entry.contentVersion < state.contentVersion;
  return (entry.updatedAt ?? '') < state.updatedAt;
}

function sum(a: Drift, b: Drift): Drift {
  return {
    checked: a.checked + b.checked,
    missing: a.missing + b.missing,
    outdated: a.outdated + b.outdated,
    surplus: a.surplus + b.surplus,
  };
}

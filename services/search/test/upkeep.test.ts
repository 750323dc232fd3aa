import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Log, silentLog } from '@commonplace/kit/log';
import { eventually } from '@commonplace/kit/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type Bench, createBench, entry, everythingIn, WORKSPACE } from '../src/index/contract/harness.js';
import { openSqliteIndex } from '../src/index/sqlite/index.js';
import { createDriftCheck, type DriftCheck } from '../src/upkeep/drift.js';
import { createUpkeepHandlers } from '../src/upkeep/handlers.js';
import { createRecheck } from '../src/upkeep/recheck.js';
import { startSchedule } from '../src/upkeep/schedule.js';
import { createContext, createFakeResources, SYSTEM } from './fakes.js';

const folder = mkdtempSync(join(tmpdir(), 'search-upkeep-'));
const resources = createFakeResources(everythingIn(WORKSPACE));
const never = new AbortController().signal;
const said: [string, unknown][] = [];
const log: Log = { ...silentLog, warn: (event, fields) => void said.push([event, fields]) };
let bench: Bench;
let check: DriftCheck;

beforeAll(async () => {
  bench = createBench(await openSqliteIndex({ path: join(folder, 'search.db') }));
  check = createDriftCheck({ index: bench.index, resources, systemCall: () => SYSTEM, log, settleMs: 1 });
});
afterAll(async () => {
  await bench.index.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  await bench.index.remove(['a', 'b', 'c', 'd', 'e', 'x']);
  resources.entries.clear();
  resources.calls.length = 0;
  said.length = 0;
  for (const id of ['a', 'b', 'c']) resources.entries.set(id, entry(id, { text: `word ${id}`, version: 3 }));
  await bench.index.upsert([...resources.entries.values()]);
});

const methods = (): string[] => resources.calls.map(({ method }) => method);

describe('drift check', () => {
  test('finds nothing when the index matches the tree, and reads few entries', async () => {
    expect(await check.quick(never)).toEqual({ checked: 3, missing: 0, outdated: 0, surplus: 0 });
    expect(methods()).toEqual(['getIndexStates']);
    expect(said).toEqual([]);
  });

  test('repairs missing, outdated and surplus entries, and counts them', async () => {
    resources.entries.set('d', entry('d', { text: 'word d' }));
    resources.entries.set('a', entry('a', { text: 'newer', version: 4 }));
    resources.entries.set('b', { ...entry('b', { text: 'word b', version: 3 }), boundaryId: 'restricted' });
    await bench.index.upsert([entry('x', { text: 'word x' })]);
    expect(await check.quick(never)).toEqual({ checked: 4, missing: 1, outdated: 2, surplus: 1 });
    expect(said).toEqual([['index.drift', { checked: 4, missing: 1, outdated: 2, surplus: 1 }]]);
    expect((await bench.ids('word')).sort()).toEqual(['b', 'c', 'd']);
    expect(await bench.ids('newer')).toEqual(['a']);
    expect((await bench.index.states(['b'])).get('b')?.boundaryId).toBe('restricted');
    expect(await check.full(never)).toEqual({ checked: 4, missing: 0, outdated: 0, surplus: 0 });
  });

  test('finds workspaces that are missing from the index in a full check', async () => {
    resources.entries.set('e', entry('e', { workspaceId: 'ws-new', text: 'word' }));
    expect(await check.quick(never)).toMatchObject({ missing: 0 });
    expect(await check.full(never)).toMatchObject({ checked: 4, missing: 1 });
    expect([...(await bench.index.counts())].sort()).toEqual([
      ['ws-1', 3],
      ['ws-new', 1],
    ]);
  });

  test('resets entries that are ahead of a restored tree', async () => {
    resources.entries.set('a', entry('a', { text: 'restored', version: 1 }));
    expect(await check.full(never)).toMatchObject({ outdated: 1 });
    expect(await bench.ids('restored')).toEqual(['a']);
  });

  test('does not count events in transit as drift', async () => {
    resources.entries.set('d', entry('d', { text: 'word' }));
    const late = {
      ...resources,
      // Its event arrives while the check waits.
      async *streamIndexStates(...args: Parameters<typeof resources.streamIndexStates>) {
        yield* resources.streamIndexStates(...args);
        setTimeout(() => void bench.index.upsert([entry('d', { text: 'word' })]), 1);
      },
    };
    const patient = createDriftCheck({
      index: bench.index,
      resources: late,
      systemCall: () => SYSTEM,
      log,
      settleMs: 2000,
    });
    expect(await patient.full(never)).toMatchObject({ missing: 0 });
    expect(said).toEqual([]);
  });

  test('ends when the signal aborts', async () => {
    resources.entries.set('d', entry('d'));
    const stop = new AbortController();
    const slow = createDriftCheck({ index: bench.index, resources, systemCall: () => SYSTEM, log, settleMs: 60_000 });
    const running = slow.full(stop.signal);
    stop.abort();
    await expect(running).rejects.toThrow();
  });
});

describe('schedule of checks', () => {
  const NONE = { checked: 0, missing: 0, outdated: 0, surplus: 0 };

  function recorded(): DriftCheck & { done: string[] } {
    const done: string[] = [];
    const note = (kind: string) => async () => {
      done.push(kind);
      return NONE;
    };
    return { done, quick: note('quick'), full: note('full'), of: note('of') };
  }

  test('checks periodically, everything once in a while, and continues after a failure', async () => {
    const check = recorded();
    let failures = 2;
    let built = 0;
    const quick = check.quick;
    check.quick = async (signal) => {
      if (failures-- > 0) throw new Error('not now');
      return quick(signal);
    };
    const schedule = startSchedule({
      check,
      ensureBuilt: async () => void built++,
      waitingEvents: async () => 0,
      log,
      everyMs: 1,
      pollMs: 1000,
    });
    await eventually(async () => expect(check.done).toContain('full'));
    await schedule.close();
    expect(check.done.indexOf('full')).toBe(21);
    expect(said.map(([event]) => event)).toEqual(['index.check_failed', 'index.check_failed']);
    expect(built).toBeGreaterThanOrEqual(check.done.length);
    const { length } = check.done;
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(check.done.length).toBe(length);
  });

  test('builds a lost index at the next poll, not only at the next check', async () => {
    const check = recorded();
    let built = 0;
    const ensureBuilt = async () => void built++;
    const schedule = startSchedule({ check, ensureBuilt, waitingEvents: async () => 0, log, everyMs: 0, pollMs: 5 });
    await eventually(async () => expect(built).toBeGreaterThan(2));
    expect(check.done).toEqual([]);
    await schedule.close();
  });

  test('checks everything once when the broker is reachable again', async () => {
    const check = recorded();
    let there = true;
    let looks = 0;
    const waitingEvents = async (): Promise<number> => {
      looks++;
      if (!there) throw new Error('no broker');
      return 0;
    };
    const schedule = startSchedule({ check, ensureBuilt: async () => {}, waitingEvents, log, everyMs: 0, pollMs: 5 });
    await eventually(async () => expect(looks).toBeGreaterThan(2));
    expect(check.done).toEqual([]);
    there = false;
    looks = 0;
    await eventually(async () => expect(looks).toBeGreaterThan(2));
    expect(check.done).toEqual([]);
    there = true;
    await eventually(async () => expect(check.done).toEqual(['full']));
    looks = 0;
    await eventually(async () => expect(looks).toBeGreaterThan(3));
    expect(check.done).toEqual(['full']);
    await schedule.close();
  });
});

describe('recheck of writes', () => {
  test('repairs what another process has overwritten, and does not restore deleted entries', async () => {
    const recheck = createRecheck({ check: { of: (ids) => own.of(ids) }, log, afterMs: 20 });
    const watched = recheck.watch(bench.index);
    const own = createDriftCheck({ index: watched, resources, systemCall: () => SYSTEM, log, settleMs: 1 });
    resources.entries.set('a', entry('a', { text: 'latest', version: 9 }));
    // Simulates a slower process, which has read an entry earlier and writes it after the other one.
    await watched.upsert([entry('a', { text: 'latest', version: 9 })]);
    await bench.index.remove(['a', 'b']);
    await watched.upsert([entry('a', { text: 'stale', version: 8 }), entry('x', { text: 'purged meanwhile' })]);
    await eventually(async () => {
      expect(await bench.ids('latest')).toEqual(['a']);
      expect(await bench.ids('purged')).toEqual([]);
    });
    expect(said).toEqual([]);
    await recheck.close();
  });

  test('retries when the owner does not answer', async () => {
    let tries = 0;
    const flaky = async () => {
      tries++;
      throw new Error('owner is down');
    };
    const recheck = createRecheck({ check: { of: flaky }, log, afterMs: 1 });
    await recheck.watch(bench.index).remove(['a']);
    await eventually(async () => expect(tries).toBeGreaterThan(1));
    await recheck.close();
    expect(said[0]?.[0]).toBe('index.recheck_failed');
  });
});

describe('operator calls', () => {
  test('check and rebuild the index, and report its state', async () => {
    let rebuilt = 0;
    const indexer = { rebuild: async () => void rebuilt++, lag: () => 12 };
    const stop = new AbortController();
    const parts = { index: bench.index, indexer, check, signal: stop.signal, log };
    const handlers = createUpkeepHandlers({ ...parts, waitingEvents: async () => 7 });
    const context = createContext();
    resources.entries.delete('c');
    expect(await handlers.checkIndex({}, context)).toEqual({ checked: 2, missing: 0, outdated: 0, surplus: 1 });
    expect(await handlers.rebuildIndex({}, context)).toEqual({});
    expect(rebuilt).toBe(1);
    expect(await handlers.getIndexStatus({}, context)).toEqual({
      entries: 2,
      complete: false,
      waitingEvents: 7,
      lagMs: 12,
    });
    const lost = createUpkeepHandlers({ ...parts, waitingEvents: () => Promise.reject(new Error('no broker')) });
    expect(await lost.getIndexStatus({}, context)).toMatchObject({ waitingEvents: undefined });
  });
});

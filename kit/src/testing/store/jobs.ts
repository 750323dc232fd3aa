import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from '@jest/globals';
import { Unavailable } from '../../errors/index.js';
import { newId } from '../../id/index.js';
import {
  DEAD_INDEX,
  type HeldJob,
  JobLost,
  type JobRecord,
  openDeadLetters,
  openQueue,
  type Queue,
  type QueueOptions,
  type QueueSpec,
} from '../../jobs/index.js';
import { createLog } from '../../log/index.js';
import { type Collection, inWork, LostRace, type Store, type StoredRecord } from '../../store/index.js';
import type { Duties } from '../suite/duties.js';
import { eventually } from '../suite/eventually.js';
import type { Bench } from './harness.js';

interface Chore extends JobRecord {
  readonly label: string;
  readonly group?: string;
  readonly turns?: number;
  readonly dueAt?: string;
}

interface Note extends StoredRecord {
  readonly text: string;
  readonly expiresAt?: string;
}

type Options = Partial<QueueOptions<Chore>> & Pick<QueueOptions<Chore>, 'run'>;

const log = createLog('silent');
const HOUR_MS = 3_600_000;

/** A collection of chores that no other test uses, and the queues opened on it. */
interface ChoreBench {
  readonly spec: QueueSpec<Chore>;
  readonly records: Collection<Chore>;
  add(chore: Partial<Chore> & { readonly label: string }): Promise<string>;
  get(id: string): Promise<Chore | undefined>;
  change(id: string, change: Partial<Chore>): Promise<void>;
  open(options: Options): Promise<Queue<Chore>>;
  close(): Promise<void>;
}

let opened = 0;

async function createChores(store: Store): Promise<ChoreBench> {
  const name = `chores_${Math.trunc(performance.timeOrigin).toString(36)}_${++opened}`;
  const spec: QueueSpec<Chore> = {
    name: `contract.${name}`,
    collection: { name, indexes: [{ fields: ['dueAt'], sparse: true }, DEAD_INDEX] },
    due: 'dueAt',
    describe: ({ label }) => label,
    keptBecause: ({ label }) => (label === 'precious' ? 'others depend on it' : undefined),
  };
  const records = await store.collection(spec.collection);
  const queues: Queue<Chore>[] = [];
  return {
    spec,
    records,
    async add(chore) {
      const id = newId();
      const work = store.begin();
      work.insert(records, { id, dueAt: new Date().toISOString(), ...chore });
      await work.commit();
      return id;
    },
    get: (id) => records.get(id),
    change: (id, change) =>
      inWork(store, async (work) => {
        const record = (await work.get(records, id)) as Chore;
        work.replace(records, record, { ...record, ...change });
      }),
    async open(options) {
      const queue = await openQueue<Chore>({ store, log, spec, concurrency: 4, ...options });
      queues.push(queue);
      return queue;
    },
    async close() {
      for (const queue of queues) await queue.close();
    },
  };
}

/** Registers the duties of a queue of background jobs, for any store. */
export function jobDuties(duty: Duties, use: () => Bench): void {
  const withChores = (title: string, check: (chores: ChoreBench, bench: Bench) => Promise<void>) =>
    duty(title, async () => {
      const bench = use();
      const chores = await createChores(bench.store);
      try {
        await check(chores, bench);
      } finally {
        await chores.close();
      }
    });

  withChores('a committed job runs without a call of wake, once among several workers', async (chores) => {
    const ran: string[] = [];
    for (let at = 0; at < 3; at++) {
      const queue = await chores.open({
        run: async (job) => {
          ran.push(job.record.label);
          await sleep(5);
          await job.finish({ turns: 1 });
        },
      });
      await queue.begin();
    }
    const labels = Array.from({ length: 30 }, (_, at) => `chore ${at}`);
    const ids = await Promise.all(labels.map((label) => chores.add({ label })));
    await eventually(async () => {
      const done = await chores.records.getMany(ids);
      expect(done.every(({ turns, dueAt }) => turns === 1 && dueAt === undefined)).toBe(true);
    });
    expect(ran.sort()).toEqual(labels.sort());
  });

  withChores('a job runs at its due time, and a postponed one runs again', async (chores) => {
    const turns: number[] = [];
    const queue = await chores.open({
      run: async (job) => {
        turns.push(Date.now());
        await (turns.length === 1 ? job.retryIn(150) : job.remove());
      },
    });
    await queue.begin();
    const at = Date.now() + 150;
    const id = await chores.add({ label: 'later', dueAt: new Date(at).toISOString() });
    await eventually(async () => expect(await chores.get(id)).toBeUndefined());
    expect(turns[0]).toBeGreaterThanOrEqual(at);
    expect(turns[1]).toBeGreaterThanOrEqual((turns[0] as number) + 150);
  });

  withChores(
    'a job that is made due while it is held runs again at once, even if its worker postpones it',
    async (chores) => {
      let turns = 0;
      const queue = await chores.open({
        run: async (job) => {
          turns += 1;
          if (turns > 1) return job.remove();
          await chores.change(job.record.id, { dueAt: new Date().toISOString() });
          await job.retryIn(HOUR_MS);
        },
      });
      const id = await chores.add({ label: 'prompted' });
      await queue.runDue();
      await queue.runDue();
      expect([turns, await chores.get(id)]).toEqual([2, undefined]);
    },
  );

  withChores('a failed job is retried after increasing delays, and a success resets its failures', async (chores) => {
    let failing = true;
    const queue = await chores.open({
      backoff: { firstMs: 1000, maxMs: 3000 },
      random: () => 0.5,
      run: async (job) => {
        if (failing) throw new Error('not today');
        await job.finish();
      },
    });
    const id = await chores.add({ label: 'hard' });
    for (const [at, pauseMs] of [1000, 2000, 3000].entries()) {
      const before = Date.now();
      await queue.runDue();
      const { failures, dueAt = '' } = (await chores.get(id)) as Chore;
      expect(failures).toBe(at + 1);
      expect(Date.parse(dueAt) - before).toBeGreaterThanOrEqual(pauseMs);
      await chores.change(id, { dueAt: new Date().toISOString() });
    }
    failing = false;
    await queue.runDue();
    const done = await chores.get(id);
    expect(done?.failures).toBeUndefined();
    expect(done?.dueAt).toBeUndefined();
  });

  withChores(
    'a job that keeps failing becomes a dead letter, which an operator retries or deletes',
    async (chores, { store }) => {
      let failing = true;
      const queue = await chores.open({
        maxFailures: 2,
        backoff: { firstMs: 0, maxMs: 0 },
        run: async (job) => {
          if (failing) throw new Error(`no way for ${job.record.label}`);
          await job.remove();
        },
      });
      const ids = await Promise.all(['plain', 'other', 'precious'].map((label) => chores.add({ label })));
      const [plain, other, precious] = ids as [string, string, string];
      await queue.runDue();
      const letters = await openDeadLetters(store, chores.spec);
      const listed = await letters.list(10);
      expect(listed.map(({ id }) => id).sort()).toEqual([...ids].sort());
      expect(listed.find(({ id }) => id === plain)).toMatchObject({
        queue: chores.spec.name,
        description: 'plain',
        failures: 2,
        code: 'Error',
        message: 'no way for plain',
      });
      expect(await letters.delete(other)).toEqual({ status: 'done' });
      expect(await letters.delete(other)).toEqual({ status: 'missing' });
      expect(await letters.delete(precious)).toEqual({ status: 'refused', reason: 'others depend on it' });
      failing = false;
      await queue.runDue();
      expect(await chores.get(plain)).toBeDefined();
      expect(await letters.retry(plain)).toEqual({ status: 'done' });
      await queue.runDue();
      expect(await chores.get(plain)).toBeUndefined();
      expect((await letters.list(10)).map(({ id }) => id)).toEqual([precious]);
    },
  );

  withChores('a final failure ends the job at once, and its owner may end it in its own terms', async (chores) => {
    const queue = await chores.open({
      isFinal: (error) => (error as Error).message === 'refused',
      onGivenUp: async (job) => {
        if (job.record.label === 'ended') await job.finish({ turns: 99 });
      },
      run: async () => {
        throw new Error('refused');
      },
    });
    const [ended, silent] = [await chores.add({ label: 'ended' }), await chores.add({ label: 'silent' })];
    await queue.runDue();
    expect(await chores.get(ended)).toMatchObject({ turns: 99 });
    expect((await chores.get(ended))?.deadAt).toBeUndefined();
    expect(await chores.get(silent)).toMatchObject({ failures: 1, deadLetter: { message: 'refused' } });
  });

  withChores('a failure that passes does not count towards giving up, up to a number of them', async (chores) => {
    const away = () => Unavailable();
    let failure: () => Error = away;
    const queue = await chores.open({
      ...{ maxFailures: 2, maxWaits: 5, backoff: { firstMs: 0, maxMs: 0 } },
      run: async () => {
        throw failure();
      },
    });
    const attempt = async (id: string) => {
      await chores.change(id, { dueAt: new Date().toISOString() });
      await queue.runNow((await chores.get(id)) as Chore);
      const { failures, waits, deadLetter } = (await chores.get(id)) as Chore;
      return [failures, waits, deadLetter?.code];
    };
    const [patient, hopeless] = [await chores.add({ label: 'patient' }), await chores.add({ label: 'hopeless' })];
    for (let i = 1; i <= 4; i++) expect(await attempt(patient)).toEqual([i, i, undefined]);
    failure = () => new Error('refused');
    expect(await attempt(patient)).toEqual([5, 4, undefined]);
    failure = () => new LostRace('chores', patient);
    expect(await attempt(patient)).toEqual([6, 5, undefined]);
    failure = () => new Error('refused');
    expect(await attempt(patient)).toEqual([7, 5, 'Error']);
    failure = away;
    for (let i = 1; i <= 5; i++) expect(await attempt(hopeless)).toEqual([i, i, undefined]);
    expect(await attempt(hopeless)).toEqual([6, 5, undefined]);
    expect(await attempt(hopeless)).toEqual([7, 5, 'service_unavailable']);
  });

  withChores('a job whose onGivenUp fails waits for another attempt, and is ended then', async (chores) => {
    let failing = true;
    const queue = await chores.open({
      maxFailures: 1,
      backoff: { firstMs: HOUR_MS, maxMs: HOUR_MS },
      onGivenUp: async (job) => {
        if (failing) throw new Error('the owner is away');
        await job.finish({ turns: 1 });
      },
      run: async () => {
        throw new Error('refused');
      },
    });
    const id = await chores.add({ label: 'unended' });
    const before = Date.now();
    await queue.runDue();
    const left = (await chores.get(id)) as Chore;
    expect(left.failures).toBe(1);
    expect(left.deadAt).toBeUndefined();
    expect(Date.parse(left.dueAt ?? '') - before).toBeGreaterThanOrEqual(HOUR_MS);
    failing = false;
    await chores.change(id, { dueAt: new Date().toISOString() });
    await queue.runDue();
    expect(await chores.get(id)).toMatchObject({ turns: 1 });
  });

  withChores('a worker that lost its lease changes nothing and is notified', async (chores) => {
    let reached: (job: HeldJob<Chore>) => void = () => {};
    const held = new Promise<HeldJob<Chore>>((resolve) => {
      reached = resolve;
    });
    let resume = () => {};
    const resumed = new Promise<void>((resolve) => {
      resume = resolve;
    });
    const slow = await chores.open({
      leaseMs: HOUR_MS,
      run: async (job) => {
        reached(job);
        await resumed;
      },
    });
    const fast = await chores.open({
      now: () => Date.now() + 2 * HOUR_MS,
      run: (job) => job.finish({ label: 'mine' }),
    });
    const id = await chores.add({ label: 'wanted' });
    const running = slow.runDue();
    const job = await held;
    await fast.runDue();
    await expect(job.save({ label: 'stale' })).rejects.toBeInstanceOf(JobLost);
    await expect(job.remove()).rejects.toBeInstanceOf(JobLost);
    expect(job.signal.aborted).toBe(true);
    resume();
    await running;
    const after = await chores.get(id);
    expect(after).toMatchObject({ label: 'mine', lease: { holder: '', epoch: 2 } });
    expect(after?.dueAt).toBeUndefined();
  });

  withChores('concurrent changes by others are kept and cost no worker its lease', async (chores) => {
    const id = await chores.add({ label: 'shared' });
    const queue = await chores.open({
      run: async (job) => {
        await chores.change(id, { group: 'theirs' });
        await job.save(({ turns = 0 }) => ({ turns: turns + 1 }));
        expect(job.record.group).toBe('theirs');
        await chores.change(id, { label: 'renamed' });
        await job.finish(({ turns = 0 }) => ({ turns: turns + 1 }));
      },
    });
    await queue.runDue();
    expect(await chores.get(id)).toMatchObject({ label: 'renamed', group: 'theirs', turns: 2 });
  });

  withChores('a job whose record is removed or no longer waits is lost to its worker', async (chores, { store }) => {
    const ids = [await chores.add({ label: 'removed' }), await chores.add({ label: 'canceled' })];
    const errors: unknown[] = [];
    const queue = await chores.open({
      run: async (job) => {
        if (job.record.label === 'canceled') await chores.change(job.record.id, { dueAt: undefined });
        else
          await inWork(store, async (work) =>
            work.remove(chores.records, (await work.get(chores.records, job.record.id)) as Chore),
          );
        await job.save({ turns: 1 }).catch((error: unknown) => errors.push(error));
      },
    });
    await queue.runDue();
    expect(errors).toEqual([expect.any(JobLost), expect.any(JobLost)]);
    expect(await chores.get(ids[0] as string)).toBeUndefined();
    expect((await chores.get(ids[1] as string))?.turns).toBeUndefined();
  });

  withChores('a change and the writes with it are committed as one unit', async (chores, { store }) => {
    const notes = await store.collection<Note>({ name: `${chores.records.spec.name}_notes`, indexes: [] });
    const queue = await chores.open({
      onClaim: (work, { id }) => {
        work.insert(notes, { id: `${id}.claim`, text: 'claimed' });
        return { turns: 7 };
      },
      run: async (job) => {
        expect(job.record.turns).toBe(7);
        await job.remove((work) => work.insert(notes, { id: `${job.record.id}.end`, text: 'ended' }));
      },
    });
    const id = await chores.add({ label: 'noted' });
    await queue.runDue();
    expect((await notes.getMany([`${id}.claim`, `${id}.end`])).map(({ text }) => text)).toEqual(['claimed', 'ended']);
  });

  withChores('a process that stops releases its jobs to others at once', async (chores) => {
    const first = await chores.open({
      leaseMs: HOUR_MS,
      run: async (job) => {
        while (!job.isStopping) await sleep(5);
      },
    });
    await first.begin();
    const id = await chores.add({ label: 'handed over' });
    await eventually(async () => expect((await chores.get(id))?.lease?.holder).toBeTruthy());
    await first.close();
    const second = await chores.open({ run: (job) => job.remove() });
    await second.runDue();
    expect(await chores.get(id)).toBeUndefined();
  });

  withChores(
    'jobs of a dead process are taken over after their lease, or at once if no other process writes',
    async (chores, { store }) => {
      const lease = { holder: 'dead', epoch: 4 };
      const dueAt = new Date(Date.now() + HOUR_MS).toISOString();
      const held = await chores.add({ label: 'held', lease, dueAt });
      const planned = await chores.add({ label: 'planned', dueAt });
      const epochs: (number | undefined)[] = [];
      const run = async (job: HeldJob<Chore>) => {
        epochs.push(job.record.lease?.epoch);
        await job.remove();
      };
      const queue = await chores.open({ run });
      await queue.begin();
      if (!store.isExclusive) {
        await queue.runDue();
        expect(await chores.get(held)).toBeDefined();
        const later = await chores.open({
          run,
          now: () => Date.now() + HOUR_MS,
          pick: async () => chores.records.getMany([held]),
        });
        await later.runDue();
      }
      await eventually(async () => expect(await chores.get(held)).toBeUndefined());
      expect(epochs).toEqual([5]);
      expect(await chores.get(planned)).toBeDefined();
    },
  );

  withChores('a worker that cannot renew its lease stops when the lease expires', async (chores, { store }) => {
    let isDown = false;
    const failing = Object.create(store, {
      begin: {
        value: () => {
          const work = store.begin();
          if (isDown) work.commit = () => Promise.reject(new Error('the store is down'));
          return work;
        },
      },
    }) as Store;
    const given: unknown[] = [];
    const queue = await chores.open({
      store: failing,
      leaseMs: 150,
      async run({ signal }) {
        isDown = true;
        await sleep(5_000, undefined, { signal }).catch(() => given.push(signal.reason));
      },
    });
    await chores.add({ label: 'cut off' });
    await queue.begin();
    await eventually(() => expect(given).toEqual([expect.any(JobLost)]));
    isDown = false;
  });

  withChores('leases begin and end by the clock of the store', async (chores, { store }) => {
    const ahead = Object.create(store, { now: { value: () => Date.now() + HOUR_MS } }) as Store;
    const leases: string[] = [];
    const queue = await chores.open({
      store: ahead,
      async run(job) {
        leases.push(job.record.dueAt ?? '');
        await job.finish();
      },
    });
    await chores.add({ label: 'due in half an hour', dueAt: new Date(Date.now() + HOUR_MS / 2).toISOString() });
    await queue.begin();
    await queue.runDue();
    expect(leases.map((end) => Date.parse(end) > Date.now() + HOUR_MS)).toEqual([true]);
  });

  withChores(
    'all waiting jobs are due at the start if the queue says so and no other process writes',
    async (chores, { store }) => {
      const dueAt = new Date(Date.now() + HOUR_MS).toISOString();
      const planned = await chores.add({ label: 'planned', dueAt });
      const queue = await chores.open({ allDueAtStart: true, run: (job) => job.remove() });
      await queue.begin();
      await queue.runDue();
      if (store.isExclusive) expect(await chores.get(planned)).toBeUndefined();
      else expect(await chores.get(planned)).toBeDefined();
    },
  );

  withChores(
    'limits of concurrent jobs in total and per group are respected, and other groups pass',
    async (chores) => {
      const now: string[] = [];
      let most = 0;
      let mostOfSlow = 0;
      const done: string[] = [];
      let release = () => {};
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      const queue = await chores.open({
        concurrency: 4,
        group: { of: ({ group = '' }) => group, concurrency: 2 },
        run: async (job) => {
          const { group = '', label } = job.record;
          now.push(group);
          most = Math.max(most, now.length);
          mostOfSlow = Math.max(mostOfSlow, now.filter((one) => one === 'slow').length);
          if (group === 'slow') await released;
          now.splice(now.indexOf(group), 1);
          done.push(label);
          await job.remove();
        },
      });
      for (let at = 0; at < 6; at++) await chores.add({ label: `slow ${at}`, group: 'slow' });
      for (let at = 0; at < 6; at++) await chores.add({ label: `quick ${at}`, group: `quick ${at % 3}` });
      await queue.begin();
      await eventually(() => expect(done.filter((label) => label.startsWith('quick'))).toHaveLength(6));
      expect(done.filter((label) => label.startsWith('slow'))).toHaveLength(0);
      release();
      await eventually(() => expect(done).toHaveLength(12));
      expect(mostOfSlow).toBe(2);
      expect(most).toBeLessThanOrEqual(4);
    },
  );

  withChores('a job that becomes due during a look is started after it', async (chores) => {
    const DURATION_MS = 300;
    let looks = 0;
    let startedAt = 0;
    const dueAt = Date.now() + DURATION_MS / 2;
    const id = await chores.add({ label: 'due meanwhile', dueAt: new Date(dueAt).toISOString() });
    const queue = await chores.open({
      pick: async () => {
        const record = await chores.get(id);
        const isDue = Date.parse(record?.dueAt ?? '') <= Date.now();
        if (looks++ === 0) await sleep(DURATION_MS);
        return isDue && record !== undefined ? [record] : [];
      },
      run: async (job) => {
        startedAt = Date.now();
        await job.remove();
      },
    });
    await queue.begin();
    await eventually(() => expect(startedAt).toBeGreaterThan(0));
    expect(startedAt - dueAt).toBeLessThan(1_500);
  });

  withChores('a job that its worker does not end runs after those that have waited longer', async (chores) => {
    const turns: string[] = [];
    const queue = await chores.open({
      concurrency: 1,
      run: async (job) => {
        turns.push(job.record.label);
        await sleep(2);
        const left = (job.record.turns ?? 3) - 1;
        await (left === 0 ? job.remove() : job.save({ turns: left }));
      },
    });
    const at = Date.now() - 1000;
    for (const [i, label] of ['a', 'b'].entries()) {
      await chores.add({ label, dueAt: new Date(at + i).toISOString() });
    }
    await queue.runDue();
    expect(turns).toEqual(['a', 'b', 'a', 'b', 'a', 'b']);
  });

  withChores('one job can be run at once, by one worker', async (chores) => {
    const ran: string[] = [];
    const run = async (job: HeldJob<Chore>) => {
      ran.push(job.record.label);
      await sleep(20);
      await job.remove();
    };
    const [one, two] = [await chores.open({ run }), await chores.open({ run })];
    const id = await chores.add({ label: 'now', dueAt: new Date(Date.now() + HOUR_MS).toISOString() });
    const record = (await chores.get(id)) as Chore;
    await Promise.all([one.runNow(record), one.runNow(record), two.runNow(record)]);
    expect(ran).toEqual(['now']);
  });

  duty('expired records are deleted from collections that declare an expiry field', async () => {
    const { store } = use();
    const { removeExpired } = await import('../../store/index.js');
    const name = `expiring_${Math.trunc(performance.timeOrigin).toString(36)}_${++opened}`;
    const notes = await store.collection<Note>({ name, indexes: [{ fields: ['expiresAt'] }], expires: 'expiresAt' });
    const work = store.begin();
    for (let at = 0; at < 600; at++) {
      const expiresAt = at < 550 ? '2026-01-01T00:00:00.000Z' : '2026-03-01T00:00:00.000Z';
      work.insert(notes, { id: `n${at}`, text: 'x', ...(at < 590 && { expiresAt }) });
    }
    await work.commit();
    expect(await removeExpired(store, '2026-02-01T00:00:00.000Z')).toBeGreaterThanOrEqual(550);
    expect(await notes.count({})).toBe(50);
    expect(await removeExpired(store, '2026-02-01T00:00:00.000Z')).toBe(0);
  });
}

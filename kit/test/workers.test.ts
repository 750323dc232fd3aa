import { afterEach, describe, expect, test } from '@jest/globals';
import { countTurns } from '../src/testing/index.js';
import { createFairQueue, createWorkerPool, passOn, startTaskThread, type WorkerPool } from '../src/workers/index.js';
import type { ThreadTask } from './task-thread-entry.js';

const PATIENCE_MS = 30_000;
const SHORT_MS = 150;

describe('a fair queue', () => {
  /** Creates a job that ends on demand. */
  function createJob(name: string, begun: string[]) {
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const job = async () => {
      begun.push(name);
      await ended;
      return name;
    };
    return { job, end: () => end() };
  }

  test('a tenant with few jobs does not wait behind one with many', async () => {
    const queue = createFairQueue({ concurrency: 1, concurrencyPerTenant: 1, maxWaitingPerTenant: 10 });
    const begun: string[] = [];
    const jobs = ['a1', 'a2', 'a3', 'b1', 'b2'].map((name) => ({ name, ...createJob(name, begun) }));
    const done = jobs.map(({ name, job }) => queue.run(name[0] as string, job));
    for (const { end } of jobs) end();
    expect(await Promise.all(done)).toEqual(['a1', 'a2', 'a3', 'b1', 'b2']);
    expect(begun.indexOf('b1')).toBe(1);
    expect(begun.indexOf('b2')).toBeLessThan(4);
  });

  test('the tenant whose jobs took longer waits for the others', async () => {
    const queue = createFairQueue({ concurrency: 1, concurrencyPerTenant: 1, maxWaitingPerTenant: 10 });
    const begun: string[] = [];
    const slow = async () => {
      begun.push('slow');
      await new Promise((resolve) => setTimeout(resolve, 400));
    };
    const quick = async () => void begun.push('quick');
    await Promise.all([
      ...Array(3)
        .fill(0)
        .map(() => queue.run('a', slow)),
      ...Array(5)
        .fill(0)
        .map(() => queue.run('b', quick)),
    ]);
    expect(begun).toEqual(['slow', ...Array(5).fill('quick'), 'slow', 'slow']);
  });

  test('a job that has not started in time is refused, and one that has started continues', async () => {
    const queue = createFairQueue({ concurrency: 1, concurrencyPerTenant: 1, maxWaitingPerTenant: 10 });
    const begun: string[] = [];
    const first = createJob('a1', begun);
    const running = queue.run('a', first.job, Date.now() + 50);
    const late = queue.run('a', async () => 'a2', Date.now() + 50);
    await expect(late).rejects.toMatchObject({ code: 'RESOURCE_EXHAUSTED', reason: 'concurrency_limited' });
    const next = queue.run('b', async () => 'b1', Date.now() + 60_000);
    first.end();
    expect(await running).toBe('a1');
    expect(await next).toBe('b1');
  });

  test('one tenant leaves a slot to others', async () => {
    const queue = createFairQueue({ concurrency: 2, concurrencyPerTenant: 1, maxWaitingPerTenant: 10 });
    const begun: string[] = [];
    const [first, second] = [createJob('a1', begun), createJob('a2', begun)];
    const all = [
      queue.run('a', first.job),
      queue.run('a', second.job),
      queue.run('b', async () => void begun.push('b')),
    ];
    await all[2];
    expect(begun).toEqual(['a1', 'b']);
    first.end();
    second.end();
    await Promise.all(all);
  });

  test('the waiting jobs of a tenant are limited, and others are not refused because of them', async () => {
    const queue = createFairQueue({ concurrency: 1, concurrencyPerTenant: 1, maxWaitingPerTenant: 1 });
    const running = createJob('a', []);
    const all = [queue.run('a', running.job), queue.run('a', async () => 'waited')];
    await expect(queue.run('a', async () => 'too many')).rejects.toMatchObject({
      code: 'RESOURCE_EXHAUSTED',
      reason: 'concurrency_limited',
      details: { limit: 1 },
    });
    const other = queue.run('b', async () => 'b');
    running.end();
    expect(await Promise.all([...all, other])).toEqual(['a', 'waited', 'b']);
  });

  test('a job that fails releases its slot', async () => {
    const queue = createFairQueue({ concurrency: 1, concurrencyPerTenant: 1, maxWaitingPerTenant: 1 });
    await expect(queue.run('a', () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect(await queue.run('a', async () => 'next')).toBe('next');
  });
});

describe('answers that follow each other', () => {
  test('are passed on in turns of their own once they have taken long', async () => {
    const passed: number[] = [];
    const answer = (i: number) => () => {
      passed.push(i);
      for (const until = performance.now() + 6; performance.now() < until; );
    };
    await new Promise((resolve) => setImmediate(resolve));
    for (let i = 0; i < 6; i++) passOn(answer(i));
    expect(passed).toEqual([0]);
    const turns = await countTurns(async () => {
      while (passed.length < 6) await new Promise((resolve) => setImmediate(resolve));
    });
    expect(passed).toEqual([0, 1, 2, 3, 4, 5]);
    expect(turns).toBeGreaterThanOrEqual(5);
  });
});

describe('a pool of threads', () => {
  let pool: WorkerPool<ThreadTask, string>;
  let started: number;
  const open = (size: number, idleMs?: number, keepsSpare = false) => {
    started = 0;
    const failures = {
      ended: (cause: unknown) => new Error(`ended: ${(cause as NodeJS.ErrnoException | undefined)?.code ?? cause}`),
      late: (timeoutMs: number) => new Error(`late ${timeoutMs}`),
      closed: () => new Error('closed'),
    };
    const entry = new URL('./task-thread-entry.js', import.meta.url);
    pool = createWorkerPool<ThreadTask, string>({
      name: 'test',
      size,
      maxWaitingPerTenant: 10,
      keepsSpare,
      ...(idleMs !== undefined && { idleMs }),
      start() {
        started += 1;
        return startTaskThread({ entry, name: 'test', heapMiB: 32, failures });
      },
      closed: failures.closed,
    });
  };
  afterEach(() => pool.close());

  test('runs tasks, and keeps its threads for the next ones', async () => {
    open(1);
    for (const say of ['one', 'two']) expect(await pool.do('a', { say }, PATIENCE_MS)).toBe(say);
    expect(started).toBe(1);
  });

  test('replaces a thread whose task takes longer than its deadline', async () => {
    open(1);
    const late = pool.do('a', { spin: true }, SHORT_MS);
    const next = pool.do('b', { say: 'next' }, PATIENCE_MS);
    await expect(late).rejects.toThrow(`late ${SHORT_MS}`);
    expect(await next).toBe('next');
    expect(started).toBe(2);
  });

  (process.platform === 'linux' ? test : test.skip)('does not blame a task whose thread got no processor', async () => {
    open(1);
    const starved = pool.do('a', { wait: true }, 400);
    await expect(starved).rejects.toMatchObject({ reason: 'service_unavailable' });
    expect(await pool.do('a', { say: 'next' }, PATIENCE_MS)).toBe('next');
  });

  test('replaces a thread that ends by itself', async () => {
    open(1);
    await expect(pool.do('a', { fail: 'broken' }, PATIENCE_MS)).rejects.toThrow('ended: Error: broken');
    await expect(pool.do('a', { fill: true }, PATIENCE_MS)).rejects.toThrow('ended: ERR_WORKER_OUT_OF_MEMORY');
    expect(await pool.do('a', { say: 'again' }, PATIENCE_MS)).toBe('again');
  });

  test('serves other tenants while all tasks of one tenant run endlessly', async () => {
    open(2);
    const spinning = [1, 2, 3].map(() =>
      pool.do('a', { spin: true }, PATIENCE_MS).catch((error: Error) => error.message),
    );
    for (const say of ['one', 'two']) expect(await pool.do('b', { say }, PATIENCE_MS)).toBe(say);
    await pool.close();
    expect(await Promise.all(spinning)).toEqual(['closed', 'closed', 'closed']);
  });

  test('ends idle threads, and starts them again', async () => {
    open(1, 1);
    await pool.do('a', { say: 'one' }, PATIENCE_MS);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await pool.do('a', { say: 'two' }, PATIENCE_MS)).toBe('two');
    expect(started).toBe(2);
  });

  test('keeps a spare thread ready for the next tenant, within its size', async () => {
    open(2, undefined, true);
    expect(await pool.do('a', { say: 'one' }, PATIENCE_MS)).toBe('one');
    expect(started).toBe(2);
    const both = [pool.do('a', { say: 'two' }, PATIENCE_MS), pool.do('b', { say: 'three' }, PATIENCE_MS)];
    expect(await Promise.all(both)).toEqual(['two', 'three']);
    expect(started).toBe(2);
  });

  test('refuses tasks once it is closed', async () => {
    open(1);
    await pool.close();
    await expect(pool.do('a', { say: 'late' }, PATIENCE_MS)).rejects.toThrow('closed');
  });
});

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { countTurns, createEvent, type EventsHarness, eventsContract, eventually } from '@commonplace/kit/testing';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { firstWaiting, windowsOf } from '../src/sqlite/events/log.js';
import { openConnection } from '../src/sqlite/file/binding.js';
import { openSqliteDatabase, type SqliteDatabase } from '../src/sqlite/index.js';

async function open(folder: string): Promise<EventsHarness> {
  const database = await openSqliteDatabase({ file: join(folder, 'contract.db') });
  return {
    bus: database.bus(),
    another: async () => database.bus(),
    close: async () => {
      await database.close();
      await rm(folder, { recursive: true });
    },
    reopen: async () => {
      await database.close();
      return open(folder);
    },
  };
}

eventsContract('sqlite', async () => open(await mkdtemp(join(tmpdir(), 'commonplace-events-'))));

describe('the bus on sqlite', () => {
  let folder: string;
  let database: SqliteDatabase;
  const OPTIONS = { consumer: 'c', types: ['commonplace.>'] };

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'commonplace-bus-'));
    database = await openSqliteDatabase({ file: join(folder, 'a.db') });
  });

  afterEach(async () => {
    await database.close();
    await rm(folder, { recursive: true });
  });

  test('closes at once although an event waits ten minutes for its next attempt', async () => {
    let calls = 0;
    const subscription = await database.bus().subscribe({ ...OPTIONS, retryMs: 600_000 }, async () => {
      calls++;
      throw new Error('not now');
    });
    await database.bus().publish([createEvent('a')]);
    await eventually(() => expect(calls).toBe(1));
    await subscription.close();
    expect(calls).toBe(1);
  });

  test('finds what another process has written', async () => {
    const seen: string[] = [];
    await database.bus().subscribe(OPTIONS, async ([event]) => void seen.push(event?.subject ?? ''));
    const other = await openSqliteDatabase({ file: join(folder, 'a.db') });
    await other.bus().publish([createEvent('from elsewhere')]);
    await other.close();
    await eventually(() => expect(seen).toEqual(['from elsewhere']));
  });

  test('skips events that no consumer subscribed to, however many there are', async () => {
    const bus = database.bus();
    const seen: string[] = [];
    const noise = Array.from({ length: 6_000 }, () => createEvent('noise', {}, 'elsewhere.thing.changed'));
    await bus.publish(noise);
    await bus.publish([createEvent('behind the noise')]);
    await bus.subscribe(OPTIONS, async ([event]) => void seen.push(event?.subject ?? ''));
    await eventually(() => expect(seen).toEqual(['behind the noise']));
    await eventually(async () => expect(await bus.lag('c')).toBe(0));
  });

  test('scans a long log in parts, and lets other work run in between', async () => {
    const bus = database.bus();
    await (await bus.subscribe(OPTIONS, async () => {})).close();
    await bus.publish(Array.from({ length: 6_000 }, () => createEvent('noise', {}, 'elsewhere.thing.changed')));
    await bus.publish([createEvent('behind the noise')]);
    expect(
      await countTurns(async () => {
        expect(await bus.lag('c')).toBe(1);
      }),
    ).toBeGreaterThanOrEqual(12);
    const reader = openConnection(join(folder, 'a.db'), { readOnly: true });
    const place = { types: OPTIONS.types, seq: 0 };
    expect(
      await countTurns(async () => {
        expect(await firstWaiting(reader, place)).toBe(6_001);
      }),
    ).toBeGreaterThanOrEqual(12);
    reader.close();
    const scanned: number[] = [];
    for await (const { after, to } of windowsOf(0, 6_001)) scanned.push(to - after);
    expect(Math.max(...scanned)).toBeLessThanOrEqual(500);
    expect(scanned.reduce((sum, count) => sum + count, 0)).toBe(6_001);
  });

  test('consumers that are woken together scan one after another, in turns of their own', async () => {
    const bus = database.bus();
    await bus.publish(Array.from({ length: 500 }, () => createEvent('noise', {}, 'elsewhere.thing.changed')));
    await bus.publish([createEvent('behind the noise')]);
    let done = 0;
    const turns = await countTurns(async () => {
      const names = Array.from({ length: 20 }, (_, i) => `c${i}`);
      await Promise.all(names.map((consumer) => bus.subscribe({ ...OPTIONS, consumer }, async () => void done++)));
      await eventually(() => expect(done).toBe(20));
    });
    expect(turns).toBeGreaterThanOrEqual(20);
  });

  test('a closed bus accepts nothing more, and does not affect the others', async () => {
    const [closed, open] = [database.bus(), database.bus()];
    await closed.close();
    await expect(closed.publish([createEvent('a')])).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await expect(closed.subscribe(OPTIONS, async () => {})).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await open.publish([createEvent('a')]);
  });
});

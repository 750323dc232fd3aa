import { createEvent, eventually } from '@commonplace/kit/testing';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { EXIT } from '../src/exit.js';
import { commonplace } from './commonplace.js';
import { type DataFolder, makeDataFolder } from './data-folder.js';

let folder: DataFolder;
beforeEach(async () => {
  folder = await makeDataFolder();
});
afterEach(() => folder.remove());

async function run(...args: string[]) {
  const { code, stdout } = await commonplace(['events', ...args, '--data-dir', folder.dataDir, '--json']);
  return { code, answer: JSON.parse(stdout) };
}

test('lists parked events, redelivers them, and deletes them while the system runs', async () => {
  const bus = folder.database.bus();
  const events = ['a', 'b', 'c'].map((subject) => createEvent(subject, {}, 'commonplace.test.thing.changed'));
  const [first, second, third] = events.map(({ id }) => id) as [string, string, string];
  let mended = false;
  const done: string[] = [];
  const options = { consumer: 'search-index', types: ['commonplace.test.>'], maxAttempts: 1 };
  await bus.subscribe(options, async ([event]) => {
    if (!mended) throw new Error('the index did not answer');
    done.push(event?.id ?? '');
  });
  await bus.subscribe({ consumer: 'notifications', types: ['commonplace.test.other'] }, async () => {});
  await bus.publish(events);
  await eventually(async () => expect(await bus.parkedCount('search-index')).toBe(3));
  mended = true;

  const { answer } = await run('list');
  expect(answer.events).toHaveLength(3);
  expect(answer.events[0]).toMatchObject({
    ...{ consumer: 'search-index', id: first, type: 'commonplace.test.thing.changed', subject: 'a', attempts: 1 },
    error: expect.stringContaining('the index did not answer'),
  });
  expect((await run('list', '--consumer', 'notifications')).answer.events).toEqual([]);
  for (const args of [['list'], ['retry', '--all'], ['delete', '--all']]) {
    const { code, answer } = await run(...args, '--consumer', 'search-indx');
    expect([code, answer.error?.message]).toEqual([
      EXIT.usage,
      'there is no consumer search-indx; there are notifications, search-index',
    ]);
  }
  expect(await run('retry', second)).toEqual({ code: EXIT.ok, answer: { events: 1 } });
  await eventually(() => expect(done).toEqual([second]));
  expect((await run('retry', second)).code).toBe(EXIT.missing);
  expect((await run('delete', third, '--all')).code).toBe(EXIT.usage);
  expect(await run('delete', third)).toEqual({ code: EXIT.ok, answer: { events: 1 } });
  expect(await run('retry', '--all', '--consumer', 'search-index')).toEqual({ code: EXIT.ok, answer: { events: 1 } });
  await eventually(() => expect(done).toEqual([second, first]));
  expect((await run('list')).answer.events).toEqual([]);
  expect((await run('retry')).code).toBe(EXIT.usage);
  await bus.close();
});

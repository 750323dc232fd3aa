import { execFileSync } from 'node:child_process';
import { eventually } from '@commonplace/kit/testing';
import { afterEach, expect, test } from '@jest/globals';
import { type Media, type MediaSettings, openMedia } from '../../src/media/index.js';
import { pdf } from './pdfs.js';

let media: Media | undefined;
afterEach(() => media?.close());

function open(settings: Partial<MediaSettings>): Media {
  media = openMedia(settings);
  return media;
}

const HTML = Buffer.from(`<p>${'words and more '.repeat(2_000_000)}`);

test('kills a reader that takes too long, and reads the next file', async () => {
  const slow = open({ textTimeoutMs: 1 });
  await expect(slow.extractText('org', HTML, 'text/html')).rejects.toMatchObject({ reason: 'timeout' });
  const other = await slow.thumbnail('org', Buffer.from('no image'), { width: 10 }).catch((error) => error.reason);
  expect(other).toBe('unsupported_type');
});

test('kills a reader that takes too much memory, and reads the next file', async () => {
  const small = open({ memoryBytes: 100 * 1024 * 1024, maxChars: 100_000_000 });
  await expect(small.extractText('org', HTML, 'text/html')).rejects.toMatchObject({ reason: 'out_of_memory' });
  expect((await small.extractText('org', Buffer.from('fine'), 'text/plain')).text).toBe('fine');
});

test('counts memory outside of the JavaScript heap', async () => {
  const small = open({ memoryBytes: 90 * 1024 * 1024 });
  const noise = Buffer.alloc(120 * 1024 * 1024, 'no image ');
  await expect(small.thumbnail('org', noise, { width: 10 })).rejects.toMatchObject({ reason: 'out_of_memory' });
});

test('reads files of one tenant in the order of requests', async () => {
  const all = open({});
  const order: number[] = [];
  const file = await pdf([['x']]);
  await Promise.all(
    [0, 1, 2, 3].map(async (at) => {
      await all.extractText(
        'org',
        at % 2 === 0 ? file : Buffer.from('x'),
        at % 2 === 0 ? 'application/pdf' : 'text/plain',
      );
      order.push(at);
    }),
  );
  expect(order).toEqual([0, 1, 2, 3]);
});

test('rejects waiting and further requests when closed', async () => {
  const closing = open({});
  const waiting = [closing.extractText('org', HTML, 'text/html'), closing.extractText('org', HTML, 'text/html')].map(
    (one) => one.catch((error) => error.reason),
  );
  await new Promise((resolve) => setTimeout(resolve, 20));
  await closing.close();
  expect(await Promise.all(waiting)).toEqual(['closed', 'closed']);
  await expect(closing.extractText('org', HTML, 'text/html')).rejects.toMatchObject({ reason: 'closed' });
});

test('ends the process when idle, and starts it again', async () => {
  const resting = open({ idleMs: 50 });
  expect((await resting.extractText('org', Buffer.from('one'), 'text/plain')).text).toBe('one');
  await eventually(() => {
    const children = execFileSync('ps', ['-o', 'args=', '--ppid', String(process.pid)], { encoding: 'utf8' });
    expect(children).not.toContain('/media/worker/main.js');
  });
  expect((await resting.extractText('org', Buffer.from('two'), 'text/plain')).text).toBe('two');
});

test('lets a program continue after closing, and exit without closing', () => {
  const program = (end: string) => `
    import { openMedia } from ${JSON.stringify(new URL('../../src/media/index.js', import.meta.url).href)};
    const media = openMedia({ idleMs: 600_000 });
    const { text } = await media.extractText("org", Buffer.from('read'), 'text/plain');
    ${end};
    console.log(text);`;
  for (const end of ['await media.close()', '']) {
    const output = execFileSync(process.execPath, ['--input-type=module', '-e', program(end)], {
      encoding: 'utf8',
      timeout: 20_000,
    });
    expect(output).toBe('read\n');
  }
});

test('does not delay one tenant by slow files of another', async () => {
  const shared = open({ maxChars: 100_000_000, textTimeoutMs: 5_000 });
  const order: string[] = [];
  const slow = [1, 2, 3, 4].map(() =>
    shared
      .extractText('slow', HTML, 'text/html')
      .catch(() => undefined)
      .then(() => order.push('slow')),
  );
  for (let at = 0; at < 3; at++) {
    await shared.extractText('other', Buffer.from('x'), 'text/plain').then(() => order.push('other'));
  }
  await Promise.all(slow);
  expect(order.indexOf('slow', order.lastIndexOf('other'))).toBeGreaterThan(0);
  expect(order.slice(order.lastIndexOf('other')).filter((name) => name === 'slow').length).toBeGreaterThanOrEqual(2);
});

test('limits the waiting requests of one tenant', async () => {
  const shared = open({ processes: 1, maxWaitingPerTenant: 1 });
  const first = shared.extractText('org', Buffer.from('one'), 'text/plain');
  const second = shared.extractText('org', Buffer.from('two'), 'text/plain');
  // A file is examined before its task waits.
  await new Promise((resolve) => setImmediate(resolve));
  await expect(shared.extractText('org', Buffer.from('three'), 'text/plain')).rejects.toMatchObject({
    reason: 'concurrency_limited',
    details: { limit: 1 },
  });
  expect((await shared.extractText('other', Buffer.from('four'), 'text/plain')).text).toBe('four');
  expect((await Promise.all([first, second])).map(({ text }) => text)).toEqual(['one', 'two']);
});

test.each([
  ['elements', '<div>'],
  ['elements that close unopened ones', '<div></x>'],
  ['elements that pages never nest', '<caption>'],
])('refuses an extremely nested page at once: %s', async (_, piece) => {
  const reader = open({});
  const page = Buffer.from(piece.repeat(500_000));
  await expect(reader.extractText('org', page, 'text/html')).rejects.toMatchObject({ reason: 'suspicious' });
  await expect(reader.extractText('org', page, 'application/xml')).rejects.toMatchObject({ reason: 'suspicious' });
});

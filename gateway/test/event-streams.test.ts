import { EventEmitter } from 'node:events';
import type { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { AppError, Timeout, Unavailable } from '@commonplace/kit/errors';
import { eventually } from '@commonplace/kit/testing';
import { expect, test } from '@jest/globals';
import { createEventStreams, type OpenEvents } from '../src/event-streams.js';
import type { EventRoute } from '../src/routes.js';

/** Streams of server-sent events when clients leave, services go away and the time is over. */

const route = {
  writeEvent: ({ id }: { id: string }) => ({ id, name: 'thing.changed', data: `{"id":"${id}"}` }),
} as unknown as EventRoute;

function contextOf(destroyed = false) {
  const res = Object.assign(new EventEmitter(), { destroyed });
  return {
    ctx: {
      state: { admitted: { token: 'first' }, requestId: 'req_a', renew: async () => ({}) },
      get: () => '',
      set() {},
      res,
      req: { socket: { setTimeout() {} } },
      status: 0,
      body: undefined as PassThrough | undefined,
    },
    res,
  };
}

function openStreams(stallMs?: number) {
  let open = 0;
  const streams = createEventStreams(
    {
      require: () => {},
      open: () => {
        open += 1;
        return () => {
          open -= 1;
        };
      },
    },
    stallMs,
  );
  return { streams, count: () => open };
}

const later = () => Date.now() + 60_000;

test('a client that leaves before its stream is opened occupies no slot', async () => {
  const { streams, count } = openStreams();
  const { ctx } = contextOf(true);
  let opened = 0;
  const open: OpenEvents = async function* () {
    opened += 1;
    yield { id: '1' };
  };
  await streams.send(ctx as never, route, open, later());
  await new Promise(setImmediate);
  expect([opened, count(), ctx.body]).toEqual([0, 0, undefined]);
});

test('a stream whose service goes away is opened again after its last event', async () => {
  const { streams, count } = openStreams();
  const { ctx } = contextOf();
  const opened: string[] = [];
  const open: OpenEvents = async function* (lastEventId) {
    opened.push(lastEventId);
    yield { id: String(opened.length) };
    if (opened.length < 3) throw Unavailable();
  };
  await streams.send(ctx as never, route, open, later());
  const sent = await text(ctx.body as PassThrough);
  expect(opened).toEqual(['', '1', '2']);
  expect(sent.match(/^id: .$/gm)).toEqual(['id: 1', 'id: 2', 'id: 3']);
  expect(sent).not.toContain('event: error');
  expect(count()).toBe(0);
});

test('a stream ends without an error when its time is over', async () => {
  const { streams, count } = openStreams();
  const { ctx } = contextOf();
  const deadline = Date.now() + 1000;
  let opened = 0;
  const open: OpenEvents = async function* () {
    opened += 1;
    yield { id: '1' };
    while (Date.now() <= deadline) await new Promise((resolve) => setTimeout(resolve, 10));
    throw Timeout();
  };
  await streams.send(ctx as never, route, open, deadline);
  const sent = await text(ctx.body as PassThrough);
  expect(opened).toBe(1);
  expect(sent).not.toContain('event: error');
  expect(count()).toBe(0);
});

test('a client that leaves ends the stream of the service', async () => {
  const { streams, count } = openStreams();
  const { ctx, res } = contextOf();
  let ended = false;
  const open: OpenEvents = async function* (_, signal) {
    try {
      yield { id: '1' };
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    } finally {
      ended = true;
    }
  };
  await streams.send(ctx as never, route, open, later());
  res.emit('close');
  await eventually(() => expect([ended, count()]).toEqual([true, 0]));
});

test('a client that reads nothing of what it was sent is disconnected, and its stream is cancelled', async () => {
  const { streams, count } = openStreams(50);
  const { ctx, res } = contextOf();
  const gone = new Promise<void>((resolve) => {
    Object.assign(res, {
      destroy() {
        res.emit('close');
        resolve();
      },
    });
  });
  let sent = 0;
  const open: OpenEvents = async function* () {
    for (;;) yield { id: String(sent++).padStart(1_000, '0') };
  };
  await streams.send(ctx as never, route, open, later());
  await gone;
  await new Promise(setImmediate);
  const taken = sent;
  await new Promise(setImmediate);
  expect([sent, count()]).toEqual([taken, 0]);
  expect(taken).toBeLessThan(100);
});

test('a stream that outlives its caller token is opened again with the next one, and ends without an error if that is late', async () => {
  const { streams } = openStreams();
  const { ctx } = contextOf();
  const opened: string[] = [];
  const open: OpenEvents = async function* (lastEventId) {
    opened.push(lastEventId);
    yield { id: String(opened.length) };
    if (opened.length === 1) ctx.state.admitted = { token: 'second' };
    throw new AppError('UNAUTHENTICATED', 'invalid_credentials', 'The caller token is not valid.');
  };
  await streams.send(ctx as never, route, open, later());
  const sent = await text(ctx.body as PassThrough);
  expect(opened).toEqual(['', '1', '2', '3', '4', '5', '6']);
  expect(sent.match(/^event: .*$/gm)).toEqual(opened.map(() => 'event: thing.changed'));
}, 20_000);

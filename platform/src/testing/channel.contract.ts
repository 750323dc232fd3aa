import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { openSqliteDatabase } from '@commonplace/adapters/sqlite';
import { createPeerTokens } from '@commonplace/kit/auth';
import { AppError, invalidFields, NotFound } from '@commonplace/kit/errors';
import { silentLog } from '@commonplace/kit/log';
import type {
  CallContext,
  CallMetadata,
  CallOptions,
  Channel,
  Client,
  Handlers,
  IncomingCall,
  Reply,
  ServedMethod,
} from '@commonplace/kit/rpc';
import { serveMethods } from '@commonplace/kit/rpc';
import type { Collection, StoredRecord, UnitOfWork } from '@commonplace/kit/store';
import { eventually } from '@commonplace/kit/testing';
import type { IndexService } from '@commonplace/proto/resources/v1/index_service.js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { contracts } from '../contracts/index.js';

/** A channel to methods that the suite provides; both ends share the peer tokens `peers`. */
export interface ChannelHarness {
  readonly channel: Channel;
  close(): Promise<void>;
}

export type OpenChannel = (
  methods: ReadonlyMap<string, ServedMethod>,
  peers: ReturnType<typeof createPeerTokens>,
) => Promise<ChannelHarness>;

const { definition } = contracts.index;
const entry = (id: string) => ({
  id,
  tenant: '',
  workspaceId: '',
  boundaryId: '',
  ancestorIds: [],
  directPrincipals: [],
  type: 'RESOURCE_TYPE_FOLDER' as never,
  name: '',
  text: '',
  metadataJson: '',
  createdBy: undefined,
  createdAt: undefined,
  updatedAt: undefined,
  version: 0,
  contentVersion: 0,
  comments: [],
  tags: [],
});

/** Runs a garbage collection, also in a process that was not started with `--expose-gc`. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
}

/** Tests each duty of the Channel port. */
export function channelContract(name: string, open: OpenChannel): void {
  describe(`channel: ${name}`, () => {
    const peers = createPeerTokens(randomBytes(32), 'caller');
    let play: (request: { ids: string[] }, call: IncomingCall) => Promise<unknown> = async () => ({
      entries: [],
      leftIds: [],
    });
    let playStream: (call: IncomingCall) => AsyncIterable<unknown>;
    let harness: ChannelHarness;
    let client: Client<IndexService>;

    beforeAll(async () => {
      const methods = new Map<string, ServedMethod>();
      for (const { path, responseStream } of Object.values(definition)) {
        methods.set(path, {
          streams: responseStream,
          unary: (request, call) => play(request as never, call),
          stream: (_, call) => playStream(call),
        });
      }
      harness = await open(methods, peers);
      client = harness.channel.client(contracts.index);
    });
    afterAll(() => harness.close());

    const options = (more: Partial<CallOptions> = {}): CallOptions => ({
      metadata: { requestId: 'req_test' },
      deadline: Date.now() + 5000,
      ...more,
    });
    const ask = (more?: Partial<CallOptions>) => client.getIndexEntries({ ids: ['a'], mostBytes: 0 }, options(more));

    test('carries requests and answers', async () => {
      play = async ({ ids }) => ({ entries: ids.map(entry), leftIds: [] });
      expect((await ask()).entries).toMatchObject([{ id: 'a' }]);
    });

    test('an answer of 24 MiB arrives', async () => {
      const text = 'x'.repeat(24 * 2 ** 20);
      play = async () => ({ entries: [{ ...entry('large'), text }], leftIds: [] });
      const { entries } = await ask({ deadline: Date.now() + 30_000 });
      expect(entries[0]?.text.length).toBe(text.length);
    });

    test('errors arrive as they were thrown', async () => {
      const thrown = new AppError('ABORTED', 'version_conflict', 'Changed – größer 你好.', {
        param: 'name',
        details: { current_version: 3, nested: { a: [1, null] } },
        faults: [
          { param: 'rows[3].x', code: 'invalid_value', message: 'no' },
          { param: 'rows[4].cells.a', code: 'cell_invalid', message: 'no', row: 4, column_id: 'a' },
          {
            param: 'captcha_token',
            code: 'missing_field',
            message: 'no',
            captcha: { challenge: 'c', bits: 18, expires_at: '2026-01-01T00:00:00.000Z' },
          },
        ],
        retryAfter: 7,
      });
      play = async () => {
        throw thrown;
      };
      const { code, reason, message, param, details, faults, retryAfter } = thrown;
      await expect(ask()).rejects.toMatchObject({ code, reason, message, param, details, faults, retryAfter });
      await expect(ask()).rejects.toBeInstanceOf(AppError);
    });

    test('anything else that was thrown arrives as internal_error without its message', async () => {
      play = async () => {
        throw new Error('the password is 12345');
      };
      const error = await ask().catch((caught: AppError) => caught);
      expect(error).toMatchObject({ code: 'INTERNAL', reason: 'internal_error' });
      expect((error as AppError).message).not.toContain('12345');
    });

    test('a hundred faults arrive', async () => {
      const faults = Array.from({ length: 100 }, (_, i) => ({
        param: `rows[${i}].cells.a_long_column_name`,
        code: 'cell_invalid',
        message: `row ${i} holds a value that this column can not hold, which takes a sentence to say`,
      }));
      play = async () => {
        throw new AppError('INVALID_ARGUMENT', 'validation_failed', 'many', { faults });
      };
      await expect(ask()).rejects.toMatchObject({ faults });
    });

    test('an error about very long names of fields arrives', async () => {
      play = async () => {
        throw invalidFields(
          Array.from({ length: 100 }, (_, i) => ({
            param: `rows[${i}].${'漢'.repeat(10_000)}`,
            code: 'unknown_column',
            message: `The table has no column ${'漢'.repeat(10_000)}.`,
          })),
        );
      };
      await expect(ask()).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', reason: 'validation_failed' });
    });

    test('metadata arrives as it was sent, with the peer it came from', async () => {
      const metadata: CallMetadata = {
        requestId: 'req_1',
        token: 'a.b.c',
        traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
        baseVersion: 12,
        idempotency: { id: 'i', fingerprint: 'f' },
      };
      let seen: IncomingCall | undefined;
      play = async (_, call) => {
        seen = call;
        return { entries: [], leftIds: [] };
      };
      const deadline = Date.now() + 5000;
      await ask({ metadata, deadline });
      expect(seen?.metadata).toEqual(metadata);
      expect(peers.verify(seen?.peerToken)).toBe('caller');
      // gRPC transmits the remaining time, so rounding of the clock may change the deadline slightly.
      expect(Math.abs((seen?.deadline ?? 0) - deadline)).toBeLessThan(1000);
    });

    test('the reply is filled before the call resolves', async () => {
      play = async (_, call) => {
        call.reply.status = 202;
        call.reply.warnings = [{ code: 'w', message: 'über' }];
        return { entries: [], leftIds: [] };
      };
      const reply: Reply = {};
      await ask({ reply });
      expect(reply).toEqual({ status: 202, warnings: [{ code: 'w', message: 'über' }] });
      play = async (_, call) => {
        call.reply.replayOf = 'req_0';
        throw NotFound();
      };
      const failed: Reply = {};
      await expect(ask({ reply: failed })).rejects.toMatchObject({ reason: 'not_found' });
      expect(failed).toEqual({ replayOf: 'req_0' });
    });

    test('a deadline that passes is a timeout although the handler hangs', async () => {
      let aborted: AbortSignal | undefined;
      play = (_, call) => {
        aborted = call.signal;
        return new Promise(() => {});
      };
      await expect(ask({ deadline: Date.now() + 100 })).rejects.toMatchObject({ reason: 'timeout' });
      await eventually(async () => expect(aborted?.aborted).toBe(true));
    });

    test('an answer is not retained until the deadline', async () => {
      play = async () => ({ entries: [entry('a')], leftIds: [] });
      const given = await (async () => new WeakRef(await ask({ deadline: Date.now() + 60_000 })))();
      await eventually(async () => {
        collectGarbage();
        expect(given.deref()).toBeUndefined();
      });
    });

    test.each([Number.NaN, Number.POSITIVE_INFINITY])('a call without a deadline is refused (%s)', async (deadline) => {
      play = async () => ({ entries: [], leftIds: [] });
      await expect(ask({ deadline })).rejects.toMatchObject({ reason: 'deadline_missing' });
    });

    test('an aborted signal ends the call and the handler', async () => {
      const controller = new AbortController();
      let handler: AbortSignal | undefined;
      play = (_, call) => {
        handler = call.signal;
        return new Promise(() => {});
      };
      const asked = ask({ signal: controller.signal });
      await eventually(async () => expect(handler).toBeDefined());
      controller.abort();
      await expect(asked).rejects.toMatchObject({ code: 'CANCELLED' });
      await eventually(async () => expect(handler?.aborted).toBe(true));
      await expect(ask({ signal: controller.signal })).rejects.toMatchObject({ code: 'CANCELLED' });
    });

    test('a stream delivers in order and ends with the error of its handler', async () => {
      playStream = async function* () {
        for (let i = 0; i < 100; i++) yield { entries: [entry(String(i))], leftIds: [] };
        throw NotFound();
      };
      const seen: string[] = [];
      const read = async () => {
        for await (const { entries } of client.streamIndexEntries({ batchSize: 1 }, options()))
          seen.push(entries[0]?.id ?? '');
      };
      await expect(read()).rejects.toMatchObject({ reason: 'not_found' });
      expect(seen).toEqual(Array.from({ length: 100 }, (_, i) => String(i)));
    });

    test('a stream whose deadline passes is a timeout although its handler hangs', async () => {
      playStream = async function* () {
        yield { entries: [entry('a')], leftIds: [] };
        await new Promise(() => {});
      };
      const read = async () => {
        for await (const _ of client.streamIndexEntries({ batchSize: 1 }, options({ deadline: Date.now() + 200 })));
      };
      await expect(read()).rejects.toMatchObject({ reason: 'timeout' });
    });

    test('a stream stops its handler when its reader stops', async () => {
      let ended = false;
      playStream = async function* () {
        try {
          for (let i = 0; ; i++) {
            yield { entries: [entry(String(i))], leftIds: [] };
            await new Promise((resolve) => setTimeout(resolve, 1));
          }
        } finally {
          ended = true;
        }
      };
      for await (const _ of client.streamIndexEntries({ batchSize: 1 }, options())) break;
      await eventually(async () => expect(ended).toBe(true));
    });
  });
  describe(`channel: ${name}: what a handler writes`, () => handlerCommits(open));
}

/**
 * Tests that the unit of work of a stream is committed at its end, and at no other time, and that a unary call runs again
 * after a lost race.
 */
function handlerCommits(open: OpenChannel): void {
  // The contract allows this service to call the method.
  const peers = createPeerTokens(randomBytes(32), 'search');
  const controller = new AbortController();
  let play: (context: CallContext) => AsyncIterable<unknown>;
  let answer: (context: CallContext) => Promise<unknown>;
  let records: Collection<StoredRecord>;
  let begin: () => UnitOfWork;
  let client: Client<IndexService>;
  let close: () => Promise<void>;

  beforeAll(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'commonplace-stream-'));
    const database = await openSqliteDatabase({ file: join(folder, 'stream.db') });
    const store = database.store('stream');
    begin = () => store.begin();
    records = await store.collection<StoredRecord>({ name: 'written', indexes: [] });
    const handlers: Record<string, unknown> = {};
    for (const [method, { responseStream }] of Object.entries(definition)) {
      handlers[method] = responseStream
        ? (_: unknown, context: CallContext) => play(context)
        : (_: unknown, context: CallContext) => answer(context);
    }
    const verifyCaller = () => Promise.reject(new Error('these calls have no caller'));
    const parts = { service: 'stream', store, verifyCaller, peers, log: silentLog };
    const methods = await serveMethods(contracts.index, handlers as unknown as Handlers<IndexService>, parts);
    const harness = await open(methods, peers);
    client = harness.channel.client(contracts.index);
    close = async () => {
      await harness.close();
      await database.close();
      await rm(folder, { recursive: true });
    };
  });
  afterAll(() => close());

  const read = async (options: Partial<CallOptions> = {}, most = Number.POSITIVE_INFINITY) => {
    const asked = { metadata: { requestId: 'req_test' }, deadline: Date.now() + 20_000, ...options };
    let seen = 0;
    for await (const _ of client.streamIndexEntries({ batchSize: 1 }, asked)) if (++seen >= most) break;
    return seen;
  };
  const written = async (id: string) => (await records.get(id)) !== undefined;
  const message = (id: string) => ({ entries: [entry(id)], leftIds: [] });

  test('is committed when the stream has ended, before its reader sees the end', async () => {
    const effects: string[] = [];
    play = async function* ({ work }) {
      work.insert(records, { id: 'before' });
      yield message('one');
      work.insert(records, { id: 'between' });
      yield message('two');
      work.insert(records, { id: 'last' });
    };
    expect(await read()).toBe(2);
    expect(await Promise.all(['before', 'between', 'last'].map(written))).toEqual([true, true, true]);
    play = async function* (context) {
      context.afterCommit(() => effects.push('done'));
      context.work.insert(records, { id: 'effect' });
      yield message('one');
      expect(effects).toEqual([]);
    };
    await read();
    expect(effects).toEqual(['done']);
  });

  test('is not committed when the handler fails', async () => {
    play = async function* ({ work }) {
      work.insert(records, { id: 'failed' });
      yield message('one');
      throw NotFound();
    };
    await expect(read()).rejects.toMatchObject({ reason: 'not_found' });
    expect(await written('failed')).toBe(false);
  });

  test('is not committed when the reader stops or cancels the call', async () => {
    let ended = 0;
    play = async function* ({ work, signal }) {
      try {
        work.insert(records, { id: 'stopped' });
        while (!signal.aborted && ended < 1) {
          yield message('again');
          await new Promise((resolve) => setTimeout(resolve, 1));
        }
      } finally {
        ended += 1;
      }
    };
    await read({}, 1);
    await eventually(async () => expect(ended).toBe(1));
    ended = 0;
    play = async function* ({ work, signal }) {
      work.insert(records, { id: 'stopped' });
      yield message('one');
      controller.abort();
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      ended += 1;
    };
    await expect(read({ signal: controller.signal })).rejects.toMatchObject({ code: 'CANCELLED' });
    await eventually(async () => expect(ended).toBe(1));
    expect(await written('stopped')).toBe(false);
  });

  test('ends the stream with an error when it cannot be committed', async () => {
    play = async function* ({ work }) {
      work.insert(records, { id: 'taken' });
      yield message('one');
    };
    await read();
    await expect(read()).rejects.toMatchObject({ code: 'UNAVAILABLE', reason: 'service_unavailable' });
  });

  test('is written again after a lost race, with the reply of the last run alone', async () => {
    let runs = 0;
    const ids: string[] = [];
    answer = async ({ work, reply, callId }) => {
      runs += 1;
      ids.push(callId);
      reply.warnings = [...(reply.warnings ?? []), { code: `run_${runs}`, message: 'Again.' }];
      if (runs === 1) {
        reply.status = 201;
        reply.retryAfter = 3;
        work.insert(records, { id: 'first' });
        // Another call is faster.
        const other = begin();
        other.insert(records, { id: 'first' });
        await other.commit();
      } else work.insert(records, { id: `of run ${runs}` });
      return { entries: [], leftIds: [] };
    };
    const reply: Reply = {};
    const options = { metadata: { requestId: 'req_test' }, deadline: Date.now() + 20_000, reply };
    await client.getIndexEntries({ ids: [], mostBytes: 0 }, options);
    expect(runs).toBe(2);
    expect(reply).toEqual({ warnings: [{ code: 'run_2', message: 'Again.' }] });
    expect(await written('of run 2')).toBe(true);
    await client.getIndexEntries({ ids: [], mostBytes: 0 }, { ...options, reply: {} });
    const [first, again, other] = ids;
    expect([again, other === first]).toEqual([first, false]);
  });
}

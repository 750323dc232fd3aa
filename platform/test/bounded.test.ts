import { createServer, type Http2Server, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { ArrivedCall } from '@commonplace/adapters/calls';
import { openGrpcChannel, openGrpcServer } from '@commonplace/adapters/grpc';
import { createPeerTokens } from '@commonplace/kit/auth';
import { before, servedWithin, timeLeft, unbounded, withinCall } from '@commonplace/kit/deadline';
import { AppError, Unavailable } from '@commonplace/kit/errors';
import { createPeerCapacity, openShedding, type ServedMethod, sooner } from '@commonplace/kit/rpc';
import { eventually } from '@commonplace/kit/testing';
import { CreateOrgRequest, ListOrgsRequest } from '@commonplace/proto/tenancy/v1/org_service.js';
import { ListWorkspacesRequest } from '@commonplace/proto/tenancy/v1/workspace_service.js';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { contracts } from '../src/contracts/index.js';

const peers = createPeerTokens(Buffer.alloc(32), 'test');
const options = () => ({ metadata: { requestId: 'r' }, deadline: Date.now() + 10_000 });

describe('retries', () => {
  let server: Http2Server;
  let asked: string[] = [];
  const opened: { close(): Promise<void> }[] = [];

  /** Answers as an unreachable peer would look to gRPC: a proxy that answers in its place. */
  const refuse = (stream: ServerHttp2Stream, { ':path': path = '' }: { ':path'?: string }) => {
    asked.push(path);
    stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '14' }, { endStream: true });
  };
  beforeAll(async () => {
    server = createServer().on('stream', refuse as never);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterEach(() => {
    asked = [];
  });
  afterAll(async () => {
    for (const one of opened) await one.close();
    await new Promise((resolve) => server.close(resolve));
  });
  const open = (target: string) => {
    const channel = openGrpcChannel(() => target, peers);
    opened.push(channel);
    return channel;
  };
  // Retry budgets are kept per target, so a separate host name has a separate budget.
  const target = (host: string) => `dns:///${host}:${(server.address() as AddressInfo).port}`;

  test('a read is tried three times, a write once', async () => {
    const channel = open(target('127.0.0.1'));
    await expect(
      channel.client(contracts.orgs).listOrgs(ListOrgsRequest.fromPartial({}), options()),
    ).rejects.toMatchObject({
      reason: 'service_unavailable',
    });
    expect(asked).toHaveLength(3);
    asked = [];
    await expect(
      channel.client(contracts.orgs).createOrg(CreateOrgRequest.fromPartial({}), options()),
    ).rejects.toBeDefined();
    expect(asked).toHaveLength(1);
  });

  test('retries stay within a budget that all clients of a service share', async () => {
    const channel = open(target('localhost'));
    const [orgs, workspaces] = [channel.client(contracts.orgs), channel.client(contracts.workspaces)];
    // Each client takes over the budget when it first reaches its peer.
    await orgs.listOrgs(ListOrgsRequest.fromPartial({}), options()).catch(() => {});
    await workspaces.listWorkspaces(ListWorkspacesRequest.fromPartial({}), options()).catch(() => {});
    asked = [];
    const calls = Array.from({ length: 60 }, (_, i) =>
      i % 2 === 0
        ? orgs.listOrgs(ListOrgsRequest.fromPartial({}), options()).catch(() => {})
        : workspaces.listWorkspaces(ListWorkspacesRequest.fromPartial({}), options()).catch(() => {}),
    );
    await Promise.all(calls);
    // Retries stop when half of the 100 tokens are used, one for each failure; without the budget there would be 180
    // requests.
    expect(asked.length).toBeLessThan(60 + 50);
    asked = [];
    await orgs.listOrgs(ListOrgsRequest.fromPartial({}), options()).catch(() => {});
    await workspaces.listWorkspaces(ListWorkspacesRequest.fromPartial({}), options()).catch(() => {});
    expect(asked).toHaveLength(2);
  });

  test('an error that a service itself returned is not retried: retries would multiply', async () => {
    const methods = new Map<string, ServedMethod>();
    let served = 0;
    for (const { path, responseStream } of Object.values(contracts.orgs.definition)) {
      const unary = async () => {
        served++;
        throw Unavailable();
      };
      methods.set(path, { streams: responseStream, unary, stream: async function* () {} });
    }
    const there = await openGrpcServer({
      host: '127.0.0.1',
      port: 0,
      definitions: [contracts.orgs.definition],
      methods,
    });
    const orgs = open(`127.0.0.1:${there.port}`).client(contracts.orgs);
    await expect(orgs.listOrgs(ListOrgsRequest.fromPartial({}), options())).rejects.toMatchObject({
      reason: 'service_unavailable',
    });
    expect(served).toBe(1);
    await there.close(0);
  });
});

test.each(['destroy', 'resetAndDestroy'] as const)(
  'a write whose connection ends before the answer has an unknown outcome, a read none: %s',
  async (end) => {
    const sockets = new Set<Socket>();
    const server = createServer().on('stream', () => {
      for (const socket of sockets) socket[end]();
    });
    server.on('connection', (socket: Socket) => void sockets.add(socket));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const channel = openGrpcChannel(() => `127.0.0.1:${(server.address() as AddressInfo).port}`, peers);
    const orgs = channel.client(contracts.orgs);
    const write = () => orgs.createOrg(CreateOrgRequest.fromPartial({}), options());
    await expect(write()).rejects.toMatchObject({ code: 'UNAVAILABLE', reason: 'timeout', retryAfter: 1 });
    await expect(orgs.listOrgs(ListOrgsRequest.fromPartial({}), options())).rejects.toMatchObject({
      reason: 'service_unavailable',
    });
    // What is not sent at all can't have taken effect.
    await new Promise((resolve) => server.close(resolve));
    await expect(write()).rejects.toMatchObject({ code: 'UNAVAILABLE', reason: 'service_unavailable' });
    await channel.close();
  },
);

test('a read that an overloaded replica refuses is answered by another one', async () => {
  const definitions = [contracts.orgs.definition];
  const release: (() => void)[] = [];
  const replica = (unary: () => Promise<unknown>, maxConcurrent: number) => {
    const served = Object.values(contracts.orgs.definition).map(({ path, responseStream }): [string, ServedMethod] => {
      return [path, { streams: responseStream, unary, stream: async function* () {} }];
    });
    const shedding = openShedding({ maxConcurrent, maxDelayMs: 0 });
    return openGrpcServer({ host: '127.0.0.1', port: 0, definitions, methods: new Map(served), shedding });
  };
  const full = await replica(() => new Promise((resolve) => release.push(() => resolve({ items: [] }))), 1);
  const free = await replica(async () => ({ items: [] }), 1000);
  const list = (channel: ReturnType<typeof openGrpcChannel>) =>
    channel.client(contracts.orgs).listOrgs(ListOrgsRequest.fromPartial({}), options());
  const direct = openGrpcChannel(() => `127.0.0.1:${full.port}`, peers);
  const first = list(direct);
  await eventually(() => expect(release).toHaveLength(1));
  const both = openGrpcChannel(() => `ipv4:127.0.0.1:${full.port},127.0.0.1:${free.port}`, peers);
  for (let i = 0; i < 10; i++) expect(await list(both)).toMatchObject({ items: [] });
  expect(release).toHaveLength(1);
  release[0]?.();
  await first;
  for (const channel of [direct, both]) await channel.close();
  for (const server of [full, free]) await server.close(0);
});

test('an overloaded service refuses calls, background work first', async () => {
  const methods = new Map<string, ServedMethod>();
  const release: (() => void)[] = [];
  for (const { path, responseStream } of Object.values(contracts.orgs.definition)) {
    const unary = () => new Promise((resolve) => release.push(() => resolve({ items: [] })));
    methods.set(path, { streams: responseStream, unary, stream: async function* () {} });
  }
  const shedding = openShedding({ maxConcurrent: 2, maxDelayMs: 0 });
  const definitions = [contracts.orgs.definition];
  const server = await openGrpcServer({ host: '127.0.0.1', port: 0, definitions, methods, shedding });
  const channel = openGrpcChannel(() => `127.0.0.1:${server.port}`, peers);
  const orgs = channel.client(contracts.orgs);
  const list = (background?: true) =>
    orgs.listOrgs(ListOrgsRequest.fromPartial({}), { ...options(), metadata: { requestId: 'r', background } });
  const first = list();
  await eventually(async () => expect(release).toHaveLength(1));
  const refused = { reason: 'service_unavailable', details: { reason: 'overloaded' } };
  await expect(list(true)).rejects.toMatchObject(refused);
  const second = list();
  await eventually(async () => expect(release).toHaveLength(2));
  await expect(list()).rejects.toMatchObject(refused);
  for (const end of release) end();
  await Promise.all([first, second]);
  const third = list(true);
  await eventually(async () => expect(release).toHaveLength(3));
  release[2]?.();
  await third;
  await channel.close();
  await server.close(0);
});

test('calls that wait for one service take up a part of the capacity, by class, and none when they have ended', async () => {
  const methods = new Map<string, ServedMethod>();
  const release: (() => void)[] = [];
  for (const { path, responseStream } of Object.values(contracts.orgs.definition)) {
    const unary = () => new Promise((resolve) => release.push(() => resolve({ items: [] })));
    methods.set(path, { streams: responseStream, unary, stream: async function* () {} });
  }
  const definitions = [contracts.orgs.definition];
  const server = await openGrpcServer({ host: '127.0.0.1', port: 0, definitions, methods });
  const capacities = new Map<string, ReturnType<typeof createPeerCapacity>>();
  const capacityOf = (owner: string) => {
    const capacity = capacities.get(owner) ?? createPeerCapacity(10);
    capacities.set(owner, capacity);
    return capacity;
  };
  const channel = openGrpcChannel(() => `127.0.0.1:${server.port}`, peers, { capacityOf });
  const list = (given: object = {}) =>
    channel.client(contracts.orgs).listOrgs(ListOrgsRequest.fromPartial({}), { ...options(), ...given });
  const refused = { reason: 'service_unavailable', details: { reason: 'overloaded' } };

  const waiting = [list(), list()];
  await expect(list({ metadata: { requestId: 'r', background: true } })).rejects.toMatchObject(refused);
  const caller = new AbortController();
  const cancelled = list({ signal: caller.signal });
  const late = list({ deadline: Date.now() + 500 });
  await expect(list()).rejects.toMatchObject(refused);
  // Other services have capacity of their own.
  expect(() => capacityOf('files').require('background')).not.toThrow();

  await eventually(() => expect(release).toHaveLength(4));
  caller.abort();
  await expect(cancelled).rejects.toMatchObject({ code: 'CANCELLED' });
  await expect(late).rejects.toMatchObject({ reason: 'timeout' });
  const next = [list(), list()];
  await eventually(() => expect(release).toHaveLength(6));
  await expect(list()).rejects.toMatchObject(refused);
  for (const end of release) end();
  await Promise.all([...waiting, ...next]);
  await channel.close();
  await server.close(0);
});

describe('work for a call', () => {
  const hang = () => new Promise<never>(() => {});
  const signal = new AbortController().signal;

  test('ends with its deadline', async () => {
    const call = { deadline: Date.now() + 50, signal };
    await expect(servedWithin(call, () => withinCall(hang()))).rejects.toMatchObject({ reason: 'timeout' });
    await expect(before(Date.now() + 20, hang())).rejects.toMatchObject({ reason: 'timeout' });
  });

  test('ends when the call is cancelled', async () => {
    const caller = new AbortController();
    const work = servedWithin({ deadline: Date.now() + 60_000, signal: caller.signal }, () => withinCall(hang()));
    caller.abort();
    await expect(work).rejects.toMatchObject({ code: 'CANCELLED' });
  });

  test('is not waited for at all if the call is already over', async () => {
    const caller = new AbortController();
    caller.abort();
    const begun = { gone: false, late: false };
    // A commit starts in the next turn, unless its caller no longer waits.
    const next = (which: keyof typeof begun, deadline: number, signal: AbortSignal) =>
      servedWithin({ deadline, signal }, () => {
        const turn = setImmediate(() => {
          begun[which] = true;
        });
        return withinCall(hang()).catch((error: AppError) => {
          clearImmediate(turn);
          return error.code;
        });
      });
    expect(await next('gone', Date.now() + 60_000, caller.signal)).toBe('CANCELLED');
    expect(await next('late', Date.now(), signal)).toBe('DEADLINE_EXCEEDED');
    expect(begun).toEqual({ gone: false, late: false });
  });

  test('has the time that is left, but no more than usual', async () => {
    const left = (ms: number) => servedWithin({ deadline: Date.now() + ms, signal }, async () => timeLeft(1000));
    expect(await left(60_000)).toBe(1000);
    expect(await left(500)).toBeLessThanOrEqual(500);
    expect(await left(-500)).toBe(1);
    expect(timeLeft(1000)).toBe(1000);
    const apart = servedWithin({ deadline: Date.now(), signal }, async () => unbounded(() => timeLeft(1000)));
    expect(await apart).toBe(1000);
  });

  test('that continues after its answer does not end with the call', async () => {
    let begin: (text: string) => void = () => {};
    const begun = new Promise<string>((resolve) => {
      begin = resolve;
    });
    let before: Promise<string> = Promise.resolve('');
    let behind: Promise<string> = Promise.resolve('');
    const methods = new Map<string, ServedMethod>();
    for (const { path, responseStream } of Object.values(contracts.index.definition)) {
      const unary = async () => {
        before = withinCall(begun);
        behind = begun.then(() => withinCall(new Promise((resolve) => setTimeout(resolve, 10, 'done'))));
        return { counts: {} };
      };
      methods.set(path, { streams: responseStream, unary, stream: async function* () {} });
    }
    const there = await openGrpcServer({
      host: '127.0.0.1',
      port: 0,
      definitions: [contracts.index.definition],
      methods,
    });
    const channel = openGrpcChannel(() => `127.0.0.1:${there.port}`, peers);
    await channel.client(contracts.index).countResources({ workspaceIds: [], readableIds: [] }, options());
    await channel.close();
    await there.close(1000);
    begin('done');
    expect(await Promise.all([before, behind])).toEqual(['done', 'done']);
  });

  test('a call creates its signal, and the reason of its end, on demand', () => {
    let reasonReads = 0;
    const reason = () => {
      reasonReads++;
      return new AppError('CANCELLED', 'timeout', 'The caller cancelled the call.');
    };
    const arrived = () => new ArrivedCall({ metadata: { requestId: 'r' }, deadline: 1000 }, undefined, true);
    const unused = arrived();
    unused.abort(reason);
    expect([unused.isCancelled, reasonReads]).toEqual([true, 0]);
    expect(unused.signal).toMatchObject({ aborted: true, reason: { code: 'CANCELLED' } });
    const used = arrived();
    const { signal } = used;
    expect([used.isCancelled, signal.aborted]).toEqual([false, false]);
    used.abort(reason);
    expect(signal).toMatchObject({ aborted: true, reason: { code: 'CANCELLED' } });
    expect(reasonReads).toBe(2);
  });

  test('options with a sooner deadline are cancelled with the others', () => {
    const caller = new AbortController();
    const own = { metadata: { requestId: 'r' }, deadline: 1000, signal: caller.signal };
    expect(sooner(own, 2000).deadline).toBe(1000);
    const some = sooner(own, 500);
    expect(some).toMatchObject({ deadline: 500, isCancelled: false });
    caller.abort();
    expect(some).toMatchObject({ isCancelled: true });
    expect(some.signal?.aborted).toBe(true);
  });
});

describe('shedding', () => {
  const refused = { code: 'UNAVAILABLE', reason: 'service_unavailable', details: { reason: 'overloaded' } };
  const opened = (maxConcurrent: number, maxDelayMs: number) => openShedding({ maxConcurrent, maxDelayMs });
  const caught = (work: () => void): unknown => {
    try {
      work();
      return undefined;
    } catch (error) {
      return error;
    }
  };

  test('background work is refused first, then writes, reads last; calls that end free capacity', () => {
    const shedding = opened(10, 0);
    const admitted = () =>
      (['read', 'write', 'background'] as const).filter((load) => caught(() => shedding.require(load)) === undefined);
    const counts = Array.from({ length: 11 }, () => {
      const now = admitted();
      shedding.enter();
      return now.length;
    });
    expect(counts).toEqual([3, 3, 3, 3, 3, 2, 2, 2, 1, 1, 0]);
    expect(caught(() => shedding.require('read'))).toMatchObject({ ...refused, retryAfter: expect.any(Number) });
    for (let i = 0; i < 11; i++) shedding.leave();
    expect(admitted()).toHaveLength(3);
  });

  test('an event loop that is always late is overloaded, and one that was late once is not', async () => {
    const shedding = opened(0, 20);
    const block = (ms: number) => {
      for (const until = performance.now() + ms; performance.now() < until; );
    };
    const turn = () => new Promise((resolve) => setTimeout(resolve, 0));
    block(200);
    await turn();
    expect(caught(() => shedding.require('background'))).toBeUndefined();
    const until = performance.now() + 20_000;
    while (caught(() => shedding.require('background')) === undefined && performance.now() < until) {
      block(150);
      await turn();
    }
    expect(caught(() => shedding.require('background'))).toMatchObject(refused);
    while (caught(() => shedding.require('background')) !== undefined && performance.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, 60));
    }
    expect(caught(() => shedding.require('background'))).toBeUndefined();
    shedding.close();
  });
});

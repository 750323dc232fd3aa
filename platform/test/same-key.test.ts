import { createLocalChannel } from '@commonplace/adapters/local';
import { openTestDatabase, type TestDatabase } from '@commonplace/adapters/testing';
import { createPeerTokens } from '@commonplace/kit/auth';
import { AppError } from '@commonplace/kit/errors';
import { newId } from '@commonplace/kit/id';
import { silentLog } from '@commonplace/kit/log';
import { type CallContext, serveMethods } from '@commonplace/kit/rpc';
import type { Collection, Store } from '@commonplace/kit/store';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { contracts } from '../src/contracts/index.js';

interface Thing {
  readonly id: string;
  readonly version: number;
}

const key = Buffer.alloc(32);
let database: TestDatabase;
let store: Store;
let things: Collection<Thing>;
beforeEach(async () => {
  database = await openTestDatabase();
  store = database.store('test');
  things = await store.collection<Thing>({ name: 'things', indexes: [] });
});
afterEach(async () => {
  await database.close();
});

/** Serves a method as one replica does. Returns a call of it with an idempotency key. */
async function replica(handler: (context: CallContext) => Promise<object>) {
  const handlers = Object.keys(contracts.index.definition).map((name) => [
    name,
    (_: unknown, context: CallContext) => handler(context),
  ]);
  const served = await serveMethods(contracts.index, Object.fromEntries(handlers), {
    ...{ service: 'test', store, log: silentLog, peers: createPeerTokens(key, 'test') },
    verifyCaller: async () => {
      throw new Error('nobody comes with a token');
    },
  });
  const client = createLocalChannel(served, createPeerTokens(key, 'search')).client(contracts.index);
  const idempotency = { id: 'the-key', fingerprint: 'the-request' };
  return (requestId: string) =>
    client.countResources(
      { workspaceIds: [], readableIds: [] },
      { metadata: { requestId, idempotency }, deadline: Date.now() + 30_000 },
    );
}

/** Returns a handler that makes a thing and counts it in its answer. */
function making(meanwhile: () => Promise<unknown>) {
  return async (context: CallContext) => {
    const id = newId();
    await meanwhile();
    context.work.insert(things, { id });
    return { counts: { [id]: 1 } };
  };
}

test('a replica that runs the same request as another one answers with the recorded outcome', async () => {
  const first = await replica(making(async () => {}));
  let answered: Promise<object> | undefined;
  const second = await replica(
    making(async () => {
      answered ??= first('one');
      await answered;
    }),
  );
  expect(await second('two')).toEqual(await answered);
  expect(await things.find({ where: {}, limit: 10 })).toHaveLength(1);
});

test('so does one that fails because the other has made what the request asks for', async () => {
  const first = await replica(making(async () => {}));
  let answered: Promise<object> | undefined;
  const second = await replica(async (context) => {
    if (answered !== undefined) return making(async () => {})(context);
    answered = first('one');
    await answered;
    throw new AppError('ALREADY_EXISTS', 'already_exists', 'It exists.');
  });
  expect(await second('two')).toEqual(await answered);
});

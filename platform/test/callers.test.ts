import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type GrpcServer, openGrpcChannel, openGrpcServer } from '@commonplace/adapters/grpc';
import { createLocalChannel } from '@commonplace/adapters/local';
import { createPeerTokens } from '@commonplace/kit/auth';
import { silentLog } from '@commonplace/kit/log';
import type { Channel, ServedMethod, ServiceContract } from '@commonplace/kit/rpc';
import { factsOf, serveMethods } from '@commonplace/kit/rpc';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { contracts } from '../src/contracts/index.js';

const key = Buffer.alloc(32, 7);
const root = fileURLToPath(new URL('../../../', import.meta.url));
const all = Object.values(contracts) as ServiceContract<unknown>[];
const methods = all.flatMap(({ owner, definition }) =>
  Object.entries(definition).map(([name, { path }]) => ({ owner, name, path })),
);

/** Every process that a method may name, with the folder of its code. */
const FOLDERS: Readonly<Record<string, string>> = {
  gateway: 'gateway/src',
  bootstrap: 'services/all/src',
  identity: 'services/identity/src',
  tenancy: 'services/tenancy/src',
  resources: 'services/resources/src',
  files: 'services/files/src',
  search: 'services/search/src',
  messaging: 'services/messaging/src',
  agents: 'services/agents/src',
  automations: 'services/automations/src',
};
const OUTSIDE = ['operator', '*'];
/**
 * Services that call their own methods on behalf of absent people, so that the same checks apply as to other callers.
 */
const CALL_THEMSELVES: ReadonlySet<string> = new Set(['automations']);

const parts = {
  service: 'played',
  store: { collection: async () => ({}), begin: () => ({}) } as never,
  verifyCaller: async () => {
    throw new Error('nobody comes with a token');
  },
  peers: createPeerTokens(key, 'played'),
  log: silentLog,
};

const callersOf = (path: string) => factsOf(path).callers;

describe('the callers of a method', () => {
  test.each(methods)('$path names processes that exist, and hardly ever its own', ({ owner, path }) => {
    const callers = callersOf(path);
    expect(callers.filter((name) => !(name in FOLDERS) && !OUTSIDE.includes(name))).toEqual([]);
    if (!CALL_THEMSELVES.has(owner)) expect(callers).not.toContain(owner);
    expect(new Set(callers).size).toBe(callers.length);
  });

  test('the five processes that later work for people can get a token for a person', () => {
    expect([...callersOf('/commonplace.identity.v1.AuthService/ActAs')].sort()).toEqual([
      'agents',
      'automations',
      'bootstrap',
      'files',
      'resources',
    ]);
  });

  test('a service with a method that names no callers does not start', async () => {
    const definition = { ask: { ...contracts.auth.definition.actAs, path: '/commonplace.test.v1.Service/Ask' } };
    const unnamed = { owner: 'test', name: 'commonplace.test.v1.Service', definition } as never;
    await expect(serveMethods(unnamed, { ask: async () => ({}) } as never, parts)).rejects.toThrow(/names no callers/);
  });
});

describe('a served method', () => {
  let served: Map<string, ServedMethod>;
  let server: GrpcServer;
  const opened: Channel[] = [];

  beforeAll(async () => {
    served = new Map();
    for (const contract of all) {
      const handlers = Object.fromEntries(
        Object.entries(contract.definition).map(([name, { responseStream, responseDeserialize }]) => [
          name,
          responseStream ? async function* () {} : async () => responseDeserialize(Buffer.alloc(0)),
        ]),
      );
      for (const [path, method] of await serveMethods(contract, handlers as never, parts)) served.set(path, method);
    }
    const definitions = all.map(({ definition }) => definition);
    server = await openGrpcServer({ host: '127.0.0.1', port: 0, definitions, methods: served });
  });
  afterAll(async () => {
    for (const channel of opened) await channel.close();
    await server.close(0);
  });

  /** Returns the reason with which a call is refused; undefined if it reaches the handler. */
  async function refusal(channel: Channel, path: string): Promise<string | undefined> {
    const contract = all.find(({ definition }) => Object.values(definition).some((method) => method.path === path));
    const client = channel.client(contract as ServiceContract<Record<string, (request: object) => Promise<object>>>);
    const found = Object.entries(contract?.definition ?? {}).find(([, method]) => method.path === path);
    const [name, { requestDeserialize, responseStream }] = found as NonNullable<typeof found>;
    const options = { metadata: { requestId: 'r' }, deadline: Date.now() + 20_000 };
    try {
      const answer = client[name]?.(requestDeserialize(Buffer.alloc(0)) as object, options);
      if (responseStream) for await (const _ of answer as unknown as AsyncIterable<unknown>);
      else await answer;
      return undefined;
    } catch (error) {
      return (error as { reason: string }).reason;
    }
  }

  const callers = [...Object.keys(FOLDERS), 'operator', 'stranger'];
  test.each(callers)('is open to %s if it names that process alone, in one process', async (caller) => {
    const channel = createLocalChannel(served, createPeerTokens(key, caller));
    for (const { path } of methods) {
      const open = callersOf(path).includes(caller) || callersOf(path).includes('*');
      expect([path, await refusal(channel, path)]).toEqual([path, open ? undefined : 'peer_not_allowed']);
    }
  });

  test('is unavailable to a process with another key or another time, which no client has caused', async () => {
    const { path } = methods.find(({ path }) => callersOf(path).includes('gateway')) ?? { path: '' };
    const late = createPeerTokens(key, 'gateway', () => Date.now() - 600_000);
    for (const peers of [createPeerTokens(Buffer.alloc(32, 9), 'gateway'), late]) {
      expect(await refusal(createLocalChannel(served, peers), path)).toBe('service_unavailable');
    }
  });

  test.each(callers)('is open to %s if it names that process alone, on the mesh', async (caller) => {
    const channel = openGrpcChannel(() => `127.0.0.1:${server.port}`, createPeerTokens(key, caller));
    opened.push(channel);
    for (const { path } of methods.filter(({ owner }) => owner === 'identity')) {
      const open = callersOf(path).includes(caller) || callersOf(path).includes('*');
      expect([path, await refusal(channel, path)]).toEqual([path, open ? undefined : 'peer_not_allowed']);
    }
  });
});

/** Returns the source files of a folder, without test suites next to them. */
function sourcesOf(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
    .filter((text) => !text.includes("'@jest/globals'"));
}

/** Functions of the platform, with the methods that they, or what they create, call. */
const OF_PLATFORM = [
  ['createMembershipCache', 'getMemberships'],
  ['openOutgoingGuard', 'getUrlAllowlist'],
  ['createActAs', 'actAs'],
  ['refusalOfWorkspace', 'lookUpWorkspace'],
  ['findSuccessor', 'findUsers'],
] as const;

/** Returns the methods that the code of a process calls, by name, for each service whose client it uses. */
function usesOf(process: string): Set<string> {
  const texts = sourcesOf(FOLDERS[process] as string);
  const clients = new Set(
    texts.flatMap((text) => [...text.matchAll(/(?:\bclient\(\s*|^ {2}\w+: )contracts\.(\w+)/gm)].map(([, n]) => n)),
  );
  const called = new Set(texts.flatMap((text) => [...text.matchAll(/\.\s*(\w+)\s*\(/g)].map(([, name]) => name)));
  // The platform calls on behalf of the process that uses it.
  for (const [name, method] of OF_PLATFORM) {
    if (texts.some((text) => text.includes(`${name}(`))) called.add(method);
  }
  const uses = Object.entries(contracts)
    .filter(([name, { owner }]) => clients.has(name) && (owner !== process || CALL_THEMSELVES.has(process)))
    .flatMap(([, { definition }]) => Object.entries(definition))
    .filter(([name]) => called.has(name))
    .map(([, { path }]) => path);
  return new Set(uses);
}

describe('the code of', () => {
  test.each(Object.keys(FOLDERS))('%s calls exactly the methods that name it as a caller', (process) => {
    const uses = usesOf(process);
    const onHttp = (path: string) => process === 'gateway' && callersOf(path)[0] === 'gateway';
    const open = ({ path }: { path: string }) => callersOf(path).includes(process) || callersOf(path).includes('*');
    // Calls are identified only by name: if two services have a method of that name, the allowed one is assumed.
    const nameOf = ({ path }: { path: string }) => path.split('/').at(-1);
    const calls = methods.filter(({ path }) => uses.has(path));
    const openNames = new Set(calls.filter(open).map(nameOf));
    expect(calls.filter((method) => !openNames.has(nameOf(method))).map(({ path }) => path)).toEqual([]);
    const named = methods.filter(({ path }) => callersOf(path).includes(process) && !onHttp(path));
    expect(named.filter(({ path }) => !uses.has(path)).map(({ path }) => path)).toEqual([]);
  });
});

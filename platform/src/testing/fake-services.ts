import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Caller } from '@commonplace/kit/auth';
import { createTokenSigner } from '@commonplace/kit/auth';
import { newId, newRequestId } from '@commonplace/kit/id';
import type { CallMetadata, CallOptions, Client, Handlers, Reply, ServiceContract } from '@commonplace/kit/rpc';
import { factsOf } from '@commonplace/kit/rpc';
import type { Store } from '@commonplace/kit/store';
import { contracts } from '../contracts/index.js';
import type { ClientOf, Host, Implementation, ServiceModule } from '../runtime/module.js';
import { run } from '../runtime/run.js';

/** Implements a service with some handlers; a call of any other method fails. */
export function fake<S>(contract: ServiceContract<S>, handlers: Partial<Handlers<S>>): Implementation {
  const all: Record<string, unknown> = { ...handlers };
  for (const name of Object.keys(contract.definition)) {
    all[name] ??= async () => {
      throw new Error(`no fake implements ${contract.name}/${name}`);
    };
  }
  return { contract: contract as ServiceContract<unknown>, handlers: all };
}

const PROBE = 'probe';

/** Returns a client whose every method is called by the first process that the contract allows to call it. */
export function clientOfCallers<S>(contract: ServiceContract<S>, clientOf: (caller: string) => Client<S>): Client<S> {
  const client: Record<string, unknown> = {};
  for (const [name, { path }] of Object.entries(contract.definition)) {
    const [caller = ''] = factsOf(path).callers;
    const method = name as keyof S;
    client[name] = clientOf(caller === '*' ? 'gateway' : caller)[method];
  }
  return client as Client<S>;
}

/** Returns the service that owns a contract, and the processes that may call it. */
function namesIn({ owner, definition }: (typeof contracts)[keyof typeof contracts]): string[] {
  return [owner, ...Object.values(definition).flatMap(({ path }) => factsOf(path).callers)];
}

/** One service with the real kit and embedded stores, and fakes of the others. */
export interface Stage {
  readonly host: Host;
  /** The host that the service itself received, with its own store. */
  readonly own: Host;
  /** Returns options for a call by a caller, or by the system if there is none. */
  as(caller: Caller | undefined, metadata?: Partial<CallMetadata>, reply?: Reply): Promise<CallOptions>;
  close(): Promise<void>;
}

/**
 * Milliseconds that a call of a test may take. Where a test stops the clock, all of its calls share one deadline, whose timer
 * runs on: it must not end before the test.
 */
export const CALL_MS = 300_000;

/**
 * Starts `module` on a new data folder within `parent`. `others` are fakes of the services that it calls; identity's
 * token keys are provided here. With its own `store`, the events that it commits are not delivered.
 */
export async function openStage(
  module: ServiceModule,
  others: readonly Implementation[],
  parent: string = tmpdir(),
  store?: Store,
): Promise<Stage> {
  const dataDir = mkdtempSync(join(parent, 'commonplace-stage-'));
  const signer = createTokenSigner([randomBytes(32)]);
  const tokenOf = keepSecond((caller) => signer.sign(caller));
  const keys = { getTokenKeys: async () => ({ jwksJson: signer.jwks }) };
  const isAuth = ({ contract }: Implementation) => contract.name === contracts.auth.name;
  const played = others.some(isAuth)
    ? others.map((one) => (isAuth(one) ? { ...one, handlers: { ...(one.handlers as object), ...keys } } : one))
    : [...others, fake(contracts.auth, keys)];
  const hosts = new Map<string, Host>();
  const stub = (name: string, implementations: Implementation[] = []): ServiceModule => ({
    name,
    config: {},
    // The others store nothing, and records of their own would cost each stage more than the service under test.
    stores: name === PROBE,
    calls: Object.values(contracts),
    start: async (host) => {
      hosts.set(name, host);
      return { implementations };
    },
  });
  const tools = ['gateway', 'bootstrap', 'operator', PROBE];
  const services = new Set(Object.values(contracts).flatMap(namesIn));
  for (const name of [module.name, ...tools, '*']) services.delete(name);
  const fakes = [...services].map((name) =>
    stub(
      name,
      played.filter(({ contract }) => contract.owner === name),
    ),
  );
  const env: NodeJS.ProcessEnv = {
    COMMONPLACE_SECRETS_KEY: randomBytes(32).toString('base64'),
    // Reserved space would be written for each stage.
    COMMONPLACE_DISK_RESERVE_BYTES: '0',
    ...process.env,
    COMMONPLACE_DATA_DIR: dataDir,
    COMMONPLACE_LOG_LEVEL: 'error',
  };
  delete env.COMMONPLACE_MONGODB_URL;
  delete env.COMMONPLACE_NATS_URL;
  const observed: ServiceModule = {
    ...module,
    start: (host) => {
      hosts.set(module.name, host);
      return module.start(host);
    },
  };
  const all = [observed, ...fakes, ...tools.map((name) => stub(name))];
  const running = await run(all, env, (one) => (one === observed ? store : undefined));
  return {
    host: {
      ...(hosts.get(PROBE) as Host),
      client: (contract) =>
        clientOfCallers(contract, (caller) => (hosts.get(caller) as Host).client(contract)) as ClientOf<
          typeof contract
        >,
    },
    own: hosts.get(module.name) as Host,
    async as(caller, metadata = {}, reply = {}) {
      const token = caller === undefined ? undefined : await tokenOf(caller);
      return { metadata: { requestId: newRequestId(), token, ...metadata }, deadline: Date.now() + CALL_MS, reply };
    },
    async close() {
      await running.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** Caches a caller's token for a second, as the gateway does: signing and verifying take longer than most calls. */
function keepSecond(sign: (caller: Caller) => Promise<string>): (caller: Caller) => Promise<string> {
  const kept = new Map<string, Promise<string>>();
  let second = 0;
  return (caller) => {
    const now = Math.floor(Date.now() / 1000);
    if (now !== second) kept.clear();
    second = now;
    const key = JSON.stringify(caller);
    const token = kept.get(key) ?? sign(caller);
    kept.set(key, token);
    return token;
  };
}

/** Creates a caller: a person with a session and the given scopes. */
export function personCalled(name: string, scopes: readonly string[] = [], tenant?: Caller['tenant']): Caller {
  const userId = newId();
  return {
    userId,
    userName: name,
    userEmail: `${name.toLowerCase()}@example.com`,
    ...(tenant === undefined ? {} : { tenant }),
    credential: { type: 'session', id: `session-${userId}`, scopes },
  };
}

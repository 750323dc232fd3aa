import { randomBytes } from 'node:crypto';
import { createLocalChannel } from '@commonplace/adapters/local';
import { openTestDatabase } from '@commonplace/adapters/testing';
import { type Caller, createPeerTokens, createTokenVerifier } from '@commonplace/kit/auth';
import { readConfig } from '@commonplace/kit/config';
import { Unavailable } from '@commonplace/kit/errors';
import type { EventBus } from '@commonplace/kit/events';
import { newRequestId } from '@commonplace/kit/id';
import { silentLog } from '@commonplace/kit/log';
import {
  type CallOptions,
  type Client,
  type Handlers,
  openShedding,
  type Reply,
  type ServedMethod,
  type ServiceContract,
  serveMethods,
} from '@commonplace/kit/rpc';
import type { Store } from '@commonplace/kit/store';
import { contracts } from '@commonplace/platform/contracts';
import { type Host, lifecycleOf } from '@commonplace/platform/runtime';
import { clientOfCallers } from '@commonplace/platform/testing';
import type { AccountSecurityService } from '@commonplace/proto/identity/v1/account_security_service.js';
import type { AccountService } from '@commonplace/proto/identity/v1/account_service.js';
import type { ApiKeyService } from '@commonplace/proto/identity/v1/api_key_service.js';
import {
  type AuthenticateRequest,
  type AuthService,
  CredentialKind,
} from '@commonplace/proto/identity/v1/auth_service.js';
import { startIdentity } from '../../src/service.js';
import { createFakeDirectory, type FakeDirectory } from './directory.js';

export const SECRET = randomBytes(32).toString('base64');

/** The identity service on its own store, with the clients that its peers use. */
export interface Harness {
  readonly auth: Client<AuthService>;
  readonly apiKeys: Client<ApiKeyService>;
  readonly account: Client<AccountService>;
  readonly security: Client<AccountSecurityService>;
  readonly directory: FakeDirectory;
  readonly store: Store;
  readonly bus: EventBus;
  /** Advances the service's clock. */
  pass(milliseconds: number): void;
  now(): number;
  /** Returns the options of a call, with a caller token if one is given. */
  call(token?: string, more?: Partial<CallOptions['metadata']> & { reply?: Reply }): CallOptions;
  authenticate(credential: string, more?: Partial<AuthenticateRequest>): Promise<{ token: string; caller: Caller }>;
  /** Waits for background writes. */
  settle(): Promise<void>;
  /** Restarts the service on the same store with other settings. */
  restart(env: NodeJS.ProcessEnv): Promise<void>;
  close(): Promise<void>;
}

export async function openHarness(given: NodeJS.ProcessEnv = {}): Promise<Harness> {
  const database = await openTestDatabase();
  const store = database.store('identity');
  const bus = database.bus();
  const directory = createFakeDirectory(() => Unavailable());
  const key = randomBytes(32);
  const peers = createPeerTokens(key, 'identity');
  const served = new Map<string, ServedMethod>();
  const clientOf = <S>(contract: ServiceContract<S>): Client<S> =>
    clientOfCallers(contract, (caller) => createLocalChannel(served, createPeerTokens(key, caller)).client(contract));
  let passed = 0;
  const now = () => Date.now() + passed;
  const call: Harness['call'] = (token, { reply, ...metadata } = {}) => ({
    metadata: { requestId: newRequestId(), token, ...metadata },
    deadline: Date.now() + 20_000,
    ...(reply === undefined ? {} : { reply }),
  });
  const auth = clientOf(contracts.auth);
  const newVerifier = () => createTokenVerifier(async () => (await auth.getTokenKeys({}, call())).jwksJson);
  // Tokens are verified by the real clock, however far the service's own has been advanced.
  let verifier = newVerifier();
  const verifyCaller = (token: string) => verifier(token);

  const hostOf = (env: NodeJS.ProcessEnv): Host => ({
    settings: (table) => readConfig(table, { COMMONPLACE_SECRET_KEY: SECRET, ...env }),
    log: silentLog,
    store,
    bus,
    dataDir: database.folder,
    installationId: 'test',
    client: (contract) => (contract.owner === 'tenancy' ? directory.client : clientOf(contract)) as never,
    systemCall: () => call(),
    verifyCaller,
    shedding: openShedding({ maxConcurrent: 0, maxDelayMs: 0 }),
    takePeerUtilization: () => 0,
    isHealthy: () => true,
    watchOwn: undefined,
    holdsStores: async () => true,
    hasBegun: () => true,
    space: undefined,
    openSpace: () => Promise.reject(new Error('nothing is kept in a folder')),
  });
  const start = async (env: NodeJS.ProcessEnv) => {
    const started = await startIdentity(hostOf(env), now);
    for (const { contract, handlers } of started.implementations) {
      const parts = { service: 'identity', store, verifyCaller, peers, log: silentLog };
      const methods = await serveMethods(contract, handlers as Handlers<unknown>, parts);
      for (const [path, method] of methods) served.set(path, method);
    }
    const lifecycle = lifecycleOf(started);
    await lifecycle.begin();
    return { ...lifecycle, settle: started.settle };
  };

  let running = await start(given);
  const stop = async () => {
    await running.drain();
    await running.close();
  };
  return {
    auth,
    apiKeys: clientOf(contracts.apiKeys),
    account: clientOf(contracts.account),
    security: clientOf(contracts.accountSecurity),
    directory,
    store,
    bus,
    pass: (milliseconds) => {
      passed += milliseconds;
    },
    now,
    call,
    async authenticate(credential, more = {}) {
      const kind = /^[A-Za-z0-9_-]{43}$/.test(credential) ? CredentialKind.SESSION : CredentialKind.BEARER;
      const request = { kind, credential, tenant: '', workspaceId: '', clientIp: '', ...more };
      const { token } = await auth.authenticate(request, call());
      return { token, caller: await verifyCaller(token) };
    },
    settle: () => running.settle(),
    async restart(env) {
      await stop();
      running = await start(env);
      // A verifier fetches rotated keys a second later; a new one fetches them at once.
      verifier = newVerifier();
    },
    async close() {
      await stop();
      await database.close();
    },
  };
}

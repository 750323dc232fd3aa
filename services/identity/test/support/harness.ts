import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Caller, createPeerTokens, createTokenVerifier } from '@commonplace/kit/auth';
import { readConfig } from '@commonplace/kit/config';
import { contracts } from '@commonplace/kit/contracts';
import { Unavailable } from '@commonplace/kit/errors';
import type { EventBus } from '@commonplace/kit/events';
import { newRequestId } from '@commonplace/kit/id';
import { silentLog } from '@commonplace/kit/log';
import {
  type CallOptions,
  type Client,
  createLocalChannel,
  type Handlers,
  openShedding,
  type Reply,
  type ServedMethod,
  serveMethods,
} from '@commonplace/kit/rpc';
import type { Host } from '@commonplace/kit/runtime';
import type { Store } from '@commonplace/kit/store';
import { openSqliteDatabase } from '@commonplace/kit/store/sqlite';
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

/** The identity service on a store of its own, spoken to as its peers do. */
export interface Harness {
  readonly auth: Client<AuthService>;
  readonly apiKeys: Client<ApiKeyService>;
  readonly account: Client<AccountService>;
  readonly directory: FakeDirectory;
  readonly store: Store;
  readonly bus: EventBus;
  /** Moves the service's clock on. */
  pass(milliseconds: number): void;
  now(): number;
  /** Options of a call, for a caller token where one is given. */
  call(token?: string, more?: Partial<CallOptions['metadata']> & { reply?: Reply }): CallOptions;
  authenticate(credential: string, more?: Partial<AuthenticateRequest>): Promise<{ token: string; caller: Caller }>;
  /** Waits for the writes that no request waits for. */
  settle(): Promise<void>;
  /** Stops the service and starts it on the same store, with other settings. */
  restart(env: NodeJS.ProcessEnv): Promise<void>;
  close(): Promise<void>;
}

export async function openHarness(given: NodeJS.ProcessEnv = {}): Promise<Harness> {
  const folder = mkdtempSync(join(tmpdir(), 'identity-'));
  const database = await openSqliteDatabase({ file: join(folder, 'commonplace.db') });
  const store = database.store('identity');
  const bus = database.bus();
  const directory = createFakeDirectory(() => Unavailable());
  const peers = createPeerTokens(randomBytes(32), 'test');
  const served = new Map<string, ServedMethod>();
  const channel = createLocalChannel(served, peers);
  let passed = 0;
  const now = () => Date.now() + passed;
  const call: Harness['call'] = (token, { reply, ...metadata } = {}) => ({
    metadata: { requestId: newRequestId(), token, ...metadata },
    deadline: Date.now() + 20_000,
    ...(reply === undefined ? {} : { reply }),
  });
  const auth = channel.client(contracts.auth);
  const newVerifier = () => createTokenVerifier(async () => (await auth.getTokenKeys({}, call())).jwksJson);
  // Verifies by the real clock, however far the service's own has moved.
  let verifier = newVerifier();
  const verifyCaller = (token: string) => verifier(token);

  const hostOf = (env: NodeJS.ProcessEnv): Host => ({
    settings: (table) => readConfig(table, { COMMONPLACE_SECRET_KEY: SECRET, ...env }),
    log: silentLog,
    store,
    bus,
    dataDir: folder,
    client: (contract) => (contract.owner === 'tenancy' ? directory.client : channel.client(contract)) as never,
    systemCall: () => call(),
    verifyCaller,
    shedding: openShedding({ maxConcurrent: 0, maxDelayMs: 0 }),
    isHealthy: () => true,
  });
  const start = async (env: NodeJS.ProcessEnv) => {
    const started = await startIdentity(hostOf(env), now);
    for (const { contract, handlers } of started.implementations) {
      const parts = { service: 'identity', store, verifyCaller, peers, log: silentLog };
      const methods = await serveMethods(contract, handlers as Handlers<unknown>, parts);
      for (const [path, method] of methods) served.set(path, method);
    }
    await started.begin?.();
    return started;
  };

  let running = await start(given);
  const stop = async () => {
    await running.drain?.();
    await running.close?.();
  };
  return {
    auth,
    apiKeys: channel.client(contracts.apiKeys),
    account: channel.client(contracts.account),
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
      const asked = { kind, credential, tenant: '', workspaceId: '', clientIp: '', ...more };
      const { token } = await auth.authenticate(asked, call());
      return { token, caller: await verifyCaller(token) };
    },
    settle: async () => running.close?.(),
    async restart(env) {
      await stop();
      running = await start(env);
      // After a rotation a verifier asks for the new keys a second later; this one asks at once.
      verifier = newVerifier();
    },
    async close() {
      await stop();
      await database.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

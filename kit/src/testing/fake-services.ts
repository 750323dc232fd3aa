import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Caller } from '../auth/caller.js';
import { createTokenSigner } from '../auth/token.js';
import { contracts } from '../contracts/index.js';
import { newId, newRequestId } from '../id/index.js';
import type { CallMetadata, CallOptions, Handlers, Reply, ServiceContract } from '../rpc/port.js';
import type { Host, Implementation, ServiceModule } from '../runtime/module.js';
import { run } from '../runtime/run.js';

/** A part of a service's handlers; a call of one that is not given fails. */
export function fake<S>(contract: ServiceContract<S>, handlers: Partial<Handlers<S>>): Implementation {
  const all: Record<string, unknown> = { ...handlers };
  for (const name of Object.keys(contract.definition)) {
    all[name] ??= async () => {
      throw new Error(`nobody plays ${contract.name}/${name}`);
    };
  }
  return { contract: contract as ServiceContract<unknown>, handlers: all };
}

/** One service with the real kit and embedded stores, the others played. */
export interface Stage {
  readonly host: Host;
  /** Options of a call by a caller; the system's where there is none. */
  as(caller: Caller | undefined, metadata?: Partial<CallMetadata>, reply?: Reply): Promise<CallOptions>;
  close(): Promise<void>;
}

/**
 * Starts `module` on a new data folder within `parent`. `others` play what it calls; identity's token keys are
 * played here.
 */
export async function openStage(
  module: ServiceModule,
  others: readonly Implementation[],
  parent: string = tmpdir(),
): Promise<Stage> {
  const dataDir = mkdtempSync(join(parent, 'commonplace-stage-'));
  const signer = createTokenSigner([randomBytes(32)]);
  const tokenOf = keepSecond((caller) => signer.sign(caller));
  const keys = { getTokenKeys: async () => ({ jwksJson: signer.jwks }) };
  const isAuth = ({ contract }: Implementation) => contract.name === contracts.auth.name;
  const played = others.some(isAuth)
    ? others.map((one) => (isAuth(one) ? { ...one, handlers: { ...(one.handlers as object), ...keys } } : one))
    : [...others, fake(contracts.auth, keys)];
  let host: Host | undefined;
  const probe: ServiceModule = {
    name: 'probe',
    config: {},
    stores: true,
    start: async (given) => {
      host = given;
      return { implementations: [] };
    },
  };
  const owners = new Set(Object.values(contracts).map(({ owner }) => owner));
  owners.delete(module.name);
  const fakes = [...owners].map((name): ServiceModule => {
    const implementations = played.filter(({ contract }) => contract.owner === name);
    return { name, config: {}, stores: true, start: async () => ({ implementations }) };
  });
  const env: NodeJS.ProcessEnv = {
    COMMONPLACE_SECRETS_KEY: randomBytes(32).toString('base64'),
    ...process.env,
    COMMONPLACE_DATA_DIR: dataDir,
    COMMONPLACE_LOG_LEVEL: 'error',
  };
  delete env.COMMONPLACE_MONGODB_URL;
  delete env.COMMONPLACE_NATS_URL;
  const running = await run([module, ...fakes, probe], env);
  return {
    host: host as Host,
    async as(caller, metadata = {}, reply = {}) {
      const token = caller === undefined ? undefined : await tokenOf(caller);
      return { metadata: { requestId: newRequestId(), token, ...metadata }, deadline: Date.now() + 10_000, reply };
    },
    async close() {
      await running.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** A caller's token of this second, as the gateway keeps it: to sign and to verify take longer than most calls. */
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

/** A person with a session and every scope that is named. */
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

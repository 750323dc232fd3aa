import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { MeshTls } from '@commonplace/adapters/grpc';
import { createLocalChannel } from '@commonplace/adapters/local';
import { createPeerTokens, createTokenVerifier, type PeerTokens } from '@commonplace/kit/auth';
import { ConfigError, readConfig, readConfigs, type Table, type Values } from '@commonplace/kit/config';
import { makeFolder } from '@commonplace/kit/durable';
import { newRequestId } from '@commonplace/kit/id';
import { createLog, type Log } from '@commonplace/kit/log';
import {
  type CallOptions,
  type Channel,
  type Client,
  createPeerCapacity,
  type Handlers,
  openShedding,
  type ServedMethod,
  type ServiceContract,
  type Shedding,
  serveMethods,
} from '@commonplace/kit/rpc';
import { openSpaceGuard, type SpaceGuard } from '@commonplace/kit/space';
import type { Store } from '@commonplace/kit/store';
import { currentTraceFields, readOtelSettings, startTelemetry, type Telemetry } from '@commonplace/kit/telemetry';
import { contracts } from '../contracts/index.js';
import { type Adapters, openAdapters } from './adapters.js';
import { startHousekeeping } from './housekeeping.js';
import { type Lifecycle, lifecycleOf } from './lifecycle.js';
import { formatOf, requireFormat } from './migrations.js';
import type { ClientOf, Host, Implementation, ServiceModule } from './module.js';
import { startRepeats } from './repeats.js';
import { processSettings } from './settings.js';
import { fetchedKeys, observeFormat } from './signals.js';
import { VERSION } from './version.js';

export interface Running {
  /** Port of this process's gRPC server; absent if everything runs in one process. */
  readonly grpcPort: number | undefined;
  /** Port that serves metrics; absent if there is none. */
  readonly metricsPort: number | undefined;
  /** Accepts no more work, finishes running work and closes everything. */
  close(): Promise<void>;
}

/** Milliseconds that a stopping process waits for calls in flight. */
const DRAIN_MS = 20_000;
/** Default timeout in milliseconds of a call without a caller. */
const SYSTEM_CALL_MS = 10_000;
/** Timeout in milliseconds of the fetch of caller token keys, for which requests wait. */
const KEYS_MS = 5_000;

const fetched = fetchedKeys.bind();

/**
 * Runs modules in this process; services that are not among them are called over gRPC. `storeOf` may return another
 * store for a module than that of this process, so that tests can run a single service on their own store, without its
 * events.
 */
export async function run(
  modules: readonly ServiceModule[],
  env: NodeJS.ProcessEnv = process.env,
  storeOf: (module: ServiceModule) => Store | undefined = () => undefined,
): Promise<Running> {
  const settings = readAll(modules, env);
  // Logs of several hosts and services are collected in one place, so each line names its host.
  const lines = createLog(settings.logLevel, { hostname: hostname() }, currentTraceFields);
  const name = modules.length === 1 ? (modules[0]?.name as string) : 'commonplace';
  const log = lines.child({ service: name });
  const telemetry = await startTelemetry({
    ...{ ...settings, service: name, version: VERSION, log },
    otel: readOtelSettings(env),
  });
  const meshKey = Buffer.from(settings.meshKey ?? randomBytes(32).toString('hex'));
  const peersOf = memoize((process) => createPeerTokens(meshKey, process));
  const tls = await tlsOf(settings, log);
  const waiting = answerWhileWaiting(modules, settings, tls);
  const adapters = await openAdapters({ settings, modules, env, log, onWaiting: waiting.begin });
  await waiting.end();
  const shedding = openShedding({ maxConcurrent: settings.maxConcurrent, maxDelayMs: settings.maxLoopDelayMs });
  const served = new Map<string, ServedMethod>();
  const here = new Set(modules.map((module) => module.name));
  const channels = await openChannels(served, here, peersOf, settings, tls);
  const clientOf =
    (module: string) =>
    <S>(contract: ServiceContract<S>): Client<S> =>
      (here.has(contract.owner) ? channels.local(module) : channels.remote(module)).client(contract);
  const declaredClientOf = ({ name, calls }: ServiceModule): Host['client'] => {
    const of = clientOf(name);
    return (contract) => {
      if (!calls.includes(contract)) throw new Error(`${name} does not declare that it calls ${contract.name}`);
      return of(contract) as ClientOf<typeof contract>;
    };
  };
  const verifyCaller = createTokenVerifier(async () => {
    fetched.add();
    const { jwksJson } = await clientOf(name)(contracts.auth).getTokenKeys(
      {},
      { ...systemCall(KEYS_MS), metadata: { requestId: newRequestId() } },
    );
    return jwksJson;
  });

  let begun = false;
  let space = adapters.space;
  const openSpace = async (): Promise<SpaceGuard> => {
    makeFolder(settings.dataDir);
    space ??= await openSpaceGuard({ folder: settings.dataDir, reserveBytes: settings.diskReserveBytes, log });
    return space;
  };
  const started: Required<Lifecycle>[] = [];
  const implementations: Implementation[] = [];
  for (const module of modules) {
    const store = storeOf(module) ?? adapters.store(module);
    if (module.stores) {
      await requireFormat(module.name, store, module.migrations ?? []);
      observeFormat(module.name, async () => (await formatOf(store, module.migrations ?? [])).format ?? 0);
    }
    const host: Host = {
      settings: <T extends Table>(table: T): Values<T> => readConfig(table, env),
      log: lines.child({ service: module.name }),
      store,
      get bus() {
        return adapters.bus;
      },
      watchOwn: adapters.watchOwn,
      dataDir: settings.dataDir,
      installationId: adapters.installationId,
      client: declaredClientOf(module),
      systemCall,
      verifyCaller,
      shedding,
      takePeerUtilization: () => channels.remote(module.name).takeUtilization(),
      isHealthy: adapters.isHealthy,
      holdsStores: adapters.holdsStores,
      hasBegun: () => begun,
      get space() {
        return space;
      },
      openSpace,
    };
    const running = await module.start(host);
    started.push(lifecycleOf(running));
    for (const { contract, handlers } of running.implementations) {
      const peers = peersOf(module.name);
      const parts = { service: module.name, store, verifyCaller, peers, log: host.log, space: adapters.space };
      const methods = await serveMethods(contract, handlers as Handlers<unknown>, parts);
      for (const [path, method] of methods) served.set(path, method);
    }
    implementations.push(...running.implementations);
  }

  const server = await serve(modules, implementations, served, settings, { shedding, tls });
  for (const running of started) await running.begin();
  begun = true;
  server?.setReady(true);
  const stores = modules.filter((module) => module.stores).map((module) => adapters.store(module));
  const housekeeping = startHousekeeping(stores, adapters.prune, log);
  const repeats = startRepeats(modules, adapters.store, log);
  log.info('process.ready', { modules: [...here], uptime_ms: Math.round(process.uptime() * 1000) });
  return {
    grpcPort: server?.port,
    metricsPort: telemetry.metricsPort,
    close: async () => {
      // A migration can take longer than a stop may, and is repeated by another process.
      void repeats.close();
      await housekeeping.close();
      await shutDown(started, server, channels, adapters, telemetry, log);
      shedding.close();
      space?.close();
      tls?.close();
    },
  };
}

function readAll(modules: readonly ServiceModule[], env: NodeJS.ProcessEnv): Values<typeof processSettings> {
  const tables: Record<string, Table> = { process: processSettings };
  for (const module of modules) tables[module.name] = module.config;
  const all = readConfigs(tables, env);
  const settings = all.process as Values<typeof processSettings>;
  if ((settings.mongodbUrl === undefined) !== (settings.natsUrl === undefined) && modules.some((one) => one.stores)) {
    throw new ConfigError(['COMMONPLACE_MONGODB_URL and COMMONPLACE_NATS_URL go together: set both or neither']);
  }
  return settings;
}

function systemCall(timeoutMs = SYSTEM_CALL_MS): CallOptions {
  return { metadata: { requestId: newRequestId(), background: true }, deadline: Date.now() + timeoutMs };
}

/** Opens the certificates for TLS between processes, if the settings name them. */
async function tlsOf(settings: Values<typeof processSettings>, log: Log): Promise<MeshTls | undefined> {
  const { tlsCert: cert, tlsKey: key, tlsCa: ca, tlsName: name } = settings;
  if (cert === undefined && key === undefined && ca === undefined) return undefined;
  if (cert === undefined || key === undefined || ca === undefined) {
    throw new ConfigError(['COMMONPLACE_TLS_CERT, _KEY and _CA go together: set all three or none']);
  }
  const { openTls } = await import('@commonplace/adapters/grpc');
  return openTls({ cert, key, ca, name }, log);
}

/** Channels of each module: calls carry the name of the module that makes them, in one process as over the network. */
interface Channels {
  local(module: string): Channel;
  remote(module: string): Channel;
  close(): Promise<void>;
}

async function openChannels(
  served: ReadonlyMap<string, ServedMethod>,
  here: ReadonlySet<string>,
  peersOf: (process: string) => PeerTokens,
  settings: Values<typeof processSettings>,
  tls: MeshTls | undefined,
): Promise<Channels> {
  const local = memoize((module) => createLocalChannel(served, peersOf(module)));
  const everything = new Set(Object.values(contracts).map(({ owner }) => owner));
  if ([...everything].every((owner) => here.has(owner))) {
    return { local, remote: local, close: async () => {} };
  }
  if (settings.meshKey === undefined) {
    throw new ConfigError(['COMMONPLACE_MESH_KEY is not set: the processes of a mesh share it']);
  }
  const { openGrpcChannel } = await import('@commonplace/adapters/grpc');
  const addressOf = (owner: string): string =>
    settings.serviceAddresses.get(owner) ?? settings.serviceAddress.replaceAll('{service}', owner);
  const capacityOf = memoize(() => createPeerCapacity(settings.maxConcurrent));
  const opened: Channel[] = [];
  const remote = memoize((module) => {
    const channel = openGrpcChannel(addressOf, peersOf(module), { tls, capacityOf });
    opened.push(channel);
    return channel;
  });
  return { local, remote, close: async () => void (await Promise.all(opened.map((channel) => channel.close()))) };
}

/** Returns a function that creates one value for each name. */
function memoize<T>(make: (name: string) => T): (name: string) => T {
  const made = new Map<string, T>();
  return (name) => {
    const value = made.get(name) ?? make(name);
    made.set(name, value);
    return value;
  };
}

/** Answers health probes from `begin` until `end`, for a process of the mesh that waits for a server at its start. */
function answerWhileWaiting(
  modules: readonly ServiceModule[],
  { grpcHost, grpcPort, healthPort }: Values<typeof processSettings>,
  tls: MeshTls | undefined,
): { begin(): Promise<void>; end(): Promise<void> } {
  let free: (() => Promise<void>) | undefined;
  return {
    async begin() {
      const port = tls === undefined ? grpcPort : healthPort;
      if (free !== undefined || modules.length > 1 || port === 0) return;
      const { openWaitingHealth } = await import('@commonplace/adapters/grpc');
      free = await openWaitingHealth(`${grpcHost}:${port}`);
    },
    end: async () => free?.(),
  };
}

/** Opens the gRPC server of a process; one that runs all modules needs none. */
async function serve(
  modules: readonly ServiceModule[],
  implementations: readonly Implementation[],
  methods: ReadonlyMap<string, ServedMethod>,
  settings: Values<typeof processSettings>,
  { shedding, tls }: { shedding: Shedding; tls: MeshTls | undefined },
) {
  if (modules.length > 1 || implementations.length === 0) return undefined;
  const { openGrpcServer } = await import('@commonplace/adapters/grpc');
  const definitions = implementations.map(({ contract }) => contract.definition);
  return openGrpcServer({
    host: settings.grpcHost,
    port: settings.grpcPort,
    definitions,
    methods,
    shedding,
    tls: tls === undefined ? undefined : { mesh: tls, healthPort: settings.healthPort },
  });
}

async function drainAll(started: readonly Required<Lifecycle>[]): Promise<void> {
  for (const module of started) await module.drain();
}

async function shutDown(
  started: readonly Required<Lifecycle>[],
  server: Awaited<ReturnType<typeof serve>>,
  channels: Channels,
  adapters: Adapters,
  telemetry: Telemetry,
  log: Log,
): Promise<void> {
  server?.setReady(false);
  await Promise.all([server?.leave(DRAIN_MS), drainAll(started)]);
  await server?.close(DRAIN_MS);
  for (const module of [...started].reverse()) await module.close();
  await channels.close();
  await adapters.close();
  await telemetry.close();
  log.info('process.stopped');
  log.flush();
}

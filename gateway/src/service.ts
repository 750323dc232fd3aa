import { once } from '@commonplace/kit/cache';
import { ConfigError } from '@commonplace/kit/config';
import { createEndedSessions, createSecurityHeaders } from '@commonplace/kit/http';
import type { Client, ServiceContract } from '@commonplace/kit/rpc';
import { contracts } from '@commonplace/platform/contracts';
import { defineService, type Host } from '@commonplace/platform/runtime';
import type { GetCapabilitiesRequest } from '@commonplace/proto/gateway/v1/capability_service.js';
import type { AuthService } from '@commonplace/proto/identity/v1/auth_service.js';
import { EmbeddingModelStatus } from '@commonplace/proto/search/v1/embedding_model_service.js';
import { openReaders } from '@commonplace/site/reader';
import { createApp } from './app.js';
import { BATCH_METHOD } from './batch/gate.js';
import { capabilitiesFor } from './capabilities.js';
import { config, type Settings } from './config.js';
import { listDeprecations } from './deprecations.js';
import type { Invoke, InvokeStream } from './endpoint.js';
import { createEventStreams } from './event-streams.js';
import { createFairShares, sharesOf } from './fair-shares/index.js';
import { shareOfVisitors } from './fair-shares/visitors.js';
import { watchUtilization } from './fair-shares/watch-utilization.js';
import { openLargeBodies } from './large-bodies/index.js';
import { openAnswerReader } from './mcp/answers/index.js';
import { createDenials } from './middleware/denials.js';
import { type CreateLimiter, createLocalLimiter, createSharedLimiters } from './middleware/limiters.js';
import { createOpenStreams } from './middleware/open-streams.js';
import { createFailureLimit, createRateGate } from './middleware/rate-limit.js';
import { createRefusals } from './middleware/refusals.js';
import { createOpenPages } from './raw/open.js';
import { type Route, routesOf } from './routes.js';
import { type HttpServer, openHttpServer } from './server.js';
import { SERVER_VERSION } from './version.js';

/** Milliseconds to wait for requests in progress on shutdown. */
const DRAIN_MS = 20_000;

/** The gateway calls every service that the contract puts on HTTP. */
const EVERY_CONTRACT: readonly ServiceContract<unknown>[] = Object.values(contracts);

/** Defines the gateway service, which serves `/api/v1` over HTTP and calls the other services. */
export const gateway = defineService({
  name: 'gateway',
  config,
  stores: false,
  calls: EVERY_CONTRACT,
  async start(host) {
    const settings = host.settings(config);
    requireSafeUrl(settings);
    const routes = routesOf();
    const invokers = createInvokers(host, routes, settings);
    const auth = host.client(contracts.auth);
    const connectors = host.client(contracts.connectors);
    let draining = false;
    let server: HttpServer | undefined;
    const wasAnswered = rememberTrue(() => answers(host));
    const health = {
      isReady: async () =>
        server !== undefined && !draining && host.hasBegun() && host.isHealthy() && (await wasAnswered()),
      details: () => storageDetails(host),
    };
    const ended = createEndedSessions();
    const streams = createEventStreams(createOpenStreams(settings.rateLimits));
    const cookieName = settings.publicUrl.startsWith('https:') ? '__Host-session' : 'session';
    const createLimiter = limitersOf(host, auth);
    const fairShares = createFairShares(sharesOf(settings), watchUtilization(host.takePeerUtilization));
    const share = shareOfVisitors(fairShares, settings.requestTimeoutMs);
    const readers = openReaders({
      reader: host.client(contracts.reader),
      auth,
      cookieName,
      ended,
      settings,
      share,
      limitSearches: createRateGate(settings.rateLimits, createLimiter)({ limits: ['reader'], scope: 'public' }),
      call: () => host.systemCall(settings.requestTimeoutMs),
      watch: host.watchOwn,
    });
    const denials = createDenials({
      auditEvents: host.client(contracts.auditEvents),
      call: () => host.systemCall(),
      log: host.log,
    });
    const refusals = createRefusals(host.log);
    const largeBodies = openLargeBodies(settings);
    const answerReader = openAnswerReader(settings);
    const app = createApp({
      settings,
      routes,
      largeBodies,
      answers: answerReader,
      invoke: (route) => invokers.get(route.fullMethod) as Invoke,
      invokeStream: ({ fullMethod }) => invokers.get(fullMethod) as unknown as InvokeStream,
      authentication: {
        auth,
        verifyCaller: host.verifyCaller,
        cookieName,
        ended,
        publicOrigin: new URL(settings.publicUrl).origin,
        failures: createFailureLimit(settings.rateLimits, createLimiter),
        watch: host.watchOwn,
        timeoutMs: Math.min(settings.requestTimeoutMs, settings.searchTimeoutMs),
      },
      open: createOpenPages({
        settings,
        routes,
        auth,
        security: host.client(contracts.accountSecurity),
        apiKeys: host.client(contracts.apiKeys),
        invitations: host.client(contracts.directory),
        connectors,
        approvals: host.client(contracts.approvals),
        mcpServers: host.client(contracts.mcpServers),
        cookieName,
        ended,
        health,
        bytes: host.client(contracts.bytes),
        share,
        formPages: host.client(contracts.formPages),
      }),
      readers: readers.serve,
      streams,
      createLimiter,
      shedding: host.shedding,
      fairShares,
      share,
      denials,
      refusals,
      log: host.log,
    });
    return {
      implementations: [],
      runs: [
        readers,
        refusals,
        denials,
        fairShares,
        answerReader,
        largeBodies,
        {
          begin: async () => {
            server = await openHttpServer(app, settings.host, settings.port, createSecurityHeaders(settings)());
            host.log.info('http.listening', { host: settings.host, port: server.port });
          },
          drain: async () => {
            draining = true;
            streams.close();
            await server?.close(DRAIN_MS);
          },
        },
      ],
    };
  },
});

/**
 * Refuses plain http outside loopback, which would expose cookies and keys, unless the operator has allowed it. Throws
 * `ConfigError`.
 */
function requireSafeUrl({ publicUrl, insecureHttp }: Settings): void {
  const { protocol, hostname } = new URL(publicUrl);
  const loopback = hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.');
  if (protocol === 'http:' && !loopback && !insecureHttp) {
    throw new ConfigError([
      'COMMONPLACE_PUBLIC_URL is http and not on loopback: use https, or set COMMONPLACE_INSECURE_HTTP=1',
    ]);
  }
}

/**
 * Returns the functions that call the rpc of each route. Throws if a route's rpc is missing, which aborts the start.
 */
function createInvokers(host: Host, routes: readonly Route[], settings: Settings): ReadonlyMap<string, Invoke> {
  const invokers = new Map<string, Invoke>();
  for (const contract of EVERY_CONTRACT) {
    const client = host.client(contract) as Client<Record<string, (request: object) => Promise<object>>>;
    for (const [name, { path }] of Object.entries(contract.definition)) invokers.set(path, client[name] as Invoke);
  }
  const deprecations = once(() => listDeprecations(routes));
  invokers.set(
    '/commonplace.gateway.v1.CapabilityService/GetCapabilities',
    async (_: GetCapabilitiesRequest, options) => {
      const caller = await host.verifyCaller(options.metadata.token ?? '');
      return capabilitiesFor(caller, {
        routes,
        policies: settings.rateLimits,
        deprecations: deprecations(),
        serverVersion: SERVER_VERSION,
        publicUrl: settings.publicUrl,
        bodyBytes: settings.bodyBytes,
        fileBytes: settings.fileBytes,
        inlineFileBytes: Math.min(settings.inlineFileBytes, settings.fileBytes),
        batchCalls: settings.batchCalls,
        batchBodyBytes: settings.batchBodyBytes,
        semanticSearch: await hasEmbeddings(host),
      });
    },
  );
  const called = routes.flatMap((route) => [route, ...(route.events === undefined ? [] : [route.events])]);
  // A batch calls no service itself.
  const missing = called.find(({ fullMethod }) => !invokers.has(fullMethod) && fullMethod !== BATCH_METHOD);
  if (missing !== undefined) throw new Error(`${missing.fullMethod} is on HTTP, but no client calls it`);
  return invokers;
}

/** Milliseconds without an answer of the shared counter after which a gateway counts on its own. */
const TAKE_MS = 1000;

/** Returns the limiters. They are shared with other gateways, unless this process contains the whole system. */
function limitersOf(host: Host, auth: Pick<Client<AuthService>, 'takeRateLimit'>): CreateLimiter {
  if (host.watchOwn !== undefined) return createLocalLimiter;
  return createSharedLimiters((about) => auth.takeRateLimit(about, host.systemCall(TAKE_MS)));
}

/** Returns whether an embedding model for semantic search is available; false if the search service does not answer. */
async function hasEmbeddings(host: Host): Promise<boolean> {
  try {
    const { models } = await host.client(contracts.embeddingModels).listEmbeddingModels({}, host.systemCall(READY_MS));
    return models.some(({ status }) => status !== EmbeddingModelStatus.UNAVAILABLE);
  } catch {
    return false;
  }
}

/**
 * Returns a check that remembers the first `true`. A starting gateway waits for identity. One that loses identity later
 * stays ready, because it still serves published pages and has to answer 503 to other requests.
 */
function rememberTrue(ask: () => Promise<boolean>): () => Promise<boolean> {
  let yes = false;
  return async () => {
    yes ||= await ask();
    return yes;
  };
}

/** Returns whether the disk has space, if this process stores data there. Reads and deletions work without it. */
function storageDetails({ space }: Host): Record<string, unknown> {
  return space === undefined ? {} : { storage: space.full ? 'full' : 'ok' };
}

/** Returns whether identity answers, so that credentials can be checked. */
async function answers(host: Host): Promise<boolean> {
  try {
    await host.client(contracts.auth).getTokenKeys({}, host.systemCall(READY_MS));
    return true;
  } catch {
    return false;
  }
}

const READY_MS = 1000;

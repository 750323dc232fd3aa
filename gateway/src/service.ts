import { ConfigError } from '@commonplace/kit/config';
import { contracts } from '@commonplace/kit/contracts';
import type { Client, ServiceContract } from '@commonplace/kit/rpc';
import type { Host, ServiceModule } from '@commonplace/kit/runtime';
import type { GetCapabilitiesRequest } from '@commonplace/proto/gateway/v1/capability_service.js';
import { ModelKind, ModelStatus } from '@commonplace/proto/search/v1/model_service.js';
import { createApp } from './app.js';
import { capabilitiesFor } from './capabilities.js';
import { config, type Settings } from './config.js';
import type { Invoke } from './endpoint.js';
import { createEndedSessions } from './middleware/ended-sessions.js';
import { createFailureLimit } from './middleware/rate-limit.js';
import { createOpenPages } from './raw/open.js';
import { openReaders } from './raw/reader/open.js';
import { type Route, routesOf } from './routes.js';
import { type HttpServer, openHttpServer } from './server.js';
import { SERVER_VERSION } from './version.js';
import { createWatches } from './watch.js';

/** Milliseconds that requests in flight are waited for when the process ends. */
const DRAIN_MS = 20_000;

/** The HTTP side of everything: terminates `/api/v1` and calls the services. */
export const gateway: ServiceModule = {
  name: 'gateway',
  config,
  stores: false,
  async start(host) {
    const settings = host.settings(config);
    requireSafeUrl(settings);
    const routes = routesOf();
    const invokers = createInvokers(host, routes, settings);
    const auth = host.client(contracts.auth);
    const connectors = host.client(contracts.connectors);
    let draining = false;
    let server: HttpServer | undefined;
    const wasAnswered = once(() => answers(host));
    const health = {
      isReady: async () => server !== undefined && !draining && host.isHealthy() && (await wasAnswered()),
    };
    const ended = createEndedSessions();
    const watches = createWatches();
    const cookieName = settings.publicUrl.startsWith('https:') ? '__Host-session' : 'session';
    const readers = openReaders({
      reader: host.client(contracts.reader),
      settings,
      call: () => host.systemCall(settings.requestTimeoutMs),
    });
    const app = createApp({
      settings,
      routes,
      invoke: (route) => invokers.get(route.fullMethod) as Invoke,
      authentication: {
        auth,
        verifyCaller: host.verifyCaller,
        cookieName,
        ended,
        publicOrigin: new URL(settings.publicUrl).origin,
        failures: createFailureLimit(settings.rateLimits),
        timeoutMs: Math.min(settings.requestTimeoutMs, settings.searchTimeoutMs),
      },
      open: createOpenPages({
        settings,
        routes,
        auth,
        connectors,
        cookieName,
        ended,
        health,
        bytes: host.client(contracts.bytes),
        formPages: host.client(contracts.formPages),
      }),
      readers: readers.serve,
      watches,
      shedding: host.shedding,
      log: host.log,
    });
    return {
      implementations: [],
      begin: async () => {
        server = await openHttpServer(app, settings.host, settings.port);
        host.log.info('http.listening', { host: settings.host, port: server.port });
      },
      drain: async () => {
        draining = true;
        watches.close();
        await server?.close(DRAIN_MS);
        await readers.close();
      },
    };
  },
};

/** Cookies and keys over plain http are for loopback alone, unless the operator insists. */
function requireSafeUrl({ publicUrl, insecureHttp }: Settings): void {
  const { protocol, hostname } = new URL(publicUrl);
  const loopback = hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.');
  if (protocol === 'http:' && !loopback && !insecureHttp) {
    throw new ConfigError([
      'COMMONPLACE_PUBLIC_URL is http and not on loopback: use https, or set COMMONPLACE_INSECURE_HTTP=1',
    ]);
  }
}

/** How each rpc that a route names is called; a route without one stops the start. */
function createInvokers(host: Host, routes: readonly Route[], settings: Settings): ReadonlyMap<string, Invoke> {
  const invokers = new Map<string, Invoke>();
  for (const contract of Object.values(contracts) as ServiceContract<unknown>[]) {
    const client = host.client(contract) as Client<Record<string, (request: object) => Promise<object>>>;
    for (const [name, { path }] of Object.entries(contract.definition)) invokers.set(path, client[name] as Invoke);
  }
  invokers.set(
    '/commonplace.gateway.v1.CapabilityService/GetCapabilities',
    async (_: GetCapabilitiesRequest, options) => {
      const caller = await host.verifyCaller(options.metadata.token ?? '');
      return capabilitiesFor(caller, {
        routes,
        policies: settings.rateLimits,
        serverVersion: SERVER_VERSION,
        publicUrl: settings.publicUrl,
        bodyBytes: settings.bodyBytes,
        fileBytes: settings.fileBytes,
        inlineFileBytes: settings.inlineFileBytes,
        semanticSearch: await hasEmbeddings(host),
      });
    },
  );
  const missing = routes.find(({ fullMethod }) => !invokers.has(fullMethod));
  if (missing !== undefined) throw new Error(`${missing.fullMethod} is on HTTP and no client knows it`);
  return invokers;
}

/** Whether there is a model to search by meaning with, as the service that has it says. */
async function hasEmbeddings(host: Host): Promise<boolean> {
  const request = { page: undefined, kind: ModelKind.EMBEDDING };
  try {
    const { items } = await host.client(contracts.models).listModels(request, host.systemCall(READY_MS));
    return items.some(({ status }) => status !== ModelStatus.UNAVAILABLE);
  } catch {
    return false;
  }
}

/**
 * Whether a question was answered with yes, now or before. A gateway that begins waits for identity; one that has lost
 * it stays, for it has published pages to show, and somebody has to say 503.
 */
function once(ask: () => Promise<boolean>): () => Promise<boolean> {
  let yes = false;
  return async () => {
    yes ||= await ask();
    return yes;
  };
}

/** Whether credentials can be checked. */
async function answers(host: Host): Promise<boolean> {
  try {
    await host.client(contracts.auth).getTokenKeys({}, host.systemCall(READY_MS));
    return true;
  } catch {
    return false;
  }
}

const READY_MS = 1000;

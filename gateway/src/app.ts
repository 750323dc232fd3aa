import { AppError } from '@commonplace/kit/errors';
import type { Log } from '@commonplace/kit/log';
import type { Shedding } from '@commonplace/kit/rpc';
import cors from '@koa/cors';
import Router, { type RouterMiddleware } from '@koa/router';
import Koa from 'koa';
import type { Settings } from './config.js';
import { type Invoke, serveEndpoint } from './endpoint.js';
import { type AuthenticateParts, authenticate, isSafe } from './middleware/authenticate.js';
import { answerErrors } from './middleware/errors.js';
import { isHostOf } from './middleware/host.js';
import { createRateGate, type RateGate } from './middleware/rate-limit.js';
import { nameRequest } from './middleware/request.js';
import { requireScope } from './middleware/scope.js';
import type { State } from './middleware/state.js';
import { orFailure } from './raw/forms/send.js';
import type { Route } from './routes.js';
import type { Watches } from './watch.js';

export interface AppParts {
  readonly settings: Settings;
  readonly routes: readonly Route[];
  invoke(route: Route): Invoke;
  readonly authentication: AuthenticateParts;
  /** What is served without a credential: pages, health, the description of the API. */
  readonly open: Router;
  /** Published pages; what is none goes on. */
  readonly readers: Koa.Middleware;
  /** Records that clients follow. */
  readonly watches: Watches;
  /** What this process has room for. */
  readonly shedding: Shedding;
  readonly log: Log;
}

/** The order in which a request passes: names and signals, errors, open pages, then the gates of the API. */
export function createApp(parts: AppParts): Koa {
  const { settings, log } = parts;
  const app = new Koa();
  const secure = settings.publicUrl.startsWith('https:');
  app.use(nameRequest(settings.trustedProxies, secure, log) as Koa.Middleware);
  app.use(answerErrors({ publicUrl: settings.publicUrl, log }) as Koa.Middleware);
  app.use(allowOrigins());
  app.use(shed(parts));
  app.use(parts.readers);
  app.use(serveBytesAlone(settings));
  const rateGate = createRateGate(settings.rateLimits);
  app.use(limitFormPages(rateGate));
  app.use(servePages(parts.open));
  app.use(createApi(parts, rateGate, (route) => route.scope === 'public') as Koa.Middleware);
  app.use(authenticate(parts.authentication) as Koa.Middleware);
  app.use(createApi(parts, rateGate, (route) => route.scope !== 'public') as Koa.Middleware);
  app.use(() => Promise.reject(routeNotFound()));
  app.on('error', (error: Error & { code?: string }) => {
    if (!GONE.has(error.code ?? '')) log.error('http.failed', { error });
  });
  return app;
}

/** Errors of a client that has gone away: nobody to answer, nothing to mend. */
const GONE: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE']);

const EXPOSED = [
  'Accept-Ranges',
  'Content-Disposition',
  'Content-Range',
  'ETag',
  'X-Request-Id',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'Idempotency-Replayed',
  'Original-Request-Id',
];

/** Any origin may read answers, never with cookies; requests that name none are none of its business. */
function allowOrigins(): Koa.Middleware {
  const answer = cors({
    origin: '*',
    credentials: false,
    maxAge: 600,
    exposeHeaders: EXPOSED,
    keepHeadersOnError: true,
  });
  return (ctx, next) => (ctx.req.headers.origin === undefined ? next() : answer(ctx, next));
}

/** Under the host of users' bytes there is nothing else: no page, no endpoint, no cookie. */
function serveBytesAlone({ contentUrl, publicUrl }: Settings): Koa.Middleware {
  const isHost = contentUrl === undefined ? () => false : isHostOf(contentUrl);
  const bytesAlone = !isHost(new URL(publicUrl));
  return (ctx, next) => {
    if (bytesAlone && isHost(ctx) && !ctx.path.startsWith('/blobs/')) throw routeNotFound();
    return next();
  };
}

/** What is handed in by the hosted page of a form counts with what comes by the endpoint, of the form and the address. */
function limitFormPages(rateGate: RateGate): Koa.Middleware {
  const gate = rateGate({ limits: ['form', 'visitor'], scope: 'public' }) as unknown as RouterMiddleware;
  const router = new Router();
  router.post(`${FORM_PAGES}:token`, (ctx, next) => orFailure(ctx, async () => gate(ctx, next)));
  const limited = router.routes() as unknown as Koa.Middleware;
  return (ctx, next) => (ctx.path.startsWith(FORM_PAGES) ? limited(ctx, next) : next());
}

const FORM_PAGES = '/f/';

/** Everything that is no endpoint; what is unknown outside of the API is not found by anybody. */
function servePages(open: Router): Koa.Middleware {
  const pages = open.routes() as unknown as Koa.Middleware;
  const described = new Set(open.stack.map(({ path }) => String(path)));
  const isEndpoint = (path: string) => path.startsWith(API) && !described.has(path);
  const notFound = () => Promise.reject(routeNotFound());
  return (ctx, next) => (isEndpoint(ctx.path) ? next() : pages(ctx, notFound));
}

/** Refuses what there is no room for before it costs anything: searches first, then writes, reads last. */
function shed({ shedding, routes }: AppParts): Koa.Middleware {
  const searches = new Set(routes.filter(({ limits }) => limits.includes('search')).map(({ path }) => path));
  return (ctx, next) => {
    // Whoever probes learns that the process lives, however much there is to do.
    if (ctx.path.startsWith('/health/')) return next();
    shedding.require(isSafe(ctx.method) ? 'read' : searches.has(ctx.path) ? 'background' : 'write');
    return next();
  };
}

const API = '/api/v1/';

/**
 * One route after the other, each with its gates; nothing here knows an endpoint. Routes are kept by
 * their first word and their length, so that a request is compared with those of its own area alone; one of
 * another area is handed on.
 */
function createApi(
  { settings, routes, invoke, watches, shedding }: AppParts,
  rateGate: RateGate,
  serves: (route: Route) => boolean,
): Koa.Middleware<State> {
  const areas = new Map<string, Router>();
  for (const route of routes.filter(serves)) {
    const timeoutMs = route.limits.includes('search') ? settings.searchTimeoutMs : settings.requestTimeoutMs;
    const endpoint = serveEndpoint(route, invoke(route), {
      bodyBytes: settings.bodyBytes,
      timeoutMs,
      watches,
      shedding,
    });
    const gates = [rateGate(route), requireScope(route), endpoint] as unknown as RouterMiddleware[];
    const area = areaOf(route.path);
    const router = areas.get(area) ?? new Router();
    areas.set(area, router);
    router.register(route.koaPath, route.method === 'GET' ? ['GET', 'HEAD'] : [route.method], gates);
  }
  const served = new Map([...areas].map(([area, router]) => [area, { router, serve: router.routes() }]));
  return async (ctx, next) => {
    const area = served.get(areaOf(ctx.path));
    if (area === undefined) return next();
    await (area.serve as unknown as Koa.Middleware)(ctx, async () => refuse(ctx, area.router));
  };
}

/** The word behind `/api/v1/`, and a slash for each further segment. */
function areaOf(path: string): string {
  const end = path.indexOf('/', API.length);
  if (end < 0) return path.slice(API.length);
  const last = path.length - 1;
  let area = path.slice(API.length, end);
  for (let i = end; i < last; i++) if (path.charCodeAt(i) === SLASH) area += '/';
  return area;
}

const SLASH = 0x2f;

function routeNotFound(details: Record<string, unknown> = {}): AppError {
  return new AppError('NOT_FOUND', 'route_not_found', 'There is no such endpoint.', { details });
}

/** A path without the method asked for: says which it has. */
function refuse(ctx: Koa.Context, router: Router): never {
  const methods = [...new Set(router.match(ctx.path, ctx.method).path.flatMap((layer) => layer.methods))];
  if (methods.length > 0) ctx.set('Allow', methods.join(', '));
  throw routeNotFound(methods.length > 0 ? { allow: methods } : {});
}

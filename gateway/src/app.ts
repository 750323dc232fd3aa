import { AppError } from '@commonplace/kit/errors';
import { isHostOf, type ShareWork } from '@commonplace/kit/http';
import type { Log } from '@commonplace/kit/log';
import type { Shedding } from '@commonplace/kit/rpc';
import { Deadline, Load } from '@commonplace/proto/api/v1/access.js';
import { opensPage, orErrorPage, sendNotFound } from '@commonplace/site/auth';
import cors from '@koa/cors';
import Router, { type RouterMiddleware } from '@koa/router';
import Koa from 'koa';
import { BATCH_METHOD, isBatchable, refuseInBatch, refuseNotBegun } from './batch/gate.js';
import { serveBatch } from './batch/serve.js';
import { dropBody } from './body/drop.js';
import type { Settings } from './config.js';
import { type Invoke, type InvokeStream, serveEndpoint } from './endpoint.js';
import type { EventStreams } from './event-streams.js';
import type { FairShares } from './fair-shares/index.js';
import { createInProcessClient, type OpenInProcess } from './in-process.js';
import type { LargeBodies } from './large-bodies/index.js';
import type { AnswerReader } from './mcp/answers/index.js';
import { serveMcp } from './mcp/serve.js';
import { limitAccept } from './middleware/accept.js';
import { type AuthenticateParts, authenticate, isSafe } from './middleware/authenticate.js';
import type { Denials } from './middleware/denials.js';
import { answerErrors } from './middleware/errors.js';
import type { CreateLimiter } from './middleware/limiters.js';
import { limitParameters, parseQueries } from './middleware/query.js';
import { createRateGate, type RateGate } from './middleware/rate-limit.js';
import type { Refusals } from './middleware/refusals.js';
import { nameRequest } from './middleware/request.js';
import { requireScope } from './middleware/scope.js';
import { requireSingularHeaders } from './middleware/singular-headers.js';
import type { State } from './middleware/state.js';
import { sendStreams } from './middleware/streams.js';
import { limitUnreadAnswers } from './middleware/unread-answers.js';
import type { EventRoute, Route } from './routes.js';

interface AppParts {
  readonly settings: Settings;
  readonly routes: readonly Route[];
  invoke(route: Route): Invoke;
  /** Returns the function that opens the event stream of a route. */
  invokeStream(events: EventRoute): InvokeStream;
  readonly authentication: AuthenticateParts;
  /** Routes served without a credential: pages, health, the OpenAPI document. */
  readonly open: Router;
  /** Serves published pages; passes every other request on. */
  readonly readers: Koa.Middleware;
  /** Opens, counts and closes the event streams that clients read. */
  readonly streams: EventStreams;
  /** Reads large bodies in worker threads. */
  readonly largeBodies: LargeBodies;
  readonly answers: AnswerReader;
  /** Refuses requests when this process is overloaded. */
  readonly createLimiter: CreateLimiter;
  readonly shedding: Shedding;
  /** Shares this process between tenants while it is busy. */
  readonly fairShares: FairShares;
  /** Shares it between the networks of clients without a credential, too. */
  readonly share: ShareWork;
  /** Reports denied requests to the audit log. */
  readonly denials: Pick<Denials, 'note'>;
  /** Logs requests that a control has refused. */
  readonly refusals: Pick<Refusals, 'note'>;
  readonly log: Log;
}

/**
 * Creates the app. A request passes these stages in order: ids and signals, errors, overload, pages without a
 * credential, then the gates of the API.
 */
export function createApp(parts: AppParts): Koa {
  const { settings, log, denials, refusals } = parts;
  const app = new Koa();
  parseQueries(app);
  const open = createInProcessClient((request, response) => void handle(request, response));
  app.use(sendStreams());
  app.use(nameRequest(settings, log) as Koa.Middleware);
  app.use(answerErrors({ publicUrl: settings.publicUrl, denials, refusals, log }) as Koa.Middleware);
  // Answers to errors are negotiated, so nothing may fail before.
  app.use(limitAccept());
  app.use(refuseNotBegun as Koa.Middleware);
  app.use(limitUnreadAnswers(settings.unreadBytes) as Koa.Middleware);
  app.use(requireSingularHeaders());
  app.use(limitParameters());
  app.use(allowOrigins());
  app.use(shed(parts));
  app.use(parts.readers);
  app.use(serveBytesAlone(settings));
  const rateGate = createRateGate(settings.rateLimits, parts.createLimiter);
  const authentication = authenticate(parts.authentication);
  app.use(
    serveMcp({
      settings,
      routes: parts.routes,
      send: open,
      answers: parts.answers,
      gates: [authentication, rateGate({ limits: [], scope: 'none' })],
    }) as Koa.Middleware,
  );
  app.use(limitFormPages(rateGate));
  app.use(servePages(parts));
  app.use(createApi(parts, rateGate, open, (route) => route.scope === 'public') as Koa.Middleware);
  app.use(authentication as Koa.Middleware);
  app.use(createApi(parts, rateGate, open, (route) => route.scope !== 'public') as Koa.Middleware);
  app.use(() => Promise.reject(routeNotFound()));
  app.on('error', (error: Error & { code?: string }) => {
    if (!DISCONNECT_CODES.has(error.code ?? '')) log.error('http.failed', { error });
  });
  const handle = app.callback();
  return app;
}

/**
 * Error codes that mean that the client has disconnected. They are not logged, because no answer can be sent and
 * nothing needs repair.
 */
const DISCONNECT_CODES: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE']);

const EXPOSED = [
  'Accept-Ranges',
  'Content-Disposition',
  'Content-Range',
  'ETag',
  'X-Request-Id',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'WWW-Authenticate',
  'Idempotency-Replayed',
  'Original-Request-Id',
  'Deprecation',
  'Sunset',
  'Link',
];

/** Allows any origin to read answers, but never with cookies. Requests without an `Origin` header skip CORS. */
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

/** Restricts the host of uploaded content to `/blobs/`: it serves no page, no endpoint and no cookie. */
function serveBytesAlone({ contentUrl, publicUrl }: Settings): Koa.Middleware {
  const isHost = contentUrl === undefined ? () => false : isHostOf(contentUrl);
  const bytesAlone = !isHost(new URL(publicUrl));
  return (ctx, next) => {
    if (bytesAlone && isHost(ctx) && !ctx.path.startsWith('/blobs/')) throw routeNotFound();
    return next();
  };
}

/**
 * Applies the rate limits `form` and `visitor` to submissions of the hosted form page. The page and the endpoint share
 * their counters. The page gets the refusal, so that it can show the form again with what was entered.
 */
function limitFormPages(rateGate: RateGate): Koa.Middleware {
  const gate = rateGate({ limits: ['form', 'visitor'], scope: 'public' }) as unknown as RouterMiddleware;
  const router = new Router();
  router.post(`${FORM_PAGES}:token`, async (ctx, next) => {
    let passed = false;
    const pass = async () => {
      passed = true;
      await next();
    };
    try {
      await gate(ctx, pass);
    } catch (error) {
      if (passed) throw error;
      ctx.state.formRefusal = error;
      await next();
    }
  });
  const limited = router.routes() as unknown as Koa.Middleware;
  return (ctx, next) => (ctx.path.startsWith(FORM_PAGES) ? limited(ctx, next) : next());
}

const FORM_PAGES = '/f/';

/**
 * Serves all routes that are not endpoints of the contract. An unknown path outside the API gets 404 without
 * authentication, and a page if a browser opens it.
 */
function servePages({ open, share }: Pick<AppParts, 'open' | 'share'>): Koa.Middleware {
  const pages = open.routes() as unknown as Koa.Middleware;
  const described = new Set(open.stack.map(({ path }) => String(path)));
  const isEndpoint = (path: string) => path.startsWith(API) && !described.has(path);
  const notFound = () => Promise.reject(routeNotFound());
  const noPage = async (ctx: Koa.Context) => (opensPage(ctx) ? sendNotFound(ctx) : notFound());
  return async (ctx, next) => {
    if (isEndpoint(ctx.path)) return next();
    if (ctx.state.batched !== undefined) return refuseInBatch(ctx as never, notFound);
    // Probes are exempt, and the pieces of files have their own turns.
    if (ctx.path.startsWith('/health/') || ctx.path.startsWith('/blobs/')) return pages(ctx, notFound);
    await orErrorPage(ctx, () =>
      share(
        ctx,
        async () => pages(ctx, () => noPage(ctx)),
        () => ctx.length ?? 0,
      ),
    );
    // A page that refuses a submission may not have read all of it.
    if (ctx.status >= 400 && !(await dropBody(ctx.req))) ctx.set('Connection', 'close');
  };
}

/**
 * Sheds load before a request costs anything. Under overload, background work such as searches is refused first, then
 * writes, and reads last.
 */
function shed({ shedding, routes }: AppParts): Koa.Middleware {
  const isBackground = ({ traits }: Route) => traits.load === Load.BACKGROUND;
  const background = new Set(routes.filter(isBackground).map(({ path }) => path));
  return (ctx, next) => {
    // Health probes are exempt, because they ask whether the process is alive, not how busy it is.
    if (ctx.path.startsWith('/health/')) return next();
    shedding.require(isSafe(ctx.method) ? 'read' : background.has(ctx.path) ? 'background' : 'write');
    return next();
  };
}

const API = '/api/v1/';

/**
 * Registers each route with its gates, without code for any single endpoint. Routes are grouped by first path segment
 * and number of segments, so that a request is matched only against the routes of its own group; requests of other
 * groups are passed on.
 */
function createApi(
  { settings, routes, invoke, invokeStream, streams, largeBodies, shedding, fairShares }: AppParts,
  rateGate: RateGate,
  open: OpenInProcess,
  serves: (route: Route) => boolean,
): Koa.Middleware<State> {
  const areas = new Map<string, Router>();
  for (const route of routes.filter(serves)) {
    const isSearch = route.traits.deadline === Deadline.SEARCH;
    const timeoutMs = isSearch ? settings.searchTimeoutMs : settings.requestTimeoutMs;
    const { publicUrl, bodyBytes, streamMs } = settings;
    const parts = { publicUrl, bodyBytes, timeoutMs, streamMs, streams, largeBodies, shedding, fairShares };
    const events = route.events ?? route.eventsAfter?.events;
    const endpoint =
      route.fullMethod === BATCH_METHOD
        ? serveBatch(route, { settings, largeBodies, fairShares, open })
        : serveEndpoint(route, invoke(route), parts, events && invokeStream(events));
    const refused = isBatchable(route) ? [] : [refuseInBatch];
    const gates = [...refused, rateGate(route), requireScope(route), endpoint] as unknown as RouterMiddleware[];
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

/** Returns the group of a path: the segment after `/api/v1/`, plus a slash for each further segment. */
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

/** Throws `route_not_found`. For a known path with another method, the answer lists the methods allowed. */
function refuse(ctx: Koa.Context, router: Router): never {
  const methods = [...new Set(router.match(ctx.path, ctx.method).path.flatMap((layer) => layer.methods))];
  if (methods.length > 0) ctx.set('Allow', methods.join(', '));
  throw routeNotFound(methods.length > 0 ? { allow: methods } : {});
}

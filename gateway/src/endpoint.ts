import type { Client, Reply, Shedding } from '@commonplace/kit/rpc';
import type { Middleware, ParameterizedContext } from 'koa';
import { parseBody } from './body.js';
import { endOfTurn } from './end-of-turn.js';
import { isSafe } from './middleware/authenticate.js';
import { readBody } from './middleware/read-body.js';
import type { State } from './middleware/state.js';
import { baseVersionOf, etagOf, idempotencyOf, matchesNone, versionOfIfMatch } from './preconditions.js';
import { ReadCall } from './request-call.js';
import type { WrittenResponse } from './response/answer.js';
import type { Route } from './routes.js';
import { endOf, isFollowed, type Watches } from './watch.js';

/** Calls an rpc by its full name. */
export type Invoke = Client<Record<string, (request: object) => Promise<object>>>[string];

export interface EndpointSettings {
  readonly bodyBytes: number;
  readonly timeoutMs: number;
  readonly watches: Watches;
  readonly shedding: Pick<Shedding, 'enter' | 'leave'>;
}

type Ctx = ParameterizedContext<State> & { params: Record<string, string> };

/** What is the same for all endpoints: JSON to message, the call, message to envelope. */
export function serveEndpoint(route: Route, invoke: Invoke, settings: EndpointSettings): Middleware<State> {
  return async (context) => {
    const ctx = context as unknown as Ctx;
    const safe = isSafe(ctx.method);
    const { requestId } = ctx.state;
    const read = Date.now();
    const body = safe ? undefined : await readBody(ctx as never, settings.bodyBytes, route.formEncoded);
    // A request has one deadline from its first gate to its answer; its body comes as fast as its client sends it.
    const deadline = ctx.state.cameAt + settings.timeoutMs + (body === undefined ? 0 : Date.now() - read);
    const request = route.parseRequest({
      params: ctx.params,
      query: ctx.req.url?.includes('?') ? ctx.query : NO_QUERY,
      body: body === undefined ? undefined : parseBody(ctx, body),
      facts: (name) => factOf(ctx, name),
    });
    const reply: Reply = {};
    const metadata = {
      requestId,
      ...tokenOf(ctx, route),
      traceparent: ctx.state.traceparent,
      ...shareLinkOf(ctx, safe),
      ...(body === undefined || route.scope === 'public' ? {} : preconditions(ctx, body, request.baseVersion)),
    };
    // A write that has begun is finished: its key gives its outcome to whoever asks again.
    const call = safe ? new ReadCall(metadata, deadline, reply, ctx.res) : { metadata, deadline, reply };
    let answer: object;
    settings.shedding.enter();
    try {
      answer = await invoke(request.message, call);
    } finally {
      settings.shedding.leave();
      tellReplay(ctx, reply);
    }
    if (isFollowed(ctx, route)) {
      const again = async () => {
        const { token } = await ctx.state.renew();
        const next = { metadata: { ...metadata, token }, deadline: Date.now() + settings.timeoutMs };
        return invoke(request.message, next);
      };
      settings.watches.follow(ctx, route, answer, again);
      return;
    }
    if (route.watchable && endOf(answer) === undefined) ctx.set('Retry-After', POLL_SECONDS);
    await respond(ctx, route, reply, route.versionOf(answer), route.writeResponse(answer, request.fields));
  };
}

/** Who was let in; where no credential is asked for, nobody is behind the call. */
function tokenOf(ctx: Ctx, { scope }: Route): { token?: string } {
  return scope === 'public' ? {} : { token: ctx.state.admitted.token };
}

/** The fact that a field of the contract is filled from. */
function factOf(ctx: Ctx, name: string): string {
  if (name === 'client_ip') return ctx.state.clientIp;
  const names = name.slice(HEADER.length).split(',');
  return names.map((header) => ctx.get(header)).find((value) => value !== '') ?? '';
}

const HEADER = 'header:';

/** When a client that polls a record looks again, while more may come. */
const POLL_SECONDS = '1';

/** The share link that a request presents; a GET may do so by its query, so that a link can be opened as it is. */
function shareLinkOf(ctx: Ctx, safe: boolean): { shareLink?: string } {
  const header = ctx.req.headers['x-share-link'];
  const token = header ?? (safe && ctx.req.url?.includes('share_link=') ? ctx.query.share_link : undefined);
  return typeof token === 'string' && SHARE_LINK.test(token) ? { shareLink: token } : {};
}

const SHARE_LINK = /^[\w-]{20,64}$/;

/** Sends an answer in its envelope; nothing of it where the client has the very same. */
async function respond(
  ctx: Ctx,
  route: Route,
  reply: Reply,
  version: number | undefined,
  { data, page }: WrittenResponse,
): Promise<void> {
  const { res } = ctx;
  const safe = isSafe(ctx.method);
  ctx.status = reply.status ?? route.success;
  if (version !== undefined || route.maxAgeSeconds !== undefined) {
    const etag = etagOf(version, data);
    res.setHeader('ETag', etag);
    if (safe && matches(ctx, etag)) {
      res.setHeader('Cache-Control', route.uncached ? 'no-store' : cacheControl(route));
      ctx.status = 304;
      return;
    }
  }
  const kept = safe && version !== undefined && !route.uncached;
  res.setHeader('Cache-Control', kept ? cacheControl(route) : uncached(route));
  res.setHeader('Content-Type', 'application/json; charset=utf-8');
  const text = envelope(data, page, reply, ctx.state.requestId);
  if (safe) await endOfTurn();
  ctx.body = text;
}

/** A replayed outcome says so, be it an answer or an error. */
function tellReplay(ctx: Ctx, { replayOf }: Reply): void {
  if (replayOf === undefined) return;
  ctx.set('Idempotency-Replayed', 'true');
  ctx.set('Original-Request-Id', replayOf);
}

const NO_QUERY = {};

function matches(ctx: Ctx, etag: string): boolean {
  const header = ctx.req.headers['if-none-match'];
  return header !== undefined && matchesNone(header, etag);
}

function preconditions(ctx: Ctx, body: Buffer, inBody: number | undefined) {
  const { 'if-match': ifMatch, 'idempotency-key': key } = ctx.req.headers;
  const baseVersion = baseVersionOf(ifMatch === undefined ? undefined : versionOfIfMatch(ifMatch), inBody);
  const { credentialId } = ctx.state.admitted;
  const idempotency =
    key === undefined ? undefined : idempotencyOf(String(key), credentialId, ctx.method, ctx.req.url ?? '', body);
  return { baseVersion, idempotency };
}

function cacheControl({ maxAgeSeconds }: Route): string {
  return maxAgeSeconds === undefined ? 'private, no-cache' : `private, max-age=${maxAgeSeconds}`;
}

function uncached({ maxAgeSeconds }: Route): string {
  return maxAgeSeconds === undefined ? 'no-store' : `private, max-age=${maxAgeSeconds}`;
}

/** `{data, page?, warnings?, request_id}` around JSON that is written already. */
export function envelope(data: string, page: string | undefined, reply: Reply, requestId: string): string {
  const paged = page === undefined ? '' : `,"page":${page}`;
  const warned = reply.warnings === undefined ? '' : `,"warnings":${JSON.stringify(reply.warnings)}`;
  return `{"data":${data}${paged}${warned},"request_id":"${requestId}"}`;
}

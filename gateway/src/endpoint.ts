import { cancelled } from '@commonplace/kit/deadline';
import { AppError } from '@commonplace/kit/errors';
import {
  baseVersionOf,
  ENVELOPE_START,
  envelopeEnd,
  etagOf,
  idempotencyOf,
  isMultipart,
  matchesNone,
  narrowingOf,
  queryOf,
  versionOfIfMatch,
} from '@commonplace/kit/http';
import type { CallOptions, Client, Reply, Shedding } from '@commonplace/kit/rpc';
import type { Middleware, ParameterizedContext } from 'koa';
import { multipartToJson } from './body/multipart.js';
import { readBody } from './body/read.js';
import { deprecationHeaders, withNamesSent } from './deprecations.js';
import { endOfTurn } from './end-of-turn.js';
import { type EventStreams, wantsEvents } from './event-streams.js';
import type { FairShares } from './fair-shares/index.js';
import { type LargeBodies, MAX_BYTES_AT_ONCE } from './large-bodies/index.js';
import type { ReadRequest, ReadTask } from './large-bodies/protocol.js';
import { readRequest } from './large-bodies/read.js';
import { isSafe } from './middleware/authenticate.js';
import { namedIds } from './middleware/denials.js';
import { sharerOf } from './middleware/sharer.js';
import type { State } from './middleware/state.js';
import { requireWithinLimit } from './middleware/workspace-limit.js';
import { ReadCall } from './request-call.js';
import type { Shown } from './response/answer.js';
import { encodeLarge, isLarge, streamOf } from './response/large-answer.js';
import type { EventRoute, Route } from './routes.js';

export type InvokeStream = (request: object, options: CallOptions) => AsyncIterable<object>;

export type Invoke = Client<Record<string, (request: object) => Promise<object>>>[string];

interface EndpointSettings {
  readonly publicUrl: string;
  readonly bodyBytes: number;
  readonly timeoutMs: number;
  /** Maximum duration of a stream in milliseconds. */
  readonly streamMs: number;
  readonly streams: EventStreams;
  readonly largeBodies: LargeBodies;
  readonly shedding: Pick<Shedding, 'enter' | 'leave'>;
  readonly fairShares: FairShares;
}

export type Ctx = ParameterizedContext<State> & { params: Record<string, string> };

/** Serves one endpoint: reads JSON into a message, calls the rpc, and writes the response message into the envelope. */
export function serveEndpoint(
  route: Route,
  invoke: Invoke,
  settings: EndpointSettings,
  invokeStream?: InvokeStream,
): Middleware<State> {
  const { fairShares } = settings;
  return async (context) => {
    const ctx = context as unknown as Ctx;
    if (route.events !== undefined && invokeStream !== undefined && wantsEvents(ctx)) {
      requireWithinLimit(route, ctx.state.admitted.caller);
      return serveEvents(ctx, route.events, invokeStream, settings);
    }
    const follows = route.eventsAfter !== undefined && invokeStream !== undefined && wantsEvents(ctx);
    // What can't be followed is refused before it has any effect.
    if (follows) settings.streams.requireRoom(ctx);
    const read = Date.now();
    const body = isSafe(ctx.method) ? undefined : await bodyOf(ctx, route, settings.bodyBytes);
    const readMs = body === undefined ? 0 : Date.now() - read;
    // Meanwhile, the credential may have been revoked, and the caller token may have expired.
    if (readMs > SLOW_BODY_MS && route.scope !== 'public') ctx.state.admitted = await ctx.state.renew();
    // One deadline covers a request from its arrival to its answer. It is extended by the time that the client takes to
    // send the body.
    const own = ctx.state.arrivedAt + settings.timeoutMs + readMs;
    const { batched } = ctx.state;
    const deadline = batched === undefined ? own : Math.min(own, batched.deadline);
    // Only now does the request count, so that a client that sends its body slowly keeps no other one waiting.
    const entered = fairShares.enter(sharerOf(ctx), deadline);
    const running = entered instanceof Promise ? await entered : entered;
    running.bytes = body?.bytes.length ?? 0;
    try {
      // A request that had to wait is not begun if its client has disconnected in the meantime.
      if (entered instanceof Promise && ctx.res.destroyed) throw cancelled();
      const answer = await answerOf(ctx, route, body, deadline, invoke, settings);
      if (follows && (await followWrite(ctx, route, answer.message, invokeStream, settings))) return;
      running.bytes += await respond(ctx, route, answer);
    } finally {
      fairShares.leave(running);
    }
  };
}

/** Milliseconds for which a body may arrive before its credential is authenticated again. */
const SLOW_BODY_MS = 500;

/** What an rpc has answered, with what the request asks to see of it. */
interface RpcAnswer {
  readonly message: object;
  readonly reply: Reply;
  readonly shown: Shown;
}

/** Reads the request into a message and calls the rpc. */
async function answerOf(
  ctx: Ctx,
  route: Route,
  body: Body | undefined,
  deadline: number,
  invoke: Invoke,
  settings: EndpointSettings,
): Promise<RpcAnswer> {
  const safe = body === undefined;
  const { requestId, traceparent } = ctx.state;
  const { request, fingerprint } = await readAll(ctx, route, body, settings);
  if (route.scope !== 'public') requireWithinLimit(route, ctx.state.admitted.caller);
  if (request.outdated !== undefined) ctx.set(deprecationHeaders(settings.publicUrl));
  await countFieldLimits(ctx, route, request.message);
  const reply: Reply = {};
  const metadata = {
    requestId,
    ...tokenOf(ctx, route),
    traceparent,
    ...shareLinkOf(ctx, safe),
    ...(safe || route.scope === 'public' ? {} : preconditions(ctx, fingerprint ?? '', request.baseVersion)),
  };
  // A read is cancelled when its client disconnects. A write that has begun runs to its end, and a retry with the
  // same idempotency key gets its outcome.
  const call = safe ? new ReadCall(metadata, deadline, reply, ctx.res) : { metadata, deadline, reply };
  settings.shedding.enter();
  try {
    const shown = { fields: request.fields, included: route.includedIn(request.message) };
    return { message: await invoke(request.message, call), reply, shown };
  } catch (error) {
    ctx.state.named = namedIds(request.message);
    throw request.outdated === undefined ? error : withNamesSent(error, request.outdated);
  } finally {
    settings.shedding.leave();
    setReplayHeaders(ctx, reply);
  }
}

/** A request's body in a form that `parseBody` reads. */
interface Body {
  readonly bytes: Buffer;
  readonly type: string | undefined;
}

async function bodyOf(ctx: Ctx, { formEncoded, filePart, descriptor }: Route, limit: number): Promise<Body> {
  const type = ctx.req.headers['content-type'];
  const bytes = await readBody(
    ctx as never,
    { bytes: limit, setting: 'COMMONPLACE_BODY_BYTES' },
    { formEncoded, multipart: filePart !== undefined },
  );
  if (filePart === undefined || type === undefined || !isMultipart(type) || bytes.length === 0) return { bytes, type };
  return { bytes: await multipartToJson(type, bytes, descriptor.input, filePart), type: 'application/json' };
}

/** Counts a request against the rate limit policies that apply because of the fields it sets. */
async function countFieldLimits(ctx: Ctx, { limitsWhen }: Route, message: object): Promise<void> {
  for (const { given, limits } of limitsWhen) {
    const isGiven = given.some((field) => {
      const value = (message as Record<string, unknown>)[field];
      return value !== undefined && value !== false;
    });
    if (isGiven) await ctx.state.countBy?.(limits);
  }
}

/** Responds to a request for server-sent events. The credential is checked again while the stream is open. */
async function serveEvents(
  ctx: Ctx,
  events: EventRoute,
  invoke: InvokeStream,
  settings: EndpointSettings,
): Promise<void> {
  const { message } = events.parseRequest({
    params: ctx.params,
    query: ctx.req.url?.includes('?') ? ctx.query : NO_QUERY,
    body: undefined,
    facts: (name) => factOf(ctx, name),
  });
  await sendEvents(ctx, events, message, invoke, settings);
}

/**
 * Responds to a write with the event stream of the record that its answer names. Returns false if there is no stream to
 * follow: the write started nothing, its work was refused, or the stream can't be opened. The write has taken effect
 * anyway, so that it must not be answered with an error.
 */
async function followWrite(
  ctx: Ctx,
  { eventsAfter }: Route,
  answer: object,
  invoke: InvokeStream | undefined,
  settings: EndpointSettings,
): Promise<boolean> {
  const request = eventsAfter?.requestOf(answer);
  if (eventsAfter === undefined || request === undefined || invoke === undefined) return false;
  try {
    await sendEvents(ctx, eventsAfter.events, request, invoke, settings);
    return true;
  } catch (error) {
    if (error instanceof AppError) return false;
    throw error;
  }
}

function sendEvents(
  ctx: Ctx,
  events: EventRoute,
  message: object,
  invoke: InvokeStream,
  { streams, streamMs }: EndpointSettings,
): Promise<void> {
  const { requestId, traceparent } = ctx.state;
  const deadline = Date.now() + streamMs;
  const open = (lastEventId: string, signal: AbortSignal) => {
    const metadata = {
      requestId,
      traceparent,
      token: ctx.state.admitted.token,
      ...shareLinkOf(ctx, isSafe(ctx.method)),
    };
    return invoke({ ...message, lastEventId }, { metadata, deadline, signal });
  };
  return streams.send(ctx, events, open, deadline);
}

/** Reads a request on the event loop, or in a worker thread if its body is large. */
export function readAll(
  ctx: Ctx,
  route: Route,
  body: Body | undefined,
  { largeBodies }: Pick<EndpointSettings, 'largeBodies'>,
): ReadRequest | Promise<ReadRequest> {
  const { url = '', headers } = ctx.req;
  const query = url.includes('?') ? ctx.query : NO_QUERY;
  if (body === undefined) {
    const input = { params: ctx.params, query, facts: (name: string) => factOf(ctx, name) };
    return { request: route.parseRequest(input), fingerprint: undefined };
  }
  const { method, path } = route;
  const task: ReadTask = {
    method,
    path,
    params: { ...ctx.params },
    query: { ...query },
    body: body.bytes,
    contentType: body.type,
    facts: Object.fromEntries(route.facts.map((name) => [name, factOf(ctx, name, body.bytes)])),
    hashedWith: headers['idempotency-key'] === undefined || route.scope === 'public' ? undefined : queryOf(url),
  };
  return body.bytes.length <= MAX_BYTES_AT_ONCE ? readRequest(route, task) : largeBodies.read(sharerOf(ctx), task);
}

/** Returns the caller token as call metadata. Calls for public endpoints have no caller and no token. */
function tokenOf(ctx: Ctx, { scope }: Route): { token?: string } {
  return scope === 'public' ? {} : { token: ctx.state.admitted.token };
}

/** Returns a fact about the request (client address, headers or body) that fills a field of the contract. */
function factOf(ctx: Ctx, name: string, body?: Buffer): string {
  if (name === 'client_ip') return ctx.state.clientIp;
  if (name === 'body') return body?.toString('utf8') ?? '';
  if (name === 'headers')
    return JSON.stringify(ctx.headers, (key, value) => (SECRET_HEADERS.has(key) ? undefined : value));
  const names = name.slice(HEADER.length).split(',');
  return names.map((header) => ctx.get(header)).find((value) => value !== '') ?? '';
}

const HEADER = 'header:';
/** Headers that are never passed on to a service. */
const SECRET_HEADERS: ReadonlySet<string> = new Set(['authorization', 'cookie', 'proxy-authorization', 'x-api-key']);

/**
 * Returns the token of the share link that a request presents, in a header or, in a GET, in the query, so that a link
 * can be opened as it is.
 */
function shareLinkOf(ctx: Ctx, safe: boolean): { shareLink?: string } {
  const header = ctx.req.headers['x-share-link'];
  const token = header ?? (safe && ctx.req.url?.includes('share_link=') ? ctx.query.share_link : undefined);
  return typeof token === 'string' && SHARE_LINK.test(token) ? { shareLink: token } : {};
}

const SHARE_LINK = /^[\w-]{20,64}$/;

/**
 * Sends an answer in its envelope, or 304 without a body if the client already has it (`If-None-Match`). Returns the
 * approximate number of bytes.
 */
export async function respond(ctx: Ctx, route: Route, { message, reply, shown }: RpcAnswer): Promise<number> {
  const { res } = ctx;
  const safe = isSafe(ctx.method);
  const version = route.versionOf(message);
  const { data, page } = route.writeResponse(message, shown);
  const large = isLarge(data) ? await encodeLarge(data) : undefined;
  const small = large === undefined ? (data[0] as string) : '';
  if (reply.retryAfter !== undefined) ctx.set('Retry-After', String(reply.retryAfter));
  ctx.status = reply.status ?? route.success;
  if (version !== undefined || route.maxAgeSeconds !== undefined) {
    const etag = large === undefined ? etagOf(version, small) : large.etag(version);
    res.setHeader('ETag', etag);
    if (safe && matches(ctx, etag)) {
      res.setHeader('Cache-Control', route.uncached ? 'no-store' : cacheControl(route));
      ctx.status = 304;
      return 0;
    }
  }
  const kept = safe && version !== undefined && !route.uncached;
  res.setHeader('Cache-Control', kept ? cacheControl(route) : uncached(route));
  res.setHeader('Content-Type', 'application/json; charset=utf-8');
  const end = envelopeEnd(page, reply, ctx.state.requestId);
  if (safe) await endOfTurn();
  if (large === undefined) {
    ctx.body = ENVELOPE_START + small + end;
    return small.length;
  }
  const { body, bytes } = streamOf(ENVELOPE_START, large, end);
  ctx.body = body;
  ctx.length = bytes;
  return bytes;
}

/** Sets the headers `Idempotency-Replayed` and `Original-Request-Id` if the answer or error is a replayed outcome. */
function setReplayHeaders(ctx: Ctx, { replayOf }: Reply): void {
  if (replayOf === undefined) return;
  ctx.set('Idempotency-Replayed', 'true');
  ctx.set('Original-Request-Id', replayOf);
}

const NO_QUERY = {};

function matches(ctx: Ctx, etag: string): boolean {
  const header = ctx.req.headers['if-none-match'];
  return header !== undefined && matchesNone(header, etag);
}

function preconditions(ctx: Ctx, bodyHash: string, inBody: number | undefined) {
  const { 'if-match': ifMatch, 'idempotency-key': key } = ctx.req.headers;
  const baseVersion = baseVersionOf(ifMatch === undefined ? undefined : versionOfIfMatch(ifMatch), inBody);
  const { credentialId, caller } = ctx.state.admitted;
  const by = [credentialId, ...narrowingOf(caller)];
  const idempotency =
    key === undefined ? undefined : idempotencyOf(String(key), by, ctx.method, ctx.req.url ?? '', () => bodyHash);
  return { baseVersion, idempotency };
}

function cacheControl({ maxAgeSeconds }: Route): string {
  return maxAgeSeconds === undefined ? 'private, no-cache' : `private, max-age=${maxAgeSeconds}`;
}

function uncached({ maxAgeSeconds }: Route): string {
  return maxAgeSeconds === undefined ? 'no-store' : `private, max-age=${maxAgeSeconds}`;
}

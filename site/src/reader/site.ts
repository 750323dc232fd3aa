import { maxEntries } from '@commonplace/kit/cache';
import { asAppError } from '@commonplace/kit/errors';
import { httpError, isRetryable } from '@commonplace/kit/http';
import { HostKind } from '@commonplace/proto/resources/v1/reader_service.js';
import type { Context, Middleware } from 'koa';
import { LRUCache } from 'lru-cache';
import { fileOf, serveFile } from './files.js';
import { answerAnyone, serveJson, wantsJson } from './json.js';
import { servePage } from './page.js';
import { callOf, isBytesHost, type Place, type ReaderParts } from './parts.js';
import { checkPassword } from './password.js';
import { serveRobots, serveSitemap } from './robots.js';
import { serveSearch } from './search.js';
import { sendElsewhere, sendOnce } from './send.js';
import { keepSecret, SHARES, sharedPageOf, sharePlace } from './share-links.js';
import { failurePage } from './view/plain.js';

const READERS = '/p/';
/** Milliseconds for which the kind of a host name is cached. */
const HOST_MS = 5000;
const MAX_HOSTS = 1000;

/**
 * Serves published pages: below `/p/` on the server's own host names, and everything on a publication's own domain.
 * Other requests are passed on.
 */
export function createReaderSite(parts: ReaderParts): Middleware {
  const { hostOf } = parts;
  const own = hostOf(new URL(parts.publicUrl));
  const isDomain = createDomains(parts);

  return async (ctx, next) => {
    const { path } = ctx;
    const host = hostOf(ctx);
    if (host !== own && isBytesHost(parts, host)) {
      if (path === '/robots.txt') return serveRobots(ctx, parts);
      return isFramed(ctx) ? serve(ctx, parts, belowReaders(ctx, parts)) : next();
    }
    const foreign = host !== own && MAY_BE_DOMAIN.test(host) && !SHARED.test(path);
    if (foreign && (await isDomain(ctx, host))) {
      if (path === '/robots.txt') return serveRobots(ctx, parts);
      if (path === '/sitemap.xml') return serveSitemap(ctx, parts);
      return serve(ctx, parts, placeOf(ctx, parts, '', path.slice(1)));
    }
    if (path.startsWith(READERS)) return serve(ctx, parts, belowReaders(ctx, parts));
    if (path.startsWith(SHARES)) return serveShared(ctx, parts);
    if (await serveAddressInApi(ctx, parts)) return undefined;
    if (path === '/robots.txt') return serveRobots(ctx, parts);
    if (path === '/sitemap.xml') return serveSitemap(ctx, parts);
    return next();
  };
}

/** Matches a name with a dot that is not an IP address, since an address can't be the domain of a publication. */
const MAY_BE_DOMAIN = /^(?=.*[a-z])[a-z\d-]+(?:\.[a-z\d-]+)+(?::\d+)?$/;
/** Paths that are available under every host name. */
const SHARED = /^\/(?:assets|health)\//;

/**
 * Returns whether a request asks for a part of a publication that the origin of uploaded content serves: frames and the
 * files that they load.
 */
const isFramed = ({ path, query }: Context): boolean =>
  path.startsWith(READERS) && (query.frame !== undefined || /^\/p\/[^/]+\/files\//.test(path));

function belowReaders(ctx: Context, parts: ReaderParts): Place {
  const rest = ctx.path.slice(READERS.length);
  const end = rest.indexOf('/');
  return end < 0 ? placeOf(ctx, parts, rest, '') : placeOf(ctx, parts, rest.slice(0, end), rest.slice(end + 1));
}

function placeOf(ctx: Context, { cookie, hostOf }: ReaderParts, slug: string, rest: string): Place {
  const host = hostOf(ctx);
  const proof = cookie.read(ctx);
  // A frame is on another host, or has an opaque origin, so neither the frame nor its files get cookies. A pass in the
  // address replaces them.
  const pass = typeof ctx.query.pass === 'string' ? ctx.query.pass.slice(0, MAX_PASS) : undefined;
  return {
    address: { host, slug, proof, pass },
    key: `${host}\n${slug}\n${proof ?? ''}`,
    path: trimmed(rest),
  };
}

/** Maximum number of characters of a pass that are read. Actual passes are shorter. */
const MAX_PASS = 100;

/** Decodes a path. A malformed path is returned unchanged and matches nothing. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** Returns a function that determines whether a host is the domain of a publication. */
function createDomains(parts: ReaderParts): (ctx: Context, host: string) => Promise<boolean> {
  const kinds = new LRUCache<string, HostKind>({ ...maxEntries(MAX_HOSTS), ttl: HOST_MS });
  return async (ctx, host) => {
    let kind = kinds.get(host);
    if (kind === undefined) {
      const address = { host, slug: '', proof: undefined, pass: undefined };
      kind = (await parts.revisions.ask(`${host}\n\n`, address, callOf(ctx, parts))).hostKind;
      kinds.set(host, kind);
    }
    return kind === HostKind.DOMAIN;
  };
}

/** Serves the target of a share link. Only the reader's browser may cache the answer. */
async function serveShared(ctx: Context, parts: ReaderParts): Promise<void> {
  const program = isRead(ctx) && wantsJson(ctx);
  try {
    const place = await sharePlace(ctx, parts, ctx.path, trimmed);
    const json = program && ctx.query.format === undefined && fileOf(place.path) === undefined;
    await (json ? serveJson(ctx, parts, place) : serve(ctx, parts, place));
  } catch (thrown) {
    if (program) throw thrown;
    fail(ctx, thrown);
  } finally {
    keepSecret(ctx);
  }
}

/**
 * Handles a share link that is used with its address in the API without a credential. Redirects browsers to the page,
 * and answers programs if the link is open to everybody. Returns false without answering if the API has to answer.
 */
async function serveAddressInApi(ctx: Context, parts: ReaderParts): Promise<boolean> {
  const page = sharedPageOf(ctx);
  if (page === undefined) return false;
  ctx.vary('Accept');
  if (ctx.accepts('json', 'html') === 'html') {
    sendElsewhere(ctx, page);
    return true;
  }
  const place = await sharePlace(ctx, parts, page, trimmed);
  // The API itself answers signed-in people.
  if (place.address.viewerId !== '' || !(await answerAnyone(ctx, parts, place))) return false;
  keepSecret(ctx);
  return true;
}

const isRead = ({ method }: Context): boolean => method === 'GET' || method === 'HEAD';

/** Returns a path without slashes at its end. A pattern would take the square of the length of a path of slashes. */
function trimmed(path: string): string {
  let end = path.length;
  while (path[end - 1] === '/') end--;
  return decoded(path.slice(0, end));
}

async function serve(ctx: Context, parts: ReaderParts, place: Place): Promise<void> {
  try {
    if (ctx.method === 'POST' && place.shared === undefined && !isBytesHost(parts, place.address.host))
      return await checkPassword(ctx, parts, place);
    if (!isRead(ctx)) return refuseMethod(ctx);
    const fileId = fileOf(place.path);
    if (fileId !== undefined) return await serveFile(ctx, parts, place, fileId);
    const { q } = ctx.query;
    if (typeof q === 'string' && q.trim() !== '') {
      return await parts.limitSearches(ctx, () => shared(ctx, parts, () => serveSearch(ctx, parts, place, q)));
    }
    return await shared(ctx, parts, () => servePage(ctx, parts, place));
  } catch (thrown) {
    fail(ctx, thrown);
  }
}

/** Answers a request within the share of the reader's network. */
function shared(ctx: Context, { share }: ReaderParts, answer: () => Promise<void>): Promise<void> {
  return share(ctx, answer, () => ctx.length ?? 0);
}

function refuseMethod(ctx: Context): void {
  ctx.set('Allow', 'GET, HEAD, POST');
  sendOnce(ctx, 405, failurePage('This can only be read.'));
}

function fail(ctx: Context, thrown: unknown): void {
  const error = asAppError(thrown);
  const { status } = httpError(error);
  if (status === 500) ctx.app.emit('error', error.cause ?? error, ctx);
  if (isRetryable(error)) ctx.set('Retry-After', String(error.retryAfter ?? 1));
  sendOnce(
    ctx,
    status,
    failurePage(status < 500 ? error.message : 'The page cannot be shown now. Try again in a moment.'),
  );
}

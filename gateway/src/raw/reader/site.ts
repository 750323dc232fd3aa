import { asAppError } from '@commonplace/kit/errors';
import { HostKind } from '@commonplace/proto/resources/v1/reader_service.js';
import type { Context, Middleware } from 'koa';
import { LRUCache } from 'lru-cache';
import { failurePage } from '../../pages/reader/plain.js';
import { httpError, isRetryable } from '../../status.js';
import { fileOf, serveFile } from './files.js';
import { servePage } from './page.js';
import { callOf, type Place, type ReaderParts } from './parts.js';
import { takePassword } from './password.js';
import { serveRobots, serveSitemap } from './robots.js';
import { serveSearch } from './search.js';
import { sendOnce } from './send.js';

const READERS = '/p/';
/** Milliseconds for which a host name is taken for what it was. */
const HOST_MS = 5000;
const MAX_HOSTS = 1000;

/**
 * Serves what is published: below `/p/` under the server's own names, and all of a publication's own domain. What is
 * neither goes on.
 */
export function createReaderSite(parts: ReaderParts): Middleware {
  const own = hostOf(parts.publicUrl);
  const content = parts.contentUrl === undefined ? undefined : hostOf(parts.contentUrl);
  const bytesAlone = content !== undefined && content !== own;
  const isDomain = createDomains(parts);

  return async (ctx, next) => {
    const { path } = ctx;
    if (bytesAlone && ctx.host === content) return isFramed(ctx) ? serve(ctx, parts, belowReaders(ctx, parts)) : next();
    const foreign = ctx.host !== own && MAY_BE_DOMAIN.test(ctx.host) && !SHARED.test(path);
    if (foreign && (await isDomain(ctx))) {
      if (path === '/robots.txt') return serveRobots(ctx, parts);
      if (path === '/sitemap.xml') return serveSitemap(ctx, parts);
      return serve(ctx, parts, placeOf(ctx, parts, '', path.slice(1)));
    }
    if (path.startsWith(READERS)) return serve(ctx, parts, belowReaders(ctx, parts));
    if (path === '/robots.txt') return serveRobots(ctx, parts);
    if (path === '/sitemap.xml') return serveSitemap(ctx, parts);
    return next();
  };
}

/** A name with a dot that is no number: addresses of machines are nobody's domain. */
const MAY_BE_DOMAIN = /^(?=.*[a-z])[a-z\d-]+(?:\.[a-z\d-]+)+(?::\d+)?$/i;
/** What is served under every host. */
const SHARED = /^\/(?:assets|health)\//;

const hostOf = (url: string): string => new URL(url).host;

/** What the origin of users' bytes shows of publications: frames, and what they load. */
const isFramed = ({ path, query }: Context): boolean =>
  path.startsWith(READERS) && (query.frame !== undefined || /^\/p\/[^/]+\/files\//.test(path));

function belowReaders(ctx: Context, parts: ReaderParts): Place {
  const rest = ctx.path.slice(READERS.length);
  const end = rest.indexOf('/');
  return end < 0 ? placeOf(ctx, parts, rest, '') : placeOf(ctx, parts, rest.slice(0, end), rest.slice(end + 1));
}

function placeOf(ctx: Context, { cookie }: ReaderParts, slug: string, rest: string): Place {
  const { host } = ctx;
  // A frame is on another host, where the cookie does not come.
  const given = typeof ctx.query.proof === 'string' && ctx.query.frame !== undefined ? ctx.query.proof : undefined;
  const proof = given ?? cookie.read(ctx);
  return {
    address: { host, slug, proof },
    key: `${host}\n${slug}\n${proof ?? ''}`,
    path: decoded(rest.replace(/\/+$/, '')),
  };
}

/** What can't be decoded is the path of nothing. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** Whether a host is the domain of a publication. */
function createDomains(parts: ReaderParts): (ctx: Context) => Promise<boolean> {
  const kinds = new LRUCache<string, HostKind>({ max: MAX_HOSTS, ttl: HOST_MS });
  return async (ctx) => {
    const { host } = ctx;
    let kind = kinds.get(host);
    if (kind === undefined) {
      const address = { host, slug: '', proof: undefined };
      kind = (await parts.revisions.ask(`${host}\n\n`, address, callOf(ctx, parts))).hostKind;
      kinds.set(host, kind);
    }
    return kind === HostKind.DOMAIN;
  };
}

async function serve(ctx: Context, parts: ReaderParts, place: Place): Promise<void> {
  try {
    if (ctx.method === 'POST') return await takePassword(ctx, parts, place);
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') return refuseMethod(ctx);
    const fileId = fileOf(place.path);
    if (fileId !== undefined) return await serveFile(ctx, parts, place, fileId);
    const { q } = ctx.query;
    if (typeof q === 'string' && q.trim() !== '') return await serveSearch(ctx, parts, place, q);
    return await servePage(ctx, parts, place);
  } catch (thrown) {
    fail(ctx, thrown);
  }
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
    failurePage(status < 500 ? error.message : 'The page can not be shown now. Try again in a moment.'),
  );
}

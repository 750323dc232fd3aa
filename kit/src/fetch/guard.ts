import { type LookupAddress, lookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import type { Agent, Dispatcher } from 'undici';
import { lazyLibrary } from '../library/index.js';
import { observeRequest } from '../telemetry/http-client.js';
import { isPublicAddress } from './address.js';
import { readUrlList } from './url-list.js';

const undici = lazyLibrary<typeof import('undici')>('undici', import.meta.url);

/** Thrown for a URL that must not be called. The message gives the reason to the person who entered the URL. */
export class UrlNotAllowed extends Error {
  constructor(why: string) {
    super(why);
    this.name = 'UrlNotAllowed';
  }
}

export interface GuardOptions {
  /** Hosts for which http and addresses that are not public are allowed: `wiki.intern`, `*.lab.example`. */
  readonly allowlist?: readonly string[];
  /** URLs of this installation itself, whose hosts are refused unless the allowlist names them. */
  readonly ownUrls?: readonly string[];
  /** Replaces the system's resolver in tests. */
  readonly resolve?: (host: string) => Promise<LookupAddress[]>;
  /** Milliseconds without a byte after which a call fails; 30,000 when absent. */
  readonly idleMs?: number;
}

interface FetchOptions {
  readonly method?: Dispatcher.HttpMethod;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** Maximum number of redirects to follow, each checked like the first URL; 3 when absent. One more is refused. */
  readonly redirects?: number;
  /** Returns a redirect response instead of following it. */
  readonly manual?: boolean;
  readonly signal?: AbortSignal;
}

/** A response, whose body must be read or destroyed. */
export interface Fetched {
  /** URL of the response, after all redirects. */
  readonly url: URL;
  readonly status: number;
  readonly headers: Dispatcher.ResponseData['headers'];
  readonly body: Dispatcher.ResponseData['body'];
}

/**
 * Calls URLs that users have entered. Only https without credentials is allowed, to ports 80, 443 and 1024 and above,
 * and to public addresses. A host name is resolved once, every address is checked, and the connection goes to one of
 * them. Each redirect is checked again.
 */
export interface Guard {
  /** Parses a URL and checks everything that does not need DNS. Throws `UrlNotAllowed`. */
  check(url: string): URL;
  fetch(url: string, options?: FetchOptions): Promise<Fetched>;
}

/** A guard with its own connections. */
export interface OpenGuard extends Guard {
  /**
   * Returns a guard that allows of these URLs only those that an Org's list names, also in redirects. It uses the
   * connections of this one. An empty list allows all.
   */
  narrowedTo(list: readonly string[]): Guard;
  close(): Promise<void>;
}

const BY_OPERATOR = 'The operator can allow its host by COMMONPLACE_URL_ALLOWLIST.';
const OWN_ADDRESS = `The URL leads to this service itself. ${BY_OPERATOR}`;
const NOT_LISTED = 'The URL is not in the url_allowlist of the Org. Its administrators can add the host.';
const NOT_PUBLIC = `The URL leads to an address that is not public. ${BY_OPERATOR}`;
const CONNECT_MS = 5000;
const IDLE_MS = 30_000;
const REDIRECTS = 3;
/** Maximum number of bytes of a redirect's body that are read and discarded. */
const REDIRECT_BYTES = 64 * 1024;
const REDIRECT_STATUSES: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Names that resolve to the own network or machine by convention (RFC 6761, 6762, 8375, 9476). */
const LOCAL_NAMES = /(^|\.)(localhost|local|internal|intranet|home\.arpa|lan|corp|home|alt|onion|test|invalid)$/;

export function openGuard({
  allowlist = [],
  ownUrls = [],
  resolve = resolveAll,
  idleMs = IDLE_MS,
}: GuardOptions = {}): OpenGuard {
  const isAllowlisted = (host: string) => allowlist.some((pattern) => matches(host, pattern.toLowerCase()));
  const ownHosts = new Set(ownUrls.map((url) => hostOf(new URL(url))));

  const check = (text: string): URL => {
    if (!URL.canParse(text)) throw new UrlNotAllowed('The URL is not absolute.');
    const url = new URL(text);
    const host = hostOf(url);
    const listed = isAllowlisted(host);
    if (url.protocol !== 'https:' && !(url.protocol === 'http:' && listed)) {
      throw new UrlNotAllowed(`Only https URLs are allowed. ${BY_OPERATOR}`);
    }
    if (url.username !== '' || url.password !== '') throw new UrlNotAllowed('A URL must not contain credentials.');
    const port = Number(url.port || 443);
    if (port < 1024 && port !== 80 && port !== 443) throw new UrlNotAllowed(`Port ${port} is not allowed.`);
    if (listed) return url;
    if (ownHosts.has(host)) throw new UrlNotAllowed(OWN_ADDRESS);
    if (isIP(host) !== 0 ? !isPublicAddress(host) : LOCAL_NAMES.test(host) || !host.includes('.')) {
      throw new UrlNotAllowed(NOT_PUBLIC);
    }
    return url;
  };

  let opened: Agent | undefined;
  const agent = (): Agent => {
    opened ??= new (undici().Agent)({
      connect: { timeout: CONNECT_MS, lookup: checkedLookup(resolve, isAllowlisted) },
      headersTimeout: idleMs,
      bodyTimeout: idleMs,
      // Each connection goes to a checked address and is not reused.
      pipelining: 0,
    });
    return opened;
  };

  const guardBy = (check: Guard['check']): Guard => ({
    check,
    async fetch(text, { method = 'GET', headers = {}, body, redirects = REDIRECTS, manual, signal } = {}) {
      let url = check(text);
      for (let left = redirects; ; left--) {
        const answer = await observeRequest(method, url.hostname, (trace) => {
          const requestOptions = { dispatcher: agent(), method, headers: { ...headers, ...trace }, body, signal };
          return undici().request(url, requestOptions).catch(unwrapped);
        });
        // Destroying a body that has no reader yet emits an error event, which would end the process.
        answer.body.on('error', () => {});
        const location = answer.headers.location;
        if (manual || !REDIRECT_STATUSES.has(answer.statusCode) || typeof location !== 'string') {
          return { url, status: answer.statusCode, headers: answer.headers, body: answer.body };
        }
        await answer.body.dump({ limit: REDIRECT_BYTES });
        if (left <= 0) throw new UrlNotAllowed('The URL redirects too many times.');
        url = check(new URL(location, url).href);
      }
    },
  });

  const unnarrowed = guardBy(check);
  return {
    ...unnarrowed,
    narrowedTo(list) {
      if (list.length === 0) return unnarrowed;
      const names = readUrlList(list);
      return guardBy((text) => {
        const url = check(text);
        if (!names(url)) throw new UrlNotAllowed(NOT_LISTED);
        return url;
      });
    },
    close: async () => opened?.destroy(),
  };
}

/** Creates a lookup that fails if any address of a name is not public. */
function checkedLookup(
  resolve: (host: string) => Promise<LookupAddress[]>,
  isAllowlisted: (host: string) => boolean,
): LookupFunction {
  return (host, { all }, done) => {
    resolve(host).then(
      (addresses) => {
        const refused = !isAllowlisted(host) && addresses.some(({ address }) => !isPublicAddress(address));
        const [first] = addresses;
        if (refused || first === undefined) done(new UrlNotAllowed(NOT_PUBLIC), '');
        else if (all) done(null, addresses);
        else done(null, first.address, first.family);
      },
      (error: Error) => done(error, ''),
    );
  };
}

function resolveAll(host: string): Promise<LookupAddress[]> {
  return new Promise((resolve, reject) => {
    lookup(host, { all: true, verbatim: true }, (error, addresses) => (error ? reject(error) : resolve(addresses)));
  });
}

/** Throws the lookup's own error, which arrives wrapped. */
function unwrapped(error: Error): never {
  throw error.cause instanceof UrlNotAllowed ? error.cause : error;
}

/** Returns a URL's host name in lower case without a final dot; an IPv6 address without brackets. */
function hostOf(url: URL): string {
  return url.hostname
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '');
}

function matches(host: string, pattern: string): boolean {
  return pattern.startsWith('*.') ? host.endsWith(pattern.slice(1)) : host === pattern;
}

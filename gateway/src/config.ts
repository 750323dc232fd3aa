import { flag, integer, list, type Table, text, url, type Values } from '@commonplace/kit/config';
import { parseRateLimits } from './middleware/policies.js';

export const config = {
  host: {
    variable: 'COMMONPLACE_HOST',
    help: 'address that the HTTP server listens on',
    parse: text,
    fallback: '127.0.0.1',
  },
  port: {
    variable: 'COMMONPLACE_PORT',
    help: 'port that the HTTP server listens on',
    parse: integer(0, 65535),
    fallback: 8080,
  },
  publicUrl: {
    variable: 'COMMONPLACE_PUBLIC_URL',
    help: 'URL that clients reach this server by; http only on loopback',
    parse: url('http', 'https'),
    fallback: 'http://127.0.0.1:8080',
  },
  contentUrl: {
    variable: 'COMMONPLACE_CONTENT_URL',
    help: 'URL of the same server under another host name, for users’ bytes alone; what can script is shown only there',
    parse: url('http', 'https'),
    fallback: undefined as string | undefined,
  },
  insecureHttp: {
    variable: 'COMMONPLACE_INSECURE_HTTP',
    help: '1 allows an http public URL elsewhere than on loopback',
    parse: flag,
    fallback: false,
  },
  trustedProxies: {
    variable: 'COMMONPLACE_TRUSTED_PROXIES',
    help: "addresses or networks of proxies whose X-Forwarded-For is believed, e.g. '10.0.0.0/8'",
    parse: list,
    fallback: [] as string[],
  },
  rateLimits: {
    variable: 'COMMONPLACE_RATE_LIMITS',
    help: "'off', or requests a minute by policy: 'search=off,write=6000'",
    parse: parseRateLimits,
    fallback: parseRateLimits(''),
  },
  bodyBytes: {
    variable: 'COMMONPLACE_BODY_BYTES',
    help: 'most bytes of a JSON body',
    parse: integer(1024, 64 * 1024 * 1024),
    fallback: 10 * 1024 * 1024,
  },
  fileBytes: {
    variable: 'COMMONPLACE_FILE_BYTES',
    help: 'most bytes of one file, as the files service takes them',
    parse: integer(1, Number.MAX_SAFE_INTEGER),
    fallback: 5 * 1024 * 1024 * 1024,
  },
  inlineFileBytes: {
    variable: 'COMMONPLACE_INLINE_FILE_BYTES',
    help: 'most bytes of a file that comes in the request itself, as the files service takes them',
    parse: integer(1, Number.MAX_SAFE_INTEGER),
    fallback: 5 * 1024 * 1024,
  },
  pageCacheBytes: {
    variable: 'COMMONPLACE_PAGE_CACHE_BYTES',
    help: 'most bytes of published pages that a gateway keeps as they were rendered',
    parse: integer(0, 4 * 1024 * 1024 * 1024),
    fallback: 32 * 1024 * 1024,
  },
  requestTimeoutMs: {
    variable: 'COMMONPLACE_REQUEST_TIMEOUT_MS',
    help: 'milliseconds that a request may take',
    parse: integer(100, 600_000),
    fallback: 20_000,
  },
  searchTimeoutMs: {
    variable: 'COMMONPLACE_SEARCH_TIMEOUT_MS',
    help: 'milliseconds that a search may take',
    parse: integer(100, 600_000),
    fallback: 10_000,
  },
} satisfies Table;

export type Settings = Values<typeof config>;

import { defineSettings, flag, integer, list, shaped, text, type Values } from '@commonplace/kit/config';
import { IPV6_PREFIX } from '@commonplace/kit/network';
import { CONTENT_URL, PUBLIC_URL } from '@commonplace/platform/settings';
import { parseAccessLog } from './access-share.js';
import { POLICY_NAMES, parseRateLimits } from './rate-limits.js';
import { parseProxies } from './trusted-proxies.js';

const POLICY = `(${POLICY_NAMES.join('|')})=(off|[1-9][0-9]{0,8})`;

const HOST_NAME = '[A-Za-z0-9.-]+';
const hostNames = shaped({ kind: 'text', pattern: `${HOST_NAME}( *, *${HOST_NAME})*` }, (value: string) =>
  list(value).map((name) => name.toLowerCase()),
);

export const config = defineSettings({
  host: {
    common: 'address that the HTTP server listens on',
    help: 'address that the HTTP server listens on',
    parse: text,
    fallback: '127.0.0.1',
  },
  port: { common: 'its port', help: 'port that the HTTP server listens on', parse: integer(0, 65535), fallback: 8080 },
  publicUrl: {
    ...PUBLIC_URL,
    common: 'URL that people reach it by',
    help: 'URL that clients reach this server by; http only on loopback',
  },
  contentUrl: CONTENT_URL,
  insecureHttp: {
    common: '1: http without TLS is fine',
    help: '1 allows an http public URL elsewhere than on loopback',
    parse: flag,
    fallback: false,
  },
  trustedProxies: {
    common: 'proxies to believe X-Forwarded-For of',
    help: "addresses or networks of proxies whose X-Forwarded-For is believed, e.g. '10.0.0.0/8'",
    parse: parseProxies,
    fallback: [] as string[],
  },
  trustTraceparent: {
    help: '1 lets the proxies in COMMONPLACE_TRUSTED_PROXIES decide by traceparent which requests are traced; they must set it themselves',
    parse: flag,
    fallback: false,
  },
  accessLog: {
    common: 'requests in the log: off, on, 0 to 1',
    help: 'share of requests with a line in the log: off, on, or 0 to 1; those that fail or are slow have one in any case',
    parse: parseAccessLog,
    fallback: 0,
  },
  ipv6Prefix: IPV6_PREFIX,
  rateLimits: {
    help: "'off', or requests a minute by policy, and open or waiting ones for concurrent, streams, tenant_streams and tenant_waiting: 'search=off,write=6000'",
    parse: shaped({ kind: 'text', pattern: `off|${POLICY}(,${POLICY})*` }, parseRateLimits),
    fallback: parseRateLimits(''),
  },
  shareUtilization: {
    help: 'percent of its time that a gateway, or a service that it calls, may work before tenants wait for their share; at 100 they never wait',
    parse: integer(1, 100),
    fallback: 80,
  },
  shareBytes: {
    help: 'bytes a second of bodies and answers above 64 KiB that one tenant gets while a gateway is busy and serves others too',
    parse: integer(1024, Number.MAX_SAFE_INTEGER),
    fallback: 10 * 1024 * 1024,
  },
  unreadBytes: {
    help: 'maximum bytes in memory that clients of one Org, or of one network without a credential, have not read yet',
    parse: integer(1024, Number.MAX_SAFE_INTEGER),
    fallback: 256 * 1024 * 1024,
  },
  bodyBytes: {
    help: 'maximum bytes of a JSON body',
    parse: integer(1024, 64 * 1024 * 1024),
    fallback: 10 * 1024 * 1024,
  },
  bodyThreads: {
    help: 'threads that read JSON bodies above 64 KiB; one Org takes all but one of them',
    parse: integer(1, 64),
    fallback: 2,
  },
  bodiesWaiting: {
    help: 'maximum JSON bodies above 64 KiB of one Org that wait for a thread',
    parse: integer(1, 100_000),
    fallback: 32,
  },
  batchCalls: { help: 'maximum calls of one batch', parse: integer(1, 50), fallback: 50 },
  batchBodyBytes: {
    help: 'maximum bytes of the body of a batch, with the bodies of all its calls',
    parse: integer(1024, 64 * 1024 * 1024),
    fallback: 1024 * 1024,
  },
  batchAnswerBytes: {
    help: 'maximum bytes of the answer of one call in a batch; a larger one is left out',
    parse: integer(4096, 64 * 1024 * 1024),
    fallback: 1024 * 1024,
  },
  batchAnswersBytes: {
    help: 'maximum bytes of all answers of a batch, of which those up to 4 KiB do not count; what exceeds it is left out',
    parse: integer(4096, 64 * 1024 * 1024),
    fallback: 4 * 1024 * 1024,
  },
  mcpBodyBytes: {
    help: 'maximum bytes of one message to the MCP server',
    parse: integer(1024, 1024 * 1024),
    fallback: 128 * 1024,
  },
  mcpResultChars: {
    help: 'maximum characters of text that a tool of the MCP server answers; the rest is cut off, which the text says',
    parse: integer(2_000, 1_000_000),
    fallback: 40_000,
  },
  mcpWaitSeconds: {
    help: 'seconds that a tool of the MCP server waits for a run before it answers that the run goes on',
    parse: integer(0, 600),
    fallback: 45,
  },
  mcpHosts: {
    help: 'host names besides that of COMMONPLACE_PUBLIC_URL by which the MCP server may be reached, comma-separated',
    parse: hostNames,
    fallback: [] as string[],
  },
  mcpOrigins: {
    help: 'host names of web sites whose pages may use the MCP server from a browser, comma-separated',
    parse: hostNames,
    fallback: [] as string[],
  },
  fileBytes: {
    help: 'maximum bytes of one file, as the files service takes them',
    parse: integer(1, Number.MAX_SAFE_INTEGER),
    fallback: 5 * 1024 * 1024 * 1024,
  },
  inlineFileBytes: {
    help: 'maximum bytes of a file that comes in the request itself, as the files service takes them',
    parse: integer(1, Number.MAX_SAFE_INTEGER),
    fallback: 5 * 1024 * 1024,
  },
  pageCacheBytes: {
    help: 'maximum bytes of rendered published pages that a gateway caches',
    parse: integer(0, 4 * 1024 * 1024 * 1024),
    fallback: 32 * 1024 * 1024,
  },
  requestTimeoutMs: { help: 'milliseconds that a request may take', parse: integer(100, 600_000), fallback: 20_000 },
  streamMs: {
    help: 'milliseconds that a stream of server-sent events may last; its client comes back by itself',
    parse: integer(1_000, 86_400_000),
    fallback: 3_600_000,
  },
  searchTimeoutMs: { help: 'milliseconds that a search may take', parse: integer(100, 600_000), fallback: 10_000 },
});

export type Settings = Values<typeof config>;

import { defineSettings, flag, integer, list, shaped, text, type Values, wholeNumber } from '@commonplace/kit/config';
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
  shareUtilization: wholeNumber(
    80,
    [1, 100],
    'percent of its time that a gateway, or a service that it calls, may work before tenants wait for their share; at 100 they never wait',
  ),
  shareBytes: wholeNumber(
    10 * 1024 * 1024,
    [1024, Number.MAX_SAFE_INTEGER],
    'bytes a second of bodies and answers above 64 KiB that one tenant gets while a gateway is busy and serves others too',
  ),
  unreadBytes: wholeNumber(
    256 * 1024 * 1024,
    [1024, Number.MAX_SAFE_INTEGER],
    'maximum bytes in memory that clients of one Org, or of one network without a credential, have not read yet',
  ),
  bodyBytes: wholeNumber(10 * 1024 * 1024, [1024, 64 * 1024 * 1024], 'maximum bytes of a JSON body'),
  bodyThreads: wholeNumber(2, [1, 64], 'threads that read JSON bodies above 64 KiB; one Org takes all but one of them'),
  bodiesWaiting: wholeNumber(32, [1, 100_000], 'maximum JSON bodies above 64 KiB of one Org that wait for a thread'),
  batchCalls: wholeNumber(50, [1, 50], 'maximum calls of one batch'),
  batchBodyBytes: wholeNumber(
    1024 * 1024,
    [1024, 64 * 1024 * 1024],
    'maximum bytes of the body of a batch, with the bodies of all its calls',
  ),
  batchAnswerBytes: wholeNumber(
    1024 * 1024,
    [4096, 64 * 1024 * 1024],
    'maximum bytes of the answer of one call in a batch; a larger one is left out',
  ),
  batchAnswersBytes: wholeNumber(
    4 * 1024 * 1024,
    [4096, 64 * 1024 * 1024],
    'maximum bytes of all answers of a batch, of which those up to 4 KiB do not count; what exceeds it is left out',
  ),
  mcpBodyBytes: wholeNumber(128 * 1024, [1024, 1024 * 1024], 'maximum bytes of one message to the MCP server'),
  mcpResultChars: wholeNumber(
    40_000,
    [2_000, 1_000_000],
    'maximum characters of text that a tool of the MCP server answers; the rest is cut off, which the text says',
  ),
  mcpWaitSeconds: wholeNumber(
    45,
    [0, 600],
    'seconds that a tool of the MCP server waits for a run before it answers that the run goes on',
  ),
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
  fileBytes: wholeNumber(
    5 * 1024 * 1024 * 1024,
    [1, Number.MAX_SAFE_INTEGER],
    'maximum bytes of one file, as the files service takes them',
  ),
  inlineFileBytes: wholeNumber(
    5 * 1024 * 1024,
    [1, Number.MAX_SAFE_INTEGER],
    'maximum bytes of a file that comes in the request itself, as the files service takes them',
  ),
  pageCacheBytes: wholeNumber(
    32 * 1024 * 1024,
    [0, 4 * 1024 * 1024 * 1024],
    'maximum bytes of rendered published pages that a gateway caches',
  ),
  requestTimeoutMs: wholeNumber(20_000, [100, 600_000], 'milliseconds that a request may take'),
  streamMs: wholeNumber(
    3_600_000,
    [1_000, 86_400_000],
    'milliseconds that a stream of server-sent events may last; its client comes back by itself',
  ),
  searchTimeoutMs: wholeNumber(10_000, [100, 600_000], 'milliseconds that a search may take'),
});

export type Settings = Values<typeof config>;

import { isIP } from 'node:net';
import { integer, list, shaped, type Table, type Values } from '@commonplace/kit/config';
import { IPV4_PATTERN, IPV6_PATTERN, IPV6_PREFIX } from '@commonplace/kit/network';
import { SECRETS_KEY } from '@commonplace/kit/secrets';
import { OUTGOING_SETTINGS } from '@commonplace/platform/settings';

function dnsServer(address: string): string {
  const host = /^\[(.+)\](?::\d+)?$/.exec(address)?.[1] ?? address.replace(/^([\d.]+):\d+$/, '$1');
  if (isIP(host) === 0) throw new Error('must be IP addresses, such as 192.0.2.53 or [2001:db8::53]:53');
  return address;
}

const SERVER = `(${IPV4_PATTERN}(:[0-9]{1,5})?|\\[${IPV6_PATTERN}\\](:[0-9]{1,5})?|${IPV6_PATTERN})`;

export const config = {
  documentBytes: {
    variable: 'COMMONPLACE_DOCUMENT_BYTES',
    help: 'maximum bytes of one document as Markdown',
    parse: integer(1024, 10 * 1024 * 1024),
    fallback: 5 * 1024 * 1024,
  },
  documentJsonBytes: {
    variable: 'COMMONPLACE_DOCUMENT_JSON_BYTES',
    help: 'maximum bytes of one document as JSON',
    parse: integer(1024, 10 * 1024 * 1024),
    fallback: 8 * 1024 * 1024,
  },
  documentThreads: {
    variable: 'COMMONPLACE_DOCUMENT_THREADS',
    help: 'threads that parse documents and match the patterns of forms; one Org uses at most all but one of them',
    parse: integer(1, 64),
    fallback: 2,
  },
  documentSeconds: {
    variable: 'COMMONPLACE_DOCUMENT_SECONDS',
    help: 'maximum seconds for parsing a document once, without its wait for a thread; less than the timeout of a request',
    parse: integer(1, 300),
    fallback: 10,
  },
  documentsWaiting: {
    variable: 'COMMONPLACE_DOCUMENTS_WAITING',
    help: 'maximum number of long documents of one Org that wait for a thread to parse them',
    parse: integer(1, 100_000),
    fallback: 200,
  },
  snapshotDays: {
    variable: 'COMMONPLACE_SNAPSHOT_DAYS',
    help: 'days for which automatic snapshots are kept',
    parse: integer(1, 3650),
    fallback: 30,
  },
  workspaceResources: {
    variable: 'COMMONPLACE_WORKSPACE_RESOURCES',
    help: 'maximum number of resources in one workspace',
    parse: integer(1, 100_000_000),
    fallback: 1_000_000,
  },
  children: {
    variable: 'COMMONPLACE_CHILDREN',
    help: 'maximum number of children of one resource',
    parse: integer(1, 1_000_000),
    fallback: 10_000,
  },
  tableRows: {
    variable: 'COMMONPLACE_TABLE_ROWS',
    help: 'maximum number of rows in one table',
    parse: integer(1, 1_000_000),
    fallback: 200_000,
  },
  tableCacheBytes: {
    variable: 'COMMONPLACE_TABLE_CACHE_BYTES',
    help: 'bytes of memory that cache the rows of tables',
    parse: integer(1024 * 1024, 64 * 1024 * 1024 * 1024),
    fallback: 256 * 1024 * 1024,
  },
  tableThreads: {
    variable: 'COMMONPLACE_TABLE_THREADS',
    help: 'threads that read the rows of large writes to tables; one Org uses at most all but one of them',
    parse: integer(1, 64),
    fallback: 2,
  },
  tableSeconds: {
    variable: 'COMMONPLACE_TABLE_SECONDS',
    help: 'maximum seconds for reading the rows of one large write, without its wait for a thread; less than the timeout of a request',
    parse: integer(1, 300),
    fallback: 10,
  },
  tablesWaiting: {
    variable: 'COMMONPLACE_TABLES_WAITING',
    help: 'maximum number of large writes to tables of one Org that wait for a thread',
    parse: integer(1, 100_000),
    fallback: 200,
  },
  inlineSubtree: {
    variable: 'COMMONPLACE_INLINE_SUBTREE',
    help: 'maximum number of resources in a subtree that a move, restriction or deletion rewrites within the request',
    parse: integer(1, 10_000),
    fallback: 1000,
  },
  inlineCopy: {
    variable: 'COMMONPLACE_INLINE_COPY',
    help: 'maximum number of resources that a copy creates within the request',
    parse: integer(1, 1000),
    fallback: 200,
  },
  copyResources: {
    variable: 'COMMONPLACE_COPY_RESOURCES',
    help: 'maximum number of resources in one copy',
    parse: integer(1, 1_000_000),
    fallback: 100_000,
  },
  inlinePurge: {
    variable: 'COMMONPLACE_INLINE_PURGE',
    help: 'maximum number of resources that emptying the trash deletes within the request',
    parse: integer(1, 10_000),
    fallback: 500,
  },
  inlineTagged: {
    variable: 'COMMONPLACE_INLINE_TAGGED',
    help: 'maximum number of resources that deleting or merging a tag rewrites within the request',
    parse: integer(0, 1000),
    fallback: 200,
  },
  treeJobTries: {
    variable: 'COMMONPLACE_TREE_JOB_TRIES',
    help: 'failures after which a background job on resources is given up',
    parse: integer(1, 1000),
    fallback: 12,
  },
  accessRequests: {
    variable: 'COMMONPLACE_ACCESS_REQUESTS_PER_HOUR',
    help: 'maximum number of access requests of one person in an hour',
    parse: integer(1, 1_000_000),
    fallback: 30,
  },
  auditRestrictedMinutes: {
    variable: 'COMMONPLACE_AUDIT_RESTRICTED_MINUTES',
    help: 'minutes in which the audit log records once that an administrator without a grant opens a restricted resource',
    parse: integer(1, 24 * 60),
    fallback: 60,
  },
  captchaBits: {
    variable: 'COMMONPLACE_CAPTCHA_BITS',
    help: 'work that a form with a captcha requires, as leading zero bits of a hash; each bit doubles it',
    parse: integer(1, 28),
    fallback: 18,
  },
  captchaMinutes: {
    variable: 'COMMONPLACE_CAPTCHA_MINUTES',
    help: 'minutes for which the challenge of a captcha can be solved',
    parse: integer(1, 24 * 60),
    fallback: 120,
  },
  passwordTries: {
    variable: 'COMMONPLACE_PUBLICATION_PASSWORD_TRIES',
    help: 'maximum number of wrong passwords for one publication from one network in 10 minutes',
    parse: integer(1, 1_000_000),
    fallback: 10,
  },
  passwordTriesTotal: {
    variable: 'COMMONPLACE_PUBLICATION_PASSWORD_TRIES_TOTAL',
    help: 'maximum number of wrong passwords for one publication from all networks in an hour; browsers that have opened it before are exempt',
    parse: integer(1, 1_000_000),
    fallback: 100,
  },
  ipv6Prefix: IPV6_PREFIX,
  secretsKey: SECRETS_KEY,
  ...OUTGOING_SETTINGS,
  dnsServers: {
    variable: 'COMMONPLACE_DNS_SERVERS',
    help: 'comma-separated addresses of the DNS servers that look up custom domains, with or without a port; empty: those of the machine',
    parse: shaped({ kind: 'text', pattern: `${SERVER}( *, *${SERVER})*` }, (value: string): readonly string[] =>
      list(value).map(dnsServer),
    ),
    fallback: [] as readonly string[],
  },
} satisfies Table;

export type Settings = Values<typeof config>;

/** Maximum number of levels in a tree; the children of the root are the first level. */
export const MAX_DEPTH = 32;
/** Maximum bytes of a resource's metadata as JSON. */
export const MAX_METADATA_BYTES = 16 * 1024;
/** Maximum bytes of content that one unit of work copies, unless a single content is larger. */
export const MAX_COPIED_BYTES = 16 * 1024 * 1024;
/** Maximum bytes of an artifact's source. */
export const MAX_ARTIFACT_BYTES = 2 * 1024 * 1024;
/** Maximum number of manual snapshots of one resource. */
export const MAX_NAMED_SNAPSHOTS = 500;
/** Maximum number of automatic snapshots of one resource; those of the last day are kept beyond it. */
export const MAX_AUTOMATIC_SNAPSHOTS = 100;

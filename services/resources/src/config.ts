import { isIP } from 'node:net';
import { defineSettings, integer, list, shaped, type Values } from '@commonplace/kit/config';
import { IPV4_PATTERN, IPV6_PATTERN, IPV6_PREFIX } from '@commonplace/kit/network';
import { SECRETS_KEY } from '@commonplace/kit/secrets';
import { OUTGOING_SETTINGS } from '@commonplace/platform/settings';

function dnsServer(address: string): string {
  const host = /^\[(.+)\](?::\d+)?$/.exec(address)?.[1] ?? address.replace(/^([\d.]+):\d+$/, '$1');
  if (isIP(host) === 0) throw new Error('must be IP addresses, such as 192.0.2.53 or [2001:db8::53]:53');
  return address;
}

const SERVER = `(${IPV4_PATTERN}(:[0-9]{1,5})?|\\[${IPV6_PATTERN}\\](:[0-9]{1,5})?|${IPV6_PATTERN})`;

export const config = defineSettings({
  documentBytes: {
    help: 'maximum bytes of one document as Markdown',
    parse: integer(1024, 10 * 1024 * 1024),
    fallback: 5 * 1024 * 1024,
  },
  documentJsonBytes: {
    help: 'maximum bytes of one document as JSON',
    parse: integer(1024, 10 * 1024 * 1024),
    fallback: 8 * 1024 * 1024,
  },
  documentThreads: {
    help: 'threads that parse documents and match the patterns of forms; one Org uses at most all but one of them',
    parse: integer(1, 64),
    fallback: 2,
  },
  documentSeconds: {
    help: 'maximum seconds for parsing a document once, without its wait for a thread; less than the timeout of a request',
    parse: integer(1, 300),
    fallback: 10,
  },
  documentsWaiting: {
    help: 'maximum number of long documents of one Org that wait for a thread to parse them',
    parse: integer(1, 100_000),
    fallback: 200,
  },
  snapshotDays: { help: 'days for which automatic snapshots are kept', parse: integer(1, 3650), fallback: 30 },
  workspaceResources: {
    help: 'maximum number of resources in one workspace',
    parse: integer(1, 100_000_000),
    fallback: 1_000_000,
  },
  children: { help: 'maximum number of children of one resource', parse: integer(1, 1_000_000), fallback: 10_000 },
  tableRows: { help: 'maximum number of rows in one table', parse: integer(1, 1_000_000), fallback: 200_000 },
  tableCacheBytes: {
    help: 'bytes of memory that cache the rows of tables',
    parse: integer(1024 * 1024, 64 * 1024 * 1024 * 1024),
    fallback: 256 * 1024 * 1024,
  },
  tableThreads: {
    help: 'threads that read the rows of large writes to tables; one Org uses at most all but one of them',
    parse: integer(1, 64),
    fallback: 2,
  },
  tableSeconds: {
    help: 'maximum seconds for reading the rows of one large write, without its wait for a thread; less than the timeout of a request',
    parse: integer(1, 300),
    fallback: 10,
  },
  tablesWaiting: {
    help: 'maximum number of large writes to tables of one Org that wait for a thread',
    parse: integer(1, 100_000),
    fallback: 200,
  },
  inlineSubtree: {
    help: 'maximum number of resources in a subtree that a move, restriction or deletion rewrites within the request',
    parse: integer(1, 10_000),
    fallback: 1000,
  },
  inlineCopy: {
    help: 'maximum number of resources that a copy creates within the request',
    parse: integer(1, 1000),
    fallback: 200,
  },
  copyResources: { help: 'maximum number of resources in one copy', parse: integer(1, 1_000_000), fallback: 100_000 },
  inlinePurge: {
    help: 'maximum number of resources that emptying the trash deletes within the request',
    parse: integer(1, 10_000),
    fallback: 500,
  },
  inlineTagged: {
    help: 'maximum number of resources that deleting or merging a tag rewrites within the request',
    parse: integer(0, 1000),
    fallback: 200,
  },
  treeJobTries: {
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
    help: 'minutes in which the audit log records once that an administrator without a grant opens a restricted resource',
    parse: integer(1, 24 * 60),
    fallback: 60,
  },
  captchaBits: {
    help: 'work that a form with a captcha requires, as leading zero bits of a hash; each bit doubles it',
    parse: integer(1, 28),
    fallback: 18,
  },
  captchaMinutes: {
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
    help: 'comma-separated addresses of the DNS servers that look up custom domains, with or without a port; empty: those of the machine',
    parse: shaped({ kind: 'text', pattern: `${SERVER}( *, *${SERVER})*` }, (value: string): readonly string[] =>
      list(value).map(dnsServer),
    ),
    fallback: [] as readonly string[],
  },
});

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

import { isIP } from 'node:net';
import { defineSettings, list, shaped, type Values, wholeNumber } from '@commonplace/kit/config';
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
  documentBytes: wholeNumber(5 * 1024 * 1024, [1024, 10 * 1024 * 1024], 'maximum bytes of one document as Markdown'),
  documentJsonBytes: wholeNumber(8 * 1024 * 1024, [1024, 10 * 1024 * 1024], 'maximum bytes of one document as JSON'),
  documentThreads: wholeNumber(
    2,
    [1, 64],
    'threads that parse documents and match the patterns of forms; one Org uses at most all but one of them',
  ),
  documentSeconds: wholeNumber(
    10,
    [1, 300],
    'maximum seconds for parsing a document once, without its wait for a thread; less than the timeout of a request',
  ),
  documentsWaiting: wholeNumber(
    200,
    [1, 100_000],
    'maximum number of long documents of one Org that wait for a thread to parse them',
  ),
  snapshotDays: wholeNumber(30, [1, 3650], 'days for which automatic snapshots are kept'),
  workspaceResources: wholeNumber(1_000_000, [1, 100_000_000], 'maximum number of resources in one workspace'),
  children: wholeNumber(10_000, [1, 1_000_000], 'maximum number of children of one resource'),
  tableRows: wholeNumber(200_000, [1, 1_000_000], 'maximum number of rows in one table'),
  tableChoices: wholeNumber(
    5000,
    [1, 500_000],
    'maximum number of choices of all columns of one table; each read of the table parses them',
  ),
  tableCacheBytes: wholeNumber(
    256 * 1024 * 1024,
    [1024 * 1024, 64 * 1024 * 1024 * 1024],
    'bytes of memory that cache the rows of tables',
  ),
  tableThreads: wholeNumber(
    2,
    [1, 64],
    'threads that read the rows of large writes to tables; one Org uses at most all but one of them',
  ),
  tableSeconds: wholeNumber(
    10,
    [1, 300],
    'maximum seconds for reading the rows of one large write, without its wait for a thread; less than the timeout of a request',
  ),
  tablesWaiting: wholeNumber(
    200,
    [1, 100_000],
    'maximum number of large writes to tables of one Org that wait for a thread',
  ),
  inlineSubtree: wholeNumber(
    1000,
    [1, 10_000],
    'maximum number of resources in a subtree that a move, restriction or deletion rewrites within the request',
  ),
  inlineCopy: wholeNumber(200, [1, 1000], 'maximum number of resources that a copy creates within the request'),
  copyResources: wholeNumber(100_000, [1, 1_000_000], 'maximum number of resources in one copy'),
  inlinePurge: wholeNumber(
    500,
    [1, 10_000],
    'maximum number of resources that emptying the trash deletes within the request',
  ),
  inlineTagged: wholeNumber(
    200,
    [0, 1000],
    'maximum number of resources that deleting or merging a tag rewrites within the request',
  ),
  treeJobTries: wholeNumber(12, [1, 1000], 'failures after which a background job on resources is given up'),
  accessRequestsPerHour: wholeNumber(30, [1, 1_000_000], 'maximum number of access requests of one person in an hour'),
  auditRestrictedMinutes: wholeNumber(
    60,
    [1, 24 * 60],
    'minutes in which the audit log records once that an administrator without a grant opens a restricted resource',
  ),
  captchaBits: wholeNumber(
    18,
    [1, 28],
    'work that a form with a captcha requires, as leading zero bits of a hash; each bit doubles it',
  ),
  captchaMinutes: wholeNumber(120, [1, 24 * 60], 'minutes for which the challenge of a captcha can be solved'),
  publicationPasswordTries: wholeNumber(
    10,
    [1, 1_000_000],
    'maximum number of wrong passwords for one publication from one network in 10 minutes',
  ),
  publicationPasswordTriesTotal: wholeNumber(
    100,
    [1, 1_000_000],
    'maximum number of wrong passwords for one publication from all networks in an hour; browsers that have opened it before are exempt',
  ),
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

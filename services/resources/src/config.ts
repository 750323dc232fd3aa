import { isIP } from 'node:net';
import { integer, list, type Table, url, type Values } from '@commonplace/kit/config';
import { SECRETS_KEY } from '@commonplace/kit/secrets';

function dnsServer(address: string): string {
  const host = /^\[(.+)\](?::\d+)?$/.exec(address)?.[1] ?? address.replace(/^([\d.]+):\d+$/, '$1');
  if (isIP(host) === 0) throw new Error('must be IP addresses, such as 192.0.2.53 or [2001:db8::53]:53');
  return address;
}

export const config = {
  documentBytes: {
    variable: 'COMMONPLACE_DOCUMENT_BYTES',
    help: 'most bytes of one document as Markdown',
    parse: integer(1024, 10 * 1024 * 1024),
    fallback: 5 * 1024 * 1024,
  },
  documentJsonBytes: {
    variable: 'COMMONPLACE_DOCUMENT_JSON_BYTES',
    help: 'most bytes of one document as JSON',
    parse: integer(1024, 10 * 1024 * 1024),
    fallback: 8 * 1024 * 1024,
  },
  snapshotDays: {
    variable: 'COMMONPLACE_SNAPSHOT_DAYS',
    help: 'days for which automatic snapshots are kept',
    parse: integer(1, 3650),
    fallback: 30,
  },
  workspaceResources: {
    variable: 'COMMONPLACE_WORKSPACE_RESOURCES',
    help: 'most resources of one workspace',
    parse: integer(1, 100_000_000),
    fallback: 1_000_000,
  },
  children: {
    variable: 'COMMONPLACE_CHILDREN',
    help: 'most children of one resource',
    parse: integer(1, 1_000_000),
    fallback: 10_000,
  },
  tableRows: {
    variable: 'COMMONPLACE_TABLE_ROWS',
    help: 'most rows of one table',
    parse: integer(1, 1_000_000),
    fallback: 200_000,
  },
  tableCacheBytes: {
    variable: 'COMMONPLACE_TABLE_CACHE_BYTES',
    help: 'memory for the rows of tables that are read often',
    parse: integer(1024 * 1024, 64 * 1024 * 1024 * 1024),
    fallback: 256 * 1024 * 1024,
  },
  inlineSubtree: {
    variable: 'COMMONPLACE_INLINE_SUBTREE',
    help: 'largest subtree that a move, restriction or deletion rewrites within the request',
    parse: integer(1, 10_000),
    fallback: 1000,
  },
  inlineCopy: {
    variable: 'COMMONPLACE_INLINE_COPY',
    help: 'most resources that a copy creates within the request',
    parse: integer(1, 1000),
    fallback: 200,
  },
  copyResources: {
    variable: 'COMMONPLACE_COPY_RESOURCES',
    help: 'most resources of one copy',
    parse: integer(1, 1_000_000),
    fallback: 100_000,
  },
  inlinePurge: {
    variable: 'COMMONPLACE_INLINE_PURGE',
    help: 'most resources that emptying the trash deletes within the request',
    parse: integer(1, 10_000),
    fallback: 500,
  },
  inlineTagged: {
    variable: 'COMMONPLACE_INLINE_TAGGED',
    help: 'most resources that deleting or merging a tag rewrites within the request',
    parse: integer(0, 1000),
    fallback: 200,
  },
  accessRequests: {
    variable: 'COMMONPLACE_ACCESS_REQUESTS_PER_HOUR',
    help: 'most access requests of one person in an hour',
    parse: integer(1, 1_000_000),
    fallback: 30,
  },
  secretsKey: SECRETS_KEY,
  urlAllowlist: {
    variable: 'COMMONPLACE_URL_ALLOWLIST',
    help: 'hosts that may be fetched over http and at addresses that are not public, such as wiki.intern or *.lab.example',
    parse: list,
    fallback: [] as string[],
  },
  publicUrl: {
    variable: 'COMMONPLACE_PUBLIC_URL',
    help: 'URL that people reach this server by; links to it begin so',
    parse: url('http', 'https'),
    fallback: 'http://127.0.0.1:8080',
  },
  contentUrl: {
    variable: 'COMMONPLACE_CONTENT_URL',
    help: 'URL of the same server under another host name, for users’ bytes alone; what can script is shown only there',
    parse: url('http', 'https'),
    fallback: undefined as string | undefined,
  },
  dnsServers: {
    variable: 'COMMONPLACE_DNS_SERVERS',
    help: 'addresses of the DNS servers that custom domains are looked up at, separated by commas, with a port or without; those of the machine when empty',
    parse: (value: string): readonly string[] => list(value).map(dnsServer),
    fallback: [] as readonly string[],
  },
} satisfies Table;

export type Settings = Values<typeof config>;

/** Levels of the tree, the root's children being the first. */
export const MAX_DEPTH = 32;
/** Bytes of a resource's metadata as JSON. */
export const METADATA_BYTES = 16 * 1024;
/** Bytes of content that one unit of work copies, unless a single one has more. */
export const COPIED_BYTES = 16 * 1024 * 1024;
/** Blocks of a document. */
export const DOCUMENT_BLOCKS = 20_000;
/** Bytes of an artifact's source. */
export const ARTIFACT_BYTES = 2 * 1024 * 1024;
/** Snapshots of one resource that somebody asked for. */
export const NAMED_SNAPSHOTS = 500;
/** Automatic snapshots of one resource, as long as they are older than a day. */
export const AUTOMATIC_SNAPSHOTS = 100;

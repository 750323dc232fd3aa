import {
  defineSettings,
  integer,
  list,
  oneOf,
  PLAIN_CONNECTIONS,
  serversUrl,
  shaped,
  text,
  wholeNumber,
} from '@commonplace/kit/config';
import { type Adoptable, STORE_KINDS } from '@commonplace/kit/installation';
import { telemetrySettings } from '@commonplace/kit/telemetry';

const ADOPTABLE: readonly Adoptable[] = [...STORE_KINDS, 'keys'];
const ADOPTABLES = `(${ADOPTABLE.join('|')})`;

/** Settings that every process reads. */
export const processSettings = defineSettings({
  dataDir: { common: 'folder of all data', help: 'folder of the embedded stores', parse: text, fallback: './data' },
  diskReserveBytes: {
    common: 'free disk kept for deletions',
    help: 'bytes of free disk below which the data folder only takes deletions; at most 5 % of the disk; 0: none',
    parse: integer(0, 2 ** 40),
    fallback: 64 * 2 ** 20,
  },
  recordCacheChars: wholeNumber(
    8 * 2 ** 20,
    [0, 2 ** 32],
    'characters of JSON of the records that the embedded store keeps in memory; 0: none',
  ),
  adopt: {
    help: 'for one start: what to take over although it is not known to belong to this installation: files, index, events, keys; comma-separated',
    parse: shaped({ kind: 'text', pattern: `${ADOPTABLES}( *, *${ADOPTABLES})*` }, adoptable),
    fallback: [] as Adoptable[],
  },
  mongodbUrl: {
    common: 'MongoDB for records, not the data folder',
    help: 'MongoDB replica set to keep records in, instead of the data folder',
    parse: serversUrl('mongodb', 'mongodb+srv'),
    connects: true,
    fallback: undefined as string | undefined,
    secret: true,
  },
  natsUrl: {
    common: 'NATS for events; goes with MongoDB',
    help: 'NATS servers that carry events; needed with COMMONPLACE_MONGODB_URL',
    parse: serversUrl('nats', 'tls'),
    connects: true,
    fallback: undefined as string | undefined,
    secret: true,
  },
  natsReplicas: wholeNumber(
    1,
    [1, 5],
    'servers of a NATS cluster that store each event, applied when its streams are created: 3 if one may fail',
  ),
  plainConnections: {
    variable: PLAIN_CONNECTIONS,
    help: 'refuse: a start fails if a URL that the system connects to (MongoDB, NATS, bucket, Typesense, SMTP, models, collector) is not encrypted; allow',
    parse: oneOf('allow', 'refuse'),
    fallback: 'allow' as const,
  },
  meshKey: {
    common: 'secret that processes of a mesh share',
    help: 'secret that all processes of one installation share, at least 32 characters',
    parse: (value: string) => {
      if (value.length < 32) throw new Error('must have at least 32 characters');
      return value;
    },
    fallback: undefined as string | undefined,
    secret: true,
  },
  grpcHost: { help: 'address that a service of the mesh listens on', parse: text, fallback: '0.0.0.0' },
  grpcPort: wholeNumber(9090, [0, 65535], 'port that a service of the mesh listens on'),
  healthPort: wholeNumber(
    9091,
    [0, 65535],
    'port on which a service with a certificate reports its health to probes, which have none',
  ),
  tlsCert: {
    help: 'file with the certificate that this process shows the others of the mesh; needs COMMONPLACE_TLS_KEY and _CA',
    parse: text,
    fallback: undefined as string | undefined,
  },
  tlsKey: { help: 'file with the key of that certificate', parse: text, fallback: undefined as string | undefined },
  tlsCa: {
    help: 'file with the authorities that issue the certificates of the others',
    parse: text,
    fallback: undefined as string | undefined,
  },
  tlsName: {
    help: 'DNS name in the certificate of each process of the mesh; {service} is replaced by its name',
    parse: text,
    fallback: '{service}',
  },
  maxConcurrent: wholeNumber(
    1000,
    [0, 1_000_000],
    'maximum number of concurrent calls, 40 % of them to one other service; more are refused, background work and writes first; 0: no limit',
  ),
  maxLoopDelayMs: wholeNumber(
    500,
    [0, 60_000],
    'milliseconds that work may queue in a process before it refuses some, background work first; 0: no limit',
  ),
  serviceAddress: {
    help: 'gRPC target of the other services; {service} is replaced by their name',
    parse: text,
    fallback: 'dns:///{service}:9090',
  },
  serviceAddresses: {
    help: 'targets of single services: identity=127.0.0.1:9001,tenancy=…',
    parse: shaped(
      { kind: 'text', pattern: '[^=,]+=[^,]+(,[^=,]+=[^,]+)*' },
      (value: string) => new Map(value.split(',').map(pair)),
    ),
    fallback: new Map<string, string>(),
  },
  logLevel: {
    common: 'debug, info, warn, error or silent',
    help: 'minimum level that is logged',
    parse: oneOf('debug', 'info', 'warn', 'error', 'silent'),
    fallback: 'info' as const,
  },
  ...telemetrySettings,
});

/** Parses the list of things that a start may adopt although they are not provably the installation's own. */
function adoptable(value: string): Adoptable[] {
  const named = list(value);
  const strange = named.find((one) => !(ADOPTABLE as readonly string[]).includes(one));
  if (strange !== undefined) throw new Error(`must be one or more of ${ADOPTABLE.join(', ')}; comma-separated`);
  return named as Adoptable[];
}

function pair(entry: string): [string, string] {
  const at = entry.indexOf('=');
  if (at < 1) throw new Error('must be a list of name=target');
  return [entry.slice(0, at).trim(), entry.slice(at + 1).trim()];
}

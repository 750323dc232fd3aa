import { integer, list, oneOf, PLAIN_CONNECTIONS, serversUrl, shaped, type Table, text } from '@commonplace/kit/config';
import { type Adoptable, STORE_KINDS } from '@commonplace/kit/installation';
import { telemetrySettings } from '@commonplace/kit/telemetry';

const ADOPTABLE: readonly Adoptable[] = [...STORE_KINDS, 'keys'];
const ADOPTABLES = `(${ADOPTABLE.join('|')})`;

/** Settings that every process reads. */
export const processSettings = {
  dataDir: {
    variable: 'COMMONPLACE_DATA_DIR',
    common: 'folder of all data',
    help: 'folder of the embedded stores',
    parse: text,
    fallback: './data',
  },
  diskReserveBytes: {
    variable: 'COMMONPLACE_DISK_RESERVE_BYTES',
    common: 'free disk kept for deletions',
    help: 'bytes of free disk below which the data folder only takes deletions; at most 5 % of the disk; 0: none',
    parse: integer(0, 2 ** 40),
    fallback: 64 * 2 ** 20,
  },
  recordCacheChars: {
    variable: 'COMMONPLACE_RECORD_CACHE_CHARS',
    help: 'characters of JSON of the records that the embedded store keeps in memory; 0: none',
    parse: integer(0, 2 ** 32),
    fallback: 8 * 2 ** 20,
  },
  adopt: {
    variable: 'COMMONPLACE_ADOPT',
    help: 'for one start: what to take over although it is not known to belong to this installation: files, index, events, keys; comma-separated',
    parse: shaped({ kind: 'text', pattern: `${ADOPTABLES}( *, *${ADOPTABLES})*` }, adoptable),
    fallback: [] as Adoptable[],
  },
  mongodbUrl: {
    variable: 'COMMONPLACE_MONGODB_URL',
    common: 'MongoDB for records, not the data folder',
    help: 'MongoDB replica set to keep records in, instead of the data folder',
    parse: serversUrl('mongodb', 'mongodb+srv'),
    connects: true,
    fallback: undefined as string | undefined,
    secret: true,
  },
  natsUrl: {
    variable: 'COMMONPLACE_NATS_URL',
    common: 'NATS for events; goes with MongoDB',
    help: 'NATS servers that carry events; needed with COMMONPLACE_MONGODB_URL',
    parse: serversUrl('nats', 'tls'),
    connects: true,
    fallback: undefined as string | undefined,
    secret: true,
  },
  natsReplicas: {
    variable: 'COMMONPLACE_NATS_REPLICAS',
    help: 'servers of a NATS cluster that store each event, applied when its streams are created: 3 if one may fail',
    parse: integer(1, 5),
    fallback: 1,
  },
  plainConnections: {
    variable: PLAIN_CONNECTIONS,
    help: 'refuse: a start fails if a URL that the system connects to (MongoDB, NATS, bucket, Typesense, SMTP, models, collector) is not encrypted; allow',
    parse: oneOf('allow', 'refuse'),
    fallback: 'allow' as const,
  },
  meshKey: {
    variable: 'COMMONPLACE_MESH_KEY',
    common: 'secret that processes of a mesh share',
    help: 'secret that all processes of one installation share, at least 32 characters',
    parse: (value: string) => {
      if (value.length < 32) throw new Error('must have at least 32 characters');
      return value;
    },
    fallback: undefined as string | undefined,
    secret: true,
  },
  grpcHost: {
    variable: 'COMMONPLACE_GRPC_HOST',
    help: 'address that a service of the mesh listens on',
    parse: text,
    fallback: '0.0.0.0',
  },
  grpcPort: {
    variable: 'COMMONPLACE_GRPC_PORT',
    help: 'port that a service of the mesh listens on',
    parse: integer(0, 65535),
    fallback: 9090,
  },
  healthPort: {
    variable: 'COMMONPLACE_HEALTH_PORT',
    help: 'port on which a service with a certificate reports its health to probes, which have none',
    parse: integer(0, 65535),
    fallback: 9091,
  },
  tlsCert: {
    variable: 'COMMONPLACE_TLS_CERT',
    help: 'file with the certificate that this process shows the others of the mesh; needs COMMONPLACE_TLS_KEY and _CA',
    parse: text,
    fallback: undefined as string | undefined,
  },
  tlsKey: {
    variable: 'COMMONPLACE_TLS_KEY',
    help: 'file with the key of that certificate',
    parse: text,
    fallback: undefined as string | undefined,
  },
  tlsCa: {
    variable: 'COMMONPLACE_TLS_CA',
    help: 'file with the authorities that issue the certificates of the others',
    parse: text,
    fallback: undefined as string | undefined,
  },
  tlsName: {
    variable: 'COMMONPLACE_TLS_NAME',
    help: 'DNS name in the certificate of each process of the mesh; {service} is replaced by its name',
    parse: text,
    fallback: '{service}',
  },
  maxConcurrent: {
    variable: 'COMMONPLACE_MAX_CONCURRENT',
    help: 'maximum number of concurrent calls; more are refused, background work and writes first; 0: no limit',
    parse: integer(0, 1_000_000),
    fallback: 1000,
  },
  maxLoopDelayMs: {
    variable: 'COMMONPLACE_MAX_LOOP_DELAY_MS',
    help: 'milliseconds that work may queue in a process before it refuses some, background work first; 0: no limit',
    parse: integer(0, 60_000),
    fallback: 500,
  },
  serviceAddress: {
    variable: 'COMMONPLACE_SERVICE_ADDRESS',
    help: 'gRPC target of the other services; {service} is replaced by their name',
    parse: text,
    fallback: 'dns:///{service}:9090',
  },
  serviceAddresses: {
    variable: 'COMMONPLACE_SERVICE_ADDRESSES',
    help: 'targets of single services: identity=127.0.0.1:9001,tenancy=…',
    parse: shaped(
      { kind: 'text', pattern: '[^=,]+=[^,]+(,[^=,]+=[^,]+)*' },
      (value: string) => new Map(value.split(',').map(pair)),
    ),
    fallback: new Map<string, string>(),
  },
  logLevel: {
    variable: 'COMMONPLACE_LOG_LEVEL',
    common: 'debug, info, warn, error or silent',
    help: 'minimum level that is logged',
    parse: oneOf('debug', 'info', 'warn', 'error', 'silent'),
    fallback: 'info' as const,
  },
  ...telemetrySettings,
} satisfies Table;

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

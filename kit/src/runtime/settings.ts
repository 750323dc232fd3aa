import { integer, oneOf, serversUrl, type Table, text } from '../config/index.js';

/** What every process reads. */
export const processSettings = {
  dataDir: {
    variable: 'COMMONPLACE_DATA_DIR',
    help: 'folder of the embedded stores',
    parse: text,
    fallback: './data',
  },
  mongodbUrl: {
    variable: 'COMMONPLACE_MONGODB_URL',
    help: 'MongoDB replica set to keep records in, instead of the data folder',
    parse: serversUrl('mongodb', 'mongodb+srv'),
    fallback: undefined as string | undefined,
    secret: true,
  },
  natsUrl: {
    variable: 'COMMONPLACE_NATS_URL',
    help: 'NATS servers that carry events; needed with COMMONPLACE_MONGODB_URL',
    parse: serversUrl('nats', 'tls'),
    fallback: undefined as string | undefined,
    secret: true,
  },
  natsReplicas: {
    variable: 'COMMONPLACE_NATS_REPLICAS',
    help: 'servers of a NATS cluster that keep each event, told when its streams are made: 3 where one may fail',
    parse: integer(1, 5),
    fallback: 1,
  },
  meshKey: {
    variable: 'COMMONPLACE_MESH_KEY',
    help: 'secret that all processes of one installation share, 32 characters or more',
    parse: (value: string) => {
      if (value.length < 32) throw new Error('is too short');
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
  serviceAddress: {
    variable: 'COMMONPLACE_SERVICE_ADDRESS',
    help: 'gRPC target of the other services; {service} stands for the name',
    parse: text,
    fallback: 'dns:///{service}:9090',
  },
  serviceAddresses: {
    variable: 'COMMONPLACE_SERVICE_ADDRESSES',
    help: 'targets of single services: identity=127.0.0.1:9001,tenancy=…',
    parse: (value: string) => new Map(value.split(',').map(pair)),
    fallback: new Map<string, string>(),
  },
  logLevel: {
    variable: 'COMMONPLACE_LOG_LEVEL',
    help: 'least level that is logged',
    parse: oneOf('debug', 'info', 'warn', 'error', 'silent'),
    fallback: 'info' as const,
  },
} satisfies Table;

function pair(entry: string): [string, string] {
  const at = entry.indexOf('=');
  if (at < 1) throw new Error('must be a list of name=target');
  return [entry.slice(0, at).trim(), entry.slice(at + 1).trim()];
}

import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import { type ChannelCredentials, experimental, type ServerCredentials } from '@grpc/grpc-js';
import { LRUCache } from 'lru-cache';
import { AppError } from '../errors/index.js';
import type { Log } from '../log/index.js';
import { type CertificateFiles, openCertificates } from './certificates.js';

export interface TlsOptions extends CertificateFiles {
  /** The name that a service's certificate carries; `{service}` stands for the service. */
  readonly name: string;
  /** Milliseconds between two looks at the files. */
  readonly lookMs?: number;
}

/** A connection's other end, as gRPC tells of it. */
export interface ConnectedPeer {
  getPeer(): string;
  getAuthContext(): { readonly sslPeerCertificate?: PeerCertificate | undefined };
}

/** Mutual TLS among the processes of a mesh: each shows a certificate, and asks for its peer's. */
export interface MeshTls {
  readonly client: ChannelCredentials;
  readonly server: ServerCredentials;
  /** The name that the certificate of a service has to carry. */
  nameOf(service: string): string;
  /** Throws where the certificate of a caller is not that of the service that its peer token names. */
  requirePeer(call: ConnectedPeer, peerToken: string | undefined): void;
  close(): void;
}

/** Milliseconds that a connection's certificate need not be looked at again: it does not change, but a port may. */
const KNOWN_MS = 60_000;

/** Opens certificates for both ends. What connects later uses those that the files hold then. */
export function openTls({ name, lookMs, ...files }: TlsOptions, log: Log): MeshTls {
  const certificates = openCertificates(files, log, lookMs);
  const { provider } = certificates;
  const known = new LRUCache<string, true>({ max: 10_000, ttl: KNOWN_MS });
  const nameOf = (service: string): string => name.replaceAll('{service}', service);
  return {
    client: experimental.createCertificateProviderChannelCredentials(provider, provider),
    server: experimental.createCertificateProviderServerCredentials(provider, provider, true),
    nameOf,
    requirePeer(call, peerToken = '') {
      const service = peerToken.split('.')[0] as string;
      const connection = `${call.getPeer()} ${service}`;
      if (known.has(connection)) return;
      const { sslPeerCertificate: certificate } = call.getAuthContext();
      if (certificate === undefined || checkServerIdentity(nameOf(service), certificate) !== undefined) {
        log.warn('tls.peer_refused', { peer: call.getPeer(), claims: service, subject: certificate?.subject?.CN });
        throw new AppError('UNAVAILABLE', 'service_unavailable', 'The certificate is not that of the calling service.');
      }
      known.set(connection, true);
    },
    close: certificates.close,
  };
}

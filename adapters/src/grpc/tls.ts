import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import { maxEntries } from '@commonplace/kit/cache';
import { AppError } from '@commonplace/kit/errors';
import type { Log } from '@commonplace/kit/log';
import { type ChannelCredentials, experimental, type ServerCredentials } from '@grpc/grpc-js';
import { LRUCache } from 'lru-cache';
import { type CertificateFiles, openCertificates } from './certificates.js';

interface TlsOptions extends CertificateFiles {
  /** Name in a service's certificate; `{service}` is replaced by the name of the service. */
  readonly name: string;
  /** Milliseconds between two checks of the files. */
  readonly lookMs?: number;
}

/** The remote end of a connection, as gRPC provides it. */
interface ConnectedPeer {
  getPeer(): string;
  getAuthContext(): { readonly sslPeerCertificate?: PeerCertificate | undefined };
}

/** Mutual TLS between the processes of an installation: each presents a certificate and requires that of its peer. */
export interface MeshTls {
  readonly client: ChannelCredentials;
  readonly server: ServerCredentials;
  /** Returns the name that a service's certificate must contain. */
  nameOf(service: string): string;
  /** Throws if a caller's certificate does not belong to the service that its peer token names. */
  requirePeer(call: ConnectedPeer, peerToken: string | undefined): void;
  close(): void;
}

/**
 * Milliseconds that the result of a certificate check is cached: a connection's certificate does not change, but its
 * port may be reused.
 */
const KNOWN_MS = 60_000;

/** Opens certificates for both ends. New connections use the certificates that the files hold at that time. */
export function openTls({ name, lookMs, ...files }: TlsOptions, log: Log): MeshTls {
  const certificates = openCertificates(files, log, lookMs);
  const { provider } = certificates;
  const known = new LRUCache<string, true>({ ...maxEntries(10_000), ttl: KNOWN_MS });
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

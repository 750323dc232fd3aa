import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { ConfigError } from '@commonplace/kit/config';
import type { Log } from '@commonplace/kit/log';
import { gauge } from '@commonplace/kit/telemetry';
import type { experimental } from '@grpc/grpc-js';

/** PEM files: a process's certificate with its chain, its key, and the certificate authorities of its peers. */
export interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}

interface Certificates {
  /** Provides certificates to gRPC, and notifies it of new ones. */
  readonly provider: experimental.CertificateProvider;
  close(): void;
}

interface Contents {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly ca: Buffer;
}

const expiry = gauge(
  'tls.certificate.not_after',
  's',
  'When the certificate of this process in the mesh ends, in seconds since 1970.',
);

/** Milliseconds between two checks of the files. */
const LOOK_MS = 10_000;

/**
 * Reads certificates, and reads them again when their files change. Files that do not match, as happens in the middle
 * of a replacement, are ignored. Throws ConfigError if they are invalid at the start.
 */
export function openCertificates(files: CertificateFiles, log: Log, lookMs = LOOK_MS): Certificates {
  let current = firstRead(files);
  const cas = new Set<experimental.CaCertificateUpdateListener>();
  const identities = new Set<experimental.IdentityCertificateUpdateListener>();
  const identity = () => ({ certificate: current.cert, privateKey: current.key });
  const look = () => {
    try {
      const next = read(files);
      if (isSame(next, current)) return;
      current = next;
      for (const listener of cas) listener({ caCertificate: current.ca });
      for (const listener of identities) listener(identity());
      log.info('tls.renewed', { file: files.cert });
    } catch (error) {
      log.warn('tls.unreadable', { file: files.cert, error });
    }
  };
  const timer = setInterval(look, lookMs).unref();
  const unobserve = expiry.observe(() => [{ attributes: {}, value: endOf(current.cert) }]);
  return {
    provider: {
      addCaCertificateListener: (listener) => {
        cas.add(listener);
        // A server subscribes to its credentials only after they have requested certificates.
        queueMicrotask(() => listener({ caCertificate: current.ca }));
      },
      removeCaCertificateListener: (listener) => void cas.delete(listener),
      addIdentityCertificateListener: (listener) => {
        identities.add(listener);
        queueMicrotask(() => listener(identity()));
      },
      removeIdentityCertificateListener: (listener) => void identities.delete(listener),
    },
    close() {
      clearInterval(timer);
      unobserve();
    },
  };
}

function firstRead(files: CertificateFiles): Contents {
  try {
    return read(files);
  } catch (error) {
    const { cert, key, ca } = files;
    throw new ConfigError([`the certificates ${cert}, ${key} and ${ca} can't be used: ${(error as Error).message}`]);
  }
}

/** Reads the files. Throws if a file is missing or not PEM, or if the key does not match the certificate. */
function read(files: CertificateFiles): Contents {
  const contents = { cert: readFileSync(files.cert), key: readFileSync(files.key), ca: readFileSync(files.ca) };
  createSecureContext(contents);
  return contents;
}

/** Returns the end of the first certificate of a PEM file, in seconds since 1970. */
function endOf(cert: Buffer): number {
  return Date.parse(new X509Certificate(cert).validTo) / 1000;
}

function isSame(one: Contents, other: Contents): boolean {
  return one.cert.equals(other.cert) && one.key.equals(other.key) && one.ca.equals(other.ca);
}

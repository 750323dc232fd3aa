import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import type { experimental } from '@grpc/grpc-js';
import { ConfigError } from '../config/index.js';
import type { Log } from '../log/index.js';

/** Files in PEM: a process's certificate with what leads to its authority, its key, and the authorities of its peers. */
export interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}

export interface Certificates {
  /** What gRPC asks for certificates; it is told of new ones. */
  readonly provider: experimental.CertificateProvider;
  close(): void;
}

interface Contents {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly ca: Buffer;
}

/** Milliseconds between two looks at the files. */
const LOOK_MS = 10_000;

/**
 * Reads certificates, and reads them again when their files change. Files that do not fit together, as in the middle
 * of an exchange, change nothing. Throws ConfigError where they can't be used at the start.
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
      for (const tell of cas) tell({ caCertificate: current.ca });
      for (const tell of identities) tell(identity());
      log.info('tls.renewed', { file: files.cert });
    } catch (error) {
      log.warn('tls.unreadable', { file: files.cert, error });
    }
  };
  const timer = setInterval(look, lookMs).unref();
  return {
    provider: {
      addCaCertificateListener: (tell) => {
        cas.add(tell);
        // A server listens to its credentials only after they have asked for certificates.
        queueMicrotask(() => tell({ caCertificate: current.ca }));
      },
      removeCaCertificateListener: (tell) => void cas.delete(tell),
      addIdentityCertificateListener: (tell) => {
        identities.add(tell);
        queueMicrotask(() => tell(identity()));
      },
      removeIdentityCertificateListener: (tell) => void identities.delete(tell),
    },
    close: () => clearInterval(timer),
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

/** Throws where a file is not there, is no PEM, or the key is that of another certificate. */
function read(files: CertificateFiles): Contents {
  const contents = { cert: readFileSync(files.cert), key: readFileSync(files.key), ca: readFileSync(files.ca) };
  createSecureContext(contents);
  return contents;
}

function isSame(one: Contents, other: Contents): boolean {
  return one.cert.equals(other.cert) && one.key.equals(other.key) && one.ca.equals(other.ca);
}

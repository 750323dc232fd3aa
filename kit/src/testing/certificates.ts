import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import forge from 'node-forge';

/** A certificate authority for the duration of a test. */
export interface Authority {
  /** Its own certificate in PEM. */
  readonly certificate: string;
  /**
   * Writes `tls.crt`, `tls.key` and `ca.crt` into a folder: a certificate for DNS names, and the trusted authorities.
   */
  issue(folder: string, names: readonly string[], trusted?: readonly Authority[]): IssuedFiles;
}

export interface IssuedFiles {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}

const DAY_MS = 86_400_000;

export function createAuthority(): Authority {
  const own = createKeys();
  const subject = [{ name: 'commonName', value: `Test authority ${randomUUID()}` }];
  const root = sign({
    keys: own,
    subject,
    issuer: subject,
    extensions: [{ name: 'basicConstraints', cA: true }],
    by: own,
  });
  const authority: Authority = {
    certificate: forge.pki.certificateToPem(root),
    issue(folder, names, trusted = [authority]) {
      const keys = createKeys();
      const leaf = sign({
        keys,
        subject: [{ name: 'commonName', value: names[0] ?? '' }],
        issuer: subject,
        extensions: [
          { name: 'basicConstraints', cA: false },
          { name: 'extKeyUsage', serverAuth: true, clientAuth: true },
          { name: 'subjectAltName', altNames: names.map((value) => ({ type: 2, value })) },
        ],
        by: own,
      });
      mkdirSync(folder, { recursive: true });
      return {
        cert: place(folder, 'tls.crt', forge.pki.certificateToPem(leaf)),
        key: place(folder, 'tls.key', forge.pki.privateKeyToPem(keys.privateKey)),
        ca: place(folder, 'ca.crt', trusted.map(({ certificate }) => certificate).join('')),
      };
    },
  };
  return authority;
}

interface Keys {
  readonly publicKey: forge.pki.rsa.PublicKey;
  readonly privateKey: forge.pki.rsa.PrivateKey;
}

/** Keys are created by Node.js, which takes a tenth of the time. */
function createKeys(): Keys {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return {
    publicKey: forge.pki.publicKeyFromPem(publicKey.export({ type: 'spki', format: 'pem' }) as string),
    privateKey: forge.pki.privateKeyFromPem(privateKey.export({ type: 'pkcs1', format: 'pem' }) as string),
  };
}

interface CertificateRequest {
  readonly keys: Keys;
  readonly subject: forge.pki.CertificateField[];
  readonly issuer: forge.pki.CertificateField[];
  readonly extensions: object[];
  readonly by: Keys;
}

function sign({ keys, subject, issuer, extensions, by }: CertificateRequest): forge.pki.Certificate {
  const certificate = forge.pki.createCertificate();
  certificate.publicKey = keys.publicKey;
  certificate.serialNumber = `01${forge.util.bytesToHex(forge.random.getBytesSync(8))}`;
  certificate.validity.notBefore = new Date(Date.now() - DAY_MS);
  certificate.validity.notAfter = new Date(Date.now() + DAY_MS);
  certificate.setSubject(subject);
  certificate.setIssuer(issuer);
  certificate.setExtensions(extensions);
  certificate.sign(by.privateKey, forge.md.sha256.create());
  return certificate;
}

/** Replaces a file atomically. */
function place(folder: string, name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
  return file;
}

import type { Guard } from '@commonplace/kit/fetch';
import type { CertificateProbe } from './certificates.js';

const VISIT_MS = 8000;
const MAX_BODY_BYTES = 64 * 1024;

/** Path of a page that every host has. */
const PAGE = '/robots.txt';

/**
 * Error codes of TLS (OpenSSL's and Node's own) for a certificate that is refused, or a server that has none for the
 * name.
 */
const REFUSALS: ReadonlySet<string> = new Set([
  'CERT_CHAIN_TOO_LONG',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_REJECTED',
  'CERT_REVOKED',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_SSL_TLSV1_UNRECOGNIZED_NAME',
  'ERR_SSL_TLSV1_ALERT_UNRECOGNIZED_NAME',
  'ERR_TLS_CERT_ALTNAME_FORMAT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'INVALID_CA',
  'INVALID_PURPOSE',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

export function createCertificateProbe(guard: Pick<Guard, 'fetch'>): CertificateProbe {
  return {
    async visit(origin) {
      if (!origin.startsWith('https:')) return 'unknown';
      try {
        const signal = AbortSignal.timeout(VISIT_MS);
        const { body } = await guard.fetch(origin + PAGE, { manual: true, signal });
        // The certificate was accepted, whatever the response is.
        await body.dump({ limit: MAX_BODY_BYTES }).catch(() => {});
        return 'trusted';
      } catch (error) {
        return codesOf(error).some((code) => REFUSALS.has(code)) ? 'refused' : 'unknown';
      }
    },
  };
}

function codesOf(error: unknown): string[] {
  if (typeof error !== 'object' || error === null) return [];
  return [...('code' in error ? [String(error.code)] : []), ...('cause' in error ? codesOf(error.cause) : [])];
}

import { hkdfSync } from 'node:crypto';

const LEAST_BYTES = 32;
const HEX = /^([0-9a-f]{2}){32,}$/i;
const BASE64 = /^[A-Za-z0-9+/_-]{43,}={0,2}$/;

/**
 * Reads `COMMONPLACE_SECRET_KEY`: one secret or several separated by commas, the first being the
 * current one. Each is 32 bytes or more in hex or base64, or a text of 32 bytes or more.
 */
export function parseSecrets(text: string): Buffer[] {
  const secrets = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map(parseSecret);
  if (secrets.length === 0) throw new Error('holds no secret');
  return secrets;
}

function parseSecret(text: string): Buffer {
  const bytes = HEX.test(text)
    ? Buffer.from(text, 'hex')
    : BASE64.test(text)
      ? Buffer.from(text, 'base64')
      : Buffer.from(text, 'utf8');
  if (bytes.length < LEAST_BYTES) throw new Error(`must hold ${LEAST_BYTES} bytes or more in each secret`);
  return bytes;
}

/** One key for each purpose and secret, in the order of the secrets; 32 bytes each. */
export interface PurposeKeys {
  readonly tokenSigning: readonly Buffer[];
  readonly apiKeys: readonly Buffer[];
  readonly sessions: readonly Buffer[];
  readonly csrf: readonly Buffer[];
  readonly submissions: readonly Buffer[];
}

/** HKDF-SHA256 (RFC 5869) with a label of its own for each purpose, so that no key tells of another. */
export function deriveKeys(secrets: readonly Buffer[]): PurposeKeys {
  const derive = (purpose: string): Buffer[] =>
    secrets.map((secret) => Buffer.from(hkdfSync('sha256', secret, '', `commonplace/identity/${purpose}`, 32)));
  return {
    tokenSigning: derive('token-signing'),
    apiKeys: derive('api-keys'),
    sessions: derive('sessions'),
    csrf: derive('csrf'),
    submissions: derive('submissions'),
  };
}

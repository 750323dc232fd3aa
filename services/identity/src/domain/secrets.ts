import { hkdfSync } from 'node:crypto';

const MIN_SECRET_BYTES = 32;
const HEX = /^([0-9a-f]{2}){32,}$/i;
const BASE64 = /^[A-Za-z0-9+/_-]{43,}={0,2}$/;

/**
 * Parses `COMMONPLACE_SECRET_KEY`: comma-separated secrets, the current one first. Each has 32 bytes or more, in
 * hex, in base64 or as plain text. Throws otherwise.
 */
export function parseSecrets(text: string): Buffer[] {
  const secrets = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map(parseSecret);
  if (secrets.length === 0) throw new Error('contains no secret');
  return secrets;
}

function parseSecret(text: string): Buffer {
  const bytes = HEX.test(text)
    ? Buffer.from(text, 'hex')
    : BASE64.test(text)
      ? Buffer.from(text, 'base64')
      : Buffer.from(text, 'utf8');
  if (bytes.length < MIN_SECRET_BYTES)
    throw new Error(`must contain at least ${MIN_SECRET_BYTES} bytes in each secret`);
  return bytes;
}

/** The 32-byte keys of each purpose, one per secret and in the same order. */
export interface PurposeKeys {
  readonly tokenSigning: readonly Buffer[];
  readonly apiKeys: readonly Buffer[];
  readonly sessions: readonly Buffer[];
  readonly csrf: readonly Buffer[];
  readonly submissions: readonly Buffer[];
  /** Hash one-time tokens and recovery codes. */
  readonly oneTimeTokens: readonly Buffer[];
  /** Sign the challenge between the two steps of a sign-in. */
  readonly challenges: readonly Buffer[];
  /** Encrypt data that has to be read again: queued e-mail and the secrets of second factors. */
  readonly envelope: readonly Buffer[];
}

/** Derives keys by HKDF-SHA256 (RFC 5869) with a label per purpose, so that no key reveals another. */
export function deriveKeys(secrets: readonly Buffer[]): PurposeKeys {
  const derive = (purpose: string): Buffer[] =>
    secrets.map((secret) => Buffer.from(hkdfSync('sha256', secret, '', `commonplace/identity/${purpose}`, 32)));
  return {
    tokenSigning: derive('token-signing'),
    apiKeys: derive('api-keys'),
    sessions: derive('sessions'),
    csrf: derive('csrf'),
    submissions: derive('submissions'),
    oneTimeTokens: derive('one-time-tokens'),
    challenges: derive('challenges'),
    envelope: derive('envelope'),
  };
}

const MIN_KEY_BYTES = 32;
const HEX = /^([0-9a-f]{2}){32,}$/i;
const BASE64 = /^[A-Za-z0-9+/_-]{43,}={0,2}$/;

/** Setting for the master keys, the same for every service that stores secrets of users. */
export const SECRETS_KEY = {
  variable: 'COMMONPLACE_SECRETS_KEY',
  help: 'at least 32 random bytes, in base64 or hex, that encrypt the secrets of users; to rotate, put a new key and a comma before the old one',
  parse: parseMasterKeys,
  secret: true,
  seals: true,
};

/** Parses comma-separated master keys, the first of which is the current one. Throws if they are invalid. */
export function parseMasterKeys(text: string): Buffer[] {
  const keys = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map(parseKey);
  if (keys.length === 0) throw new Error('must contain at least one key');
  return keys;
}

function parseKey(text: string): Buffer {
  const bytes = HEX.test(text)
    ? Buffer.from(text, 'hex')
    : BASE64.test(text)
      ? Buffer.from(text, 'base64')
      : Buffer.alloc(0);
  if (bytes.length < MIN_KEY_BYTES)
    throw new Error(`must have at least ${MIN_KEY_BYTES} bytes in each key, in base64 or hex`);
  return bytes;
}

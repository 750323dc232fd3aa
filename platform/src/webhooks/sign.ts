import { randomBytes } from 'node:crypto';
import { lazyLibrary } from '@commonplace/kit/library';

const library = lazyLibrary<typeof import('standardwebhooks')>('standardwebhooks', import.meta.url);

const PREFIX = 'whsec_';
/** Length of a secret in bytes, according to the Standard Webhooks specification. */
const MIN_SECRET_BYTES = 24;
const MAX_SECRET_BYTES = 64;
const MINTED_BYTES = 32;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Returns a new secret: `whsec_` and 32 random bytes in base64. */
export function mintWebhookSecret(): string {
  return PREFIX + randomBytes(MINTED_BYTES).toString('base64');
}

/** Returns whether a text is a secret: `whsec_` and 24 to 64 bytes in base64. */
export function isWebhookSecret(text: string): boolean {
  if (!text.startsWith(PREFIX)) return false;
  const encoded = text.slice(PREFIX.length);
  const bytes = Buffer.from(encoded, 'base64').length;
  return BASE64.test(encoded) && bytes >= MIN_SECRET_BYTES && bytes <= MAX_SECRET_BYTES;
}

/**
 * Returns the headers of one attempt according to the Standard Webhooks specification. There is one signature for each
 * secret, so that a receiver with the previous secret can still verify it. `at` is in milliseconds since 1970.
 */
export function signedHeaders(id: string, at: number, body: string, secrets: readonly string[]) {
  const timestamp = new Date(at);
  const { Webhook } = library();
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at / 1000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, timestamp, body)).join(' '),
  };
}

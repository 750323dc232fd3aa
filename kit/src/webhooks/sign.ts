import { randomBytes } from 'node:crypto';
import { lazyLibrary } from '../library/index.js';

const library = lazyLibrary<typeof import('standardwebhooks')>('standardwebhooks', import.meta.url);

const PREFIX = 'whsec_';
/** Bytes of a secret, as the Standard Webhooks specification wants them. */
const LEAST_BYTES = 24;
const MOST_BYTES = 64;
const MINTED_BYTES = 32;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** A new secret: `whsec_` and 32 random bytes in base64. */
export function mintWebhookSecret(): string {
  return PREFIX + randomBytes(MINTED_BYTES).toString('base64');
}

/** Whether a text is a secret: `whsec_` and 24 to 64 bytes in base64. */
export function isWebhookSecret(text: string): boolean {
  if (!text.startsWith(PREFIX)) return false;
  const encoded = text.slice(PREFIX.length);
  const bytes = Buffer.from(encoded, 'base64').length;
  return BASE64.test(encoded) && bytes >= LEAST_BYTES && bytes <= MOST_BYTES;
}

/**
 * The headers of one attempt by the Standard Webhooks specification: one signature for each secret, so that a
 * receiver that has the former one still knows whom it hears from. `at` is in epoch milliseconds.
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

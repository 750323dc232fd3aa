import { lazyLibrary } from '@commonplace/kit/library';

const library = lazyLibrary<typeof import('standardwebhooks')>('standardwebhooks', import.meta.url);

/**
 * Returns why a request is not signed according to the Standard Webhooks specification; undefined if it is. Compares
 * signatures in constant time, and refuses a timestamp more than five minutes in the past or future. `headers` have
 * lower-case names.
 */
export function verifySigned(
  secret: string,
  body: string,
  headers: Readonly<Record<string, string>>,
): string | undefined {
  const { Webhook, WebhookVerificationError } = library();
  try {
    // The body may be that of an HTML form.
    new Webhook(secret).verify(body, { ...headers }, { jsonParse: false });
    return undefined;
  } catch (error) {
    if (error instanceof WebhookVerificationError) return `${error.message.toLowerCase()}.`;
    throw error;
  }
}

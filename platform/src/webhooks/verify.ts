import { lazyLibrary } from '@commonplace/kit/library';

const library = lazyLibrary<typeof import('standardwebhooks')>('standardwebhooks', import.meta.url);

/**
 * Returns why a request is not signed according to the Standard Webhooks specification; undefined if it is. Signatures
 * are compared in constant time, and what was signed more than five minutes ago or ahead is refused. Names of headers are
 * in lower case.
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

import { type RewrapParts, rewrapRecords, type SecretOwner } from '@commonplace/kit/secrets';
import { type FormRecord, formCollection } from './records.js';
import { createFormTokens } from './tokens.js';
import type { FormWebhook } from './webhooks.js';

export { createFormTokens, type FormRecord, formCollection };

interface FormSecretParts extends RewrapParts {
  /** The current key first, then former ones. */
  readonly masterKeys: readonly Buffer[];
}

/**
 * Re-encrypts the tokens of forms and the secrets of their webhooks with the current master key, and hashes the tokens
 * with it.
 */
export const rewrapFormSecrets = rewrapRecords({
  spec: formCollection,
  sealedIn: ({ tokenSealed, hookSealed, config }) => [
    tokenSealed,
    hookSealed,
    ...config.webhooks.flatMap(({ sealed, former }) => (former === undefined ? [sealed] : [sealed, former.sealed])),
  ],
  renew(form, { envelope, masterKeys }: FormSecretParts): FormRecord {
    const tokens = createFormTokens(masterKeys, envelope);
    const owner: SecretOwner = { tenant: form.tenant, record: form.id };
    const wrap = (sealed: string) => envelope.rewrap(sealed, owner);
    const webhook = (one: FormWebhook): FormWebhook => ({
      ...one,
      sealed: wrap(one.sealed),
      ...(one.former && { former: { ...one.former, sealed: wrap(one.former.sealed) } }),
    });
    return {
      ...form,
      tokenHash: tokens.hash(tokens.open(form.tokenSealed, owner)),
      tokenSealed: wrap(form.tokenSealed),
      hookHash: tokens.hash(tokens.open(form.hookSealed, owner)),
      hookSealed: wrap(form.hookSealed),
      config: { ...form.config, webhooks: form.config.webhooks.map(webhook) },
    };
  },
});

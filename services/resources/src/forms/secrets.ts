import type { Log } from '@commonplace/kit/log';
import { type Envelope, type SecretOwner, SecretUnreadable } from '@commonplace/kit/secrets';
import { findEach, LostRace, type Store } from '@commonplace/kit/store';
import { type FormRecord, formCollection } from './records.js';
import { createFormTokens, type FormTokens } from './tokens.js';
import type { FormWebhook } from './webhooks.js';

export { createFormTokens, type FormRecord, formCollection };

const CHUNK = 100;

export interface FormSecretParts {
  readonly store: Store;
  readonly envelope: Envelope;
  /** The current key first, then former ones. */
  readonly masterKeys: readonly Buffer[];
  readonly log: Log;
}

/** The result of re-encrypting the secrets of forms. */
export interface RewrappedForms {
  /** Number of forms whose secrets were re-encrypted with the current master key. */
  readonly rewrapped: number;
  readonly current: number;
  /** Ids of forms with a secret that cannot be decrypted; they remain unchanged. */
  readonly unreadable: readonly string[];
}

/**
 * Re-encrypts the tokens of forms and the secrets of their webhooks with the current master key, and hashes the tokens
 * with it, so that a former key can be removed from the settings. Each form is committed separately, so an interrupted
 * run keeps what it has done.
 */
export async function rewrapFormSecrets(parts: FormSecretParts, each: () => void = () => {}): Promise<RewrappedForms> {
  const { store, envelope, log } = parts;
  const forms = await store.collection(formCollection);
  const tokens = createFormTokens(parts.masterKeys, envelope);
  const sum = { rewrapped: 0, current: 0, unreadable: [] as string[] };
  for await (const form of findEach(forms, { where: {} }, CHUNK)) {
    try {
      if (isCurrent(form, envelope)) sum.current++;
      else {
        const work = store.begin();
        work.replace(forms, form, renewed(form, envelope, tokens));
        await work.commit();
        sum.rewrapped++;
      }
    } catch (error) {
      // Another writer changed the form first; the next run checks it.
      if (error instanceof LostRace) sum.rewrapped++;
      else if (error instanceof SecretUnreadable) {
        log.error('secret.unreadable', { record: form.id, error });
        sum.unreadable.push(form.id);
      } else throw error;
    }
    each();
  }
  return sum;
}

const sealedOf = ({ tokenSealed, hookSealed, config }: FormRecord): string[] => [
  tokenSealed,
  hookSealed,
  ...config.webhooks.flatMap(({ sealed, former }) => (former === undefined ? [sealed] : [sealed, former.sealed])),
];

function isCurrent(form: FormRecord, envelope: Envelope): boolean {
  return sealedOf(form).every((sealed) => envelope.isCurrent(sealed));
}

function renewed(form: FormRecord, envelope: Envelope, tokens: FormTokens): FormRecord {
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
}

import type { Log } from '@commonplace/kit/log';
import { type Envelope, type SecretOwner, SecretUnreadable } from '@commonplace/kit/secrets';
import { keyset, LostRace, type Store } from '@commonplace/kit/store';
import { createFormTokens, type FormTokens } from '../forms/tokens.js';
import type { FormWebhook } from '../forms/webhooks.js';
import { type FormRecord, formCollection } from '../stores/forms.js';

export { createFormTokens, type FormRecord, formCollection };

const CHUNK = 100;

export interface FormSecretParts {
  readonly store: Store;
  readonly envelope: Envelope;
  /** The present key first. */
  readonly masterKeys: readonly Buffer[];
  readonly log: Log;
}

/** What has become of the secrets of forms. */
export interface RewrappedForms {
  /** Forms whose secrets were put under the present master key. */
  readonly rewrapped: number;
  readonly current: number;
  /** Forms with a secret that does not open; they stay as they are. */
  readonly unreadable: readonly string[];
}

/**
 * Puts the tokens of forms and the secrets of their webhooks under the present master key, and hashes the tokens by
 * it, so that an older one can be taken out of the settings. What was done before it is cut off is done.
 */
export async function rewrapFormSecrets(parts: FormSecretParts, each: () => void = () => {}): Promise<RewrappedForms> {
  const { store, envelope, log } = parts;
  const forms = await store.collection(formCollection);
  const tokens = createFormTokens(parts.masterKeys, envelope);
  const sum = { rewrapped: 0, current: 0, unreadable: [] as string[] };
  let after: ReturnType<typeof keyset> | undefined;
  for (;;) {
    const chunk = await forms.find({ where: {}, limit: CHUNK, ...(after && { after }) });
    for (const form of chunk) {
      try {
        if (isCurrent(form, envelope)) sum.current++;
        else {
          const work = store.begin();
          work.replace(forms, form, renewed(form, envelope, tokens));
          await work.commit();
          sum.rewrapped++;
        }
      } catch (error) {
        // Whoever was faster is looked at by the next pass.
        if (error instanceof LostRace) sum.rewrapped++;
        else if (error instanceof SecretUnreadable) {
          log.error('secret.unreadable', { record: form.id, error });
          sum.unreadable.push(form.id);
        } else throw error;
      }
      each();
    }
    const last = chunk.at(-1);
    if (last === undefined || chunk.length < CHUNK) return sum;
    after = keyset(last);
  }
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

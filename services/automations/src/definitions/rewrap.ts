import type { Log } from '@commonplace/kit/log';
import { type Envelope, type SecretOwner, SecretUnreadable } from '@commonplace/kit/secrets';
import { findEach, LostRace, type Store } from '@commonplace/kit/store';
import { type AutomationRecord, automationCollection } from './records.js';
import { hookSecretOwner, hookTokenOwner, secretOwner } from './secrets.js';

/** The result of re-encrypting the stored secrets. */
export interface Rewrapped {
  readonly rewrapped: number;
  readonly current: number;
  /** Ids of automations with a secret that cannot be decrypted; they are left unchanged. */
  readonly unreadable: readonly string[];
}

const CHUNK = 100;

/**
 * Re-encrypts every secret of automations with the current master key, so that older keys can be removed from the
 * settings. It commits record by record, so that an interrupted run keeps its progress. Calls `each` after every
 * record.
 */
export async function rewrapAutomationSecrets(
  { store, envelope, log }: { readonly store: Store; readonly envelope: Envelope; readonly log: Log },
  each: () => void = () => {},
): Promise<Rewrapped> {
  const automations = await store.collection(automationCollection);
  const sum = { rewrapped: 0, current: 0, unreadable: [] as string[] };
  for await (const automation of findEach(automations, { where: {} }, CHUNK)) {
    try {
      const again = rewrap(envelope, automation);
      if (again === undefined) sum.current++;
      else {
        const work = store.begin();
        work.replace(automations, automation, again);
        await work.commit();
        sum.rewrapped++;
      }
    } catch (error) {
      // The record has changed in the meantime; the next pass re-encrypts it if that is still needed.
      if (error instanceof LostRace) sum.rewrapped++;
      else if (error instanceof SecretUnreadable) {
        log.error('secret.unreadable', { record: automation.id, error });
        sum.unreadable.push(automation.id);
      } else throw error;
    }
    each();
  }
  return sum;
}

/** Returns an automation with all of its secrets encrypted under the current key; undefined if they already are. */
function rewrap(envelope: Envelope, automation: AutomationRecord): AutomationRecord | undefined {
  const { secrets, hookTokenSealed, hookSecretSealed } = automation;
  const sealed = [...secrets.map((secret) => secret.sealed), hookTokenSealed, hookSecretSealed];
  if (sealed.every((one) => one === undefined || envelope.isCurrent(one))) return undefined;
  const again = (one: string, owner: SecretOwner): string =>
    envelope.isCurrent(one) ? one : envelope.rewrap(one, owner);
  return {
    ...automation,
    secrets: secrets.map((one) => ({ ...one, sealed: again(one.sealed, secretOwner(automation, one.name)) })),
    hookTokenSealed: hookTokenSealed && again(hookTokenSealed, hookTokenOwner(automation)),
    hookSecretSealed: hookSecretSealed && again(hookSecretSealed, hookSecretOwner(automation)),
  };
}

export { type AutomationRecord, automationCollection } from './records.js';
export { hookSecretOwner, hookTokenOwner, secretOwner } from './secrets.js';

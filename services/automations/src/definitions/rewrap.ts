import { rewrapRecords, type SecretOwner } from '@commonplace/kit/secrets';
import { automationCollection } from './records.js';
import { hookSecretOwner, hookTokenOwner, secretOwner } from './secrets.js';

/** Re-encrypts every secret of automations with the current master key. */
export const rewrapAutomationSecrets = rewrapRecords({
  spec: automationCollection,
  sealedIn: ({ secrets, hookTokenSealed, hookSecretSealed }) =>
    [...secrets.map(({ sealed }) => sealed), hookTokenSealed, hookSecretSealed].filter((one) => one !== undefined),
  renew(automation, { envelope }) {
    const { secrets, hookTokenSealed, hookSecretSealed } = automation;
    const again = (sealed: string, owner: SecretOwner): string => envelope.rewrap(sealed, owner);
    return {
      ...automation,
      secrets: secrets.map((one) => ({ ...one, sealed: again(one.sealed, secretOwner(automation, one.name)) })),
      hookTokenSealed: hookTokenSealed && again(hookTokenSealed, hookTokenOwner(automation)),
      hookSecretSealed: hookSecretSealed && again(hookSecretSealed, hookSecretOwner(automation)),
    };
  },
});

export { type AutomationRecord, automationCollection } from './records.js';
export { hookSecretOwner, hookTokenOwner, secretOwner } from './secrets.js';

import type { Handlers } from '@commonplace/kit/rpc';
import type { FormHookService } from '@commonplace/proto/resources/v1/form_service.js';
import { FormInactive, PayloadTooLarge } from '../../errors.js';
import { hookValues } from '../hook-values.js';
import type { FormParts } from '../parts.js';
import { findForm, submitReceived } from '../submit.js';
import { MAX_VALUES_BYTES } from '../values.js';

/** Maximum length of a delivery id; the rest is ignored. */
const MAX_DELIVERY_ID_CHARS = 255;

/**
 * Creates the handlers for form webhooks, through which other systems submit. There is no caller: the token is the
 * credential.
 */
export function createFormHookHandlers(parts: FormParts): Handlers<FormHookService> {
  return {
    async submitFormHook({ webhookToken, payload, deliveryId }, context) {
      const found = await findForm(parts, 'hookHash', webhookToken);
      if (payload.length > MAX_VALUES_BYTES) throw PayloadTooLarge({ limit: MAX_VALUES_BYTES });
      const delivery = deliveryId.slice(0, MAX_DELIVERY_ID_CHARS);
      const given = JSON.parse(payload.length === 0 ? '{}' : payload.toString()) as Record<string, unknown>;
      if (!found.form.isActive) throw FormInactive();
      return submitReceived(
        parts,
        found,
        {
          field: 'hookHash',
          values: (binding, config) => hookValues(given, binding.fields, config.mapping),
          submissionId: '',
          requestKey: delivery === '' ? undefined : `hook/${delivery}`,
          metadata: undefined,
          respondent: undefined,
        },
        context,
      );
    },
  };
}

import type { Handlers } from '@commonplace/kit/rpc';
import type { FormHookService } from '@commonplace/proto/resources/v1/form_service.js';
import { findForm, handIn } from '../acts/submit-form.js';
import { FormInactive, PayloadTooLarge } from '../errors.js';
import { hookValues } from '../forms/hook-values.js';
import { MAX_VALUES_BYTES } from '../forms/values.js';
import type { Parts } from '../parts.js';

/** Longest name of a delivery that is looked at. */
const DELIVERY_CHARS = 255;

/** The way into a form for other systems: nobody is behind these calls, and the token is the credential. */
export function createFormHookHandlers(parts: Parts): Handlers<FormHookService> {
  return {
    async submitFormHook({ webhookToken, payload, deliveryId }, context) {
      const found = await findForm(parts, 'hookHash', webhookToken);
      if (payload.length > MAX_VALUES_BYTES) throw PayloadTooLarge({ limit: MAX_VALUES_BYTES });
      const delivery = deliveryId.slice(0, DELIVERY_CHARS);
      const given = JSON.parse(payload.length === 0 ? '{}' : payload.toString()) as Record<string, unknown>;
      if (!found.form.isActive) throw FormInactive();
      return handIn(
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

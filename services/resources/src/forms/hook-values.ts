import { AppError } from '@commonplace/kit/errors';
import { isObject } from '@commonplace/kit/json';
import { type BoundField, namedField } from './columns.js';

/**
 * Extracts values by field id from another system's payload: from `values`, or from a flat object. Keys are the
 * mapping's names, field ids, column ids or labels. Other keys are ignored, as other systems send more than a form asks
 * for. Throws `invalid_webhook_payload` if no key refers to a field.
 */
export function hookValues(
  payload: Readonly<Record<string, unknown>>,
  fields: readonly BoundField[],
  mapping: Readonly<Record<string, string>>,
): Record<string, unknown> {
  const flat = isObject(payload.values) && !means('values', fields, mapping) ? payload.values : payload;
  const values: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(flat)) {
    const field = means(key, fields, mapping);
    if (field !== undefined && !Object.hasOwn(values, field.id)) values[field.id] = value;
  }
  if (Object.keys(values).length === 0) {
    throw new AppError(
      'INVALID_ARGUMENT',
      'invalid_webhook_payload',
      'No key of the payload names a field of the form by id, column, label or mapping.',
    );
  }
  return values;
}

function means(
  key: string,
  fields: readonly BoundField[],
  mapping: Readonly<Record<string, string>>,
): BoundField | undefined {
  const mapped = Object.hasOwn(mapping, key) ? mapping[key] : undefined;
  return fields.find(({ id, column }) => id === mapped && column !== undefined) ?? namedField(fields, key);
}

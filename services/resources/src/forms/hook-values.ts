import { AppError } from '@commonplace/kit/errors';
import { isObject } from '@commonplace/kit/json';
import { type BoundField, createNamedField } from './columns.js';

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
  const means = createMeans(fields, mapping);
  const flat = isObject(payload.values) && means('values') === undefined ? payload.values : payload;
  const values: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(flat)) {
    const field = means(key);
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

/** Returns the function that finds the field that a key means, by the mapping or by itself. */
function createMeans(fields: readonly BoundField[], mapping: Readonly<Record<string, string>>) {
  const namedField = createNamedField(fields);
  const byId = new Map(fields.filter(({ column }) => column !== undefined).map((field) => [field.id, field]));
  return (key: string): BoundField | undefined => {
    const mapped = Object.hasOwn(mapping, key) ? mapping[key] : undefined;
    return (mapped === undefined ? undefined : byId.get(mapped)) ?? namedField(key);
  };
}

import { AppError } from '@commonplace/kit/errors';
import type { JsonSchema } from '../domain/schema-check.js';
import { costOfSchema, MAX_SCHEMA_COST } from '../domain/schema-cost.js';
import { faultOfSchema } from '../domain/schema-form.js';
import { DATA, NAMED, REFERENCES } from '../domain/schema-words.js';

const MAX_BYTES = 16 * 1024;
const MAX_DEPTH = 32;

/**
 * Checks the JSON Schema for the result of a run. Throws `invalid_output_schema` if it is too long, too deep or
 * malformed, refers to other documents or to nothing, or applies too many schemas to one value.
 */
export function checkOutputSchema(bytes: Buffer): Record<string, unknown> {
  if (bytes.length > MAX_BYTES) throw refuse(`is longer than ${MAX_BYTES} bytes.`);
  const schema = JSON.parse(bytes.toString()) as Record<string, unknown>;
  checkReferences(schema, 1);
  const fault = faultOfSchema(schema);
  if (fault !== undefined) throw refuse(`is not a JSON Schema: ${fault}`);
  if (costOfSchema(schema as JsonSchema) > MAX_SCHEMA_COST) {
    throw refuse('refers to nothing, to itself for the same value, or to too many schemas.');
  }
  return schema;
}

/**
 * Throws if the schema is too deep or refers to other documents. Names and data are skipped, since they may look like
 * references.
 */
function checkReferences(value: unknown, depth: number, isNames = false): void {
  if (depth > MAX_DEPTH) throw refuse(`is nested more than ${MAX_DEPTH} levels deep.`);
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    if (isNames || Array.isArray(value)) checkReferences(inner, depth + 1);
    else if (REFERENCES.has(key) && !(typeof inner === 'string' && inner.startsWith('#'))) {
      throw refuse('refers to another document.');
    } else if (!DATA.has(key)) checkReferences(inner, depth + 1, NAMED.has(key));
  }
}

function refuse(what: string): AppError {
  return new AppError('INVALID_ARGUMENT', 'invalid_output_schema', `output_schema ${what}`, { param: 'output_schema' });
}

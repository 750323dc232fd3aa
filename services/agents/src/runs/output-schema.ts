import { AppError } from '@commonplace/kit/errors';

const MAX_BYTES = 16 * 1024;
const MAX_DEPTH = 32;
/** Keywords whose check may take longer than any text is worth: they are regular expressions of a user. */
const PATTERNS: ReadonlySet<string> = new Set(['pattern', 'patternProperties']);

/**
 * Checks a JSON Schema for the result of a run. Throws `invalid_output_schema` for one that is too long or too deep,
 * refers to other documents, or has regular expressions.
 */
export function checkOutputSchema(bytes: Buffer): Record<string, unknown> {
  if (bytes.length > MAX_BYTES) throw refuse(`is longer than ${MAX_BYTES} bytes.`);
  const schema = JSON.parse(bytes.toString()) as Record<string, unknown>;
  check(schema, 1);
  return schema;
}

function check(value: unknown, depth: number): void {
  if (depth > MAX_DEPTH) throw refuse(`is nested more than ${MAX_DEPTH} levels deep.`);
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    if ((key === '$ref' || key === '$dynamicRef') && !(typeof inner === 'string' && inner.startsWith('#'))) {
      throw refuse('refers to another document.');
    }
    if (PATTERNS.has(key) && !Array.isArray(value)) throw refuse(`has the keyword ${key}, which is not supported.`);
    check(inner, depth + 1);
  }
}

function refuse(what: string): AppError {
  return new AppError('INVALID_ARGUMENT', 'invalid_output_schema', `output_schema ${what}`, { param: 'output_schema' });
}

import { invalidField } from '@commonplace/kit/errors';

/**
 * Returns a resource's metadata as JSON text; undefined if there is none. Throws `invalid_value` above `limit` bytes.
 */
export function parseMetadata(json: Buffer, limit: number): string | undefined {
  if (json.length === 0) return undefined;
  if (json.length > limit) {
    throw invalidField('metadata', 'invalid_value', `metadata may have at most ${limit} bytes.`);
  }
  return json.toString();
}

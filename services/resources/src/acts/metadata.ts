import { invalidField } from '@commonplace/kit/errors';

/** JSON text of a resource's metadata within its limit; undefined where there is none. */
export function parseMetadata(json: Buffer, limit: number): string | undefined {
  if (json.length === 0) return undefined;
  if (json.length > limit) {
    throw invalidField('metadata', 'invalid_value', `metadata has ${limit} bytes at the most.`);
  }
  return json.toString();
}

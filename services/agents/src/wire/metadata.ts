import type { Fault } from '@commonplace/kit/errors';

/**
 * Returns the metadata of a request, which the gateway has checked to be a JSON object; undefined if there is none. Adds a
 * fault if it has more than `maxBytes`.
 */
export function readMetadata(bytes: Buffer, maxBytes: number, faults: Fault[]): Record<string, unknown> | undefined {
  if (bytes.length === 0) return undefined;
  if (bytes.length > maxBytes) {
    faults.push({ param: 'metadata', code: 'invalid_value', message: `metadata may have at most ${maxBytes} bytes.` });
    return undefined;
  }
  return JSON.parse(bytes.toString()) as Record<string, unknown>;
}

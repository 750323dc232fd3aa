import { hasInfinity, isObject } from '@commonplace/kit/json';
import { Json } from '@commonplace/proto/api/v1/access.js';
import type { Convert } from './convert.js';

const EXPECTED: Record<Json, string> = {
  [Json.UNSPECIFIED]: 'any value',
  [Json.ANY]: 'any value',
  [Json.OBJECT]: 'an object',
  [Json.ARRAY]: 'a list',
  [Json.TEXT_OR_OBJECT]: 'a string or an object',
  [Json.REQUEST]: 'any value',
};

/**
 * Returns the function that reads free-form JSON of a kind. It returns the JSON text as bytes for the service that owns
 * it.
 */
export function compileFreeForm(json: Json): Convert {
  return (value, param, faults) => {
    if (!isKind(json, value)) return faults.add(param, 'invalid_type', `must be ${EXPECTED[json]}.`);
    const text = JSON.stringify(value);
    if (json !== Json.REQUEST && hasBadCharacters(text)) {
      return faults.add(param, 'invalid_value', 'must not have NUL characters or halves of surrogate pairs.');
    }
    // `JSON.stringify` writes null for numbers that are too large.
    if (text.includes('null') && hasInfinity(value)) return faults.add(param, 'invalid_value', TOO_LARGE);
    return Buffer.from(text);
  };
}

const TOO_LARGE = 'must not have numbers beyond 1.7976931348623157e308.';

function isKind(json: Json, value: unknown): boolean {
  switch (json) {
    case Json.OBJECT:
      return isObject(value);
    case Json.ARRAY:
      return Array.isArray(value);
    case Json.TEXT_OR_OBJECT:
      return isObject(value) || typeof value === 'string';
    default:
      return true;
  }
}

// `JSON.stringify` writes these escapes only for NUL and lone surrogates. An even number of backslashes before the `u`
// means ordinary text.
const ESCAPED = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/;

function hasBadCharacters(text: string): boolean {
  return (text.includes('\\u0000') || text.includes('\\ud')) && ESCAPED.test(text);
}

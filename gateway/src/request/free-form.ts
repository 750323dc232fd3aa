import { hasInfinity, isObject } from '@commonplace/kit/json';
import { Json, type Rules } from '@commonplace/proto/api/v1/access.js';
import type { Convert } from './convert.js';
import { hasMoreNames } from './names.js';

const EXPECTED: Record<Json, string> = {
  [Json.UNSPECIFIED]: 'any value',
  [Json.ANY]: 'any value',
  [Json.OBJECT]: 'an object',
  [Json.ARRAY]: 'a list',
  [Json.TEXT_OR_OBJECT]: 'a string or an object',
  [Json.REQUEST]: 'any value',
};

/** Bytes of free-form JSON for which the contract names no other limit. Services parse it at once. */
const MAX_BYTES = 262_144;

/** The rules of the contract that bound free-form JSON. */
type Bounds = Pick<Rules, 'maxBytes' | 'limitedByOwner' | 'readInPieces'>;

/**
 * Returns the function that reads free-form JSON of a kind. It returns the JSON text as bytes for the service that owns
 * it.
 */
export function compileFreeForm(rules: Bounds & Pick<Rules, 'json'>): Convert {
  const { json } = rules;
  const faultOf = json === Json.REQUEST ? () => undefined : compileBounds(rules);
  return (value, param, faults) => {
    if (!isKind(json, value)) return faults.add(param, 'invalid_type', `must be ${EXPECTED[json]}.`);
    const text = JSON.stringify(value);
    const fault = faultOf(value, text);
    if (fault !== undefined) return faults.add(param, 'invalid_value', fault);
    // `JSON.stringify` writes null for numbers that are too large.
    if (text.includes('null') && hasInfinity(value)) return faults.add(param, 'invalid_value', TOO_LARGE);
    return Buffer.from(text);
  };
}

/**
 * Returns the function that says what is wrong with a value, which it gets with its text as JSON. Requests within a batch
 * are not for it: they are checked as requests of their own.
 */
function compileBounds(bounds: Bounds): (value: unknown, text: string) => string | undefined {
  const maxBytes = bounds.limitedByOwner ? Number.POSITIVE_INFINITY : bounds.maxBytes || MAX_BYTES;
  return (value, text) => {
    if (Buffer.byteLength(text) > maxBytes) return `may have at most ${maxBytes} bytes as JSON.`;
    if (!bounds.readInPieces && text.length > FEW_NAMES_CHARS && hasMoreNames(value, MAX_NAMES)) {
      return `may have at most ${MAX_NAMES} different names of fields.`;
    }
    return hasBadCharacters(text) ? 'must not have NUL characters or halves of surrogate pairs.' : undefined;
  };
}

/** Different names of fields in free-form JSON. 50,000 in a megabyte held the event loop of a service for 0.2 s. */
const MAX_NAMES = 10_000;
/** Characters of JSON that have fewer names than that: each takes four characters or more besides its own. */
const FEW_NAMES_CHARS = 4 * MAX_NAMES;

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

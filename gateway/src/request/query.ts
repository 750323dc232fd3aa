import type { Faults } from '@commonplace/kit/errors';
import { parseJson } from '@commonplace/kit/http';
import { Json, type Rules } from '@commonplace/proto/api/v1/access.js';
import type { Convert } from './convert.js';
import type { ValueElement } from './element.js';

/** Converts the values of a query parameter, one or more, to a message's value. */
export type FromQuery = (texts: readonly string[], param: string, faults: Faults) => unknown;

/** Returns the function that reads one value from a query parameter, which may be given only once. */
export function compileQueryValue(element: ValueElement, convert: Convert): FromQuery {
  const decode = compileDecode(element);
  return ([text = '', ...more], param, faults) => {
    if (more.length > 0) return faults.add(param, 'invalid_value', 'must be given once.');
    return decodeValue(text, decode, convert, param, faults);
  };
}

/** Returns the function that reads a list from a query: the parameter repeated, or comma-separated values. */
export function compileQueryList(element: ValueElement, item: Convert, { minItems, maxItems }: Rules): FromQuery {
  const decode = compileDecode(element);
  return (texts, param, faults) => {
    const items = texts.flatMap((text) => text.split(',')).filter((text) => text !== '');
    if (maxItems > 0 && items.length > maxItems) {
      return faults.add(param, 'too_many_items', `must have ${maxItems} items or fewer.`);
    }
    if (items.length < minItems) return faults.add(param, 'invalid_value', `must have ${minItems} items or more.`);
    return items.map((text) => decodeValue(text, decode, item, param, faults));
  };
}

function decodeValue(text: string, decode: Decode, convert: Convert, param: string, faults: Faults): unknown {
  const value = decode.read(text);
  if (value === undefined) return faults.add(param, 'invalid_value', `must be ${decode.expected}.`);
  return convert(value, param, faults);
}

interface Decode {
  readonly expected: string;
  /** Parses a text to a JSON value; undefined if the text does not represent one. */
  read(text: string): unknown;
}

function compileDecode(element: ValueElement): Decode {
  switch (element.kind) {
    case 'boolean':
      return { expected: 'true or false', read: (text) => BOOLEANS.get(text) };
    case 'integer':
      return { expected: 'a whole number', read: readInteger };
    case 'number':
      return { expected: 'a number', read: (text) => (NUMBER.test(text) ? Number(text) : undefined) };
    case 'json':
      return { expected: 'JSON', read: (text) => readJson(text, element.json) };
    default:
      return { expected: 'a string', read: (text) => text };
  }
}

const BOOLEANS = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
]);
const NUMBER = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Parses a text as an integer; undefined if it is not one. */
export function readInteger(text: string): number | undefined {
  return /^-?\d{1,20}$/.test(text) ? Number(text) : undefined;
}

function readJson(text: string, json: Json): unknown {
  if (json === Json.TEXT_OR_OBJECT && !text.trimStart().startsWith('{')) return text;
  try {
    return parseJson(text) ?? undefined;
  } catch {
    return undefined;
  }
}

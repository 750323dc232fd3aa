import { type AppError, invalidField } from '../errors/index.js';
import type { Scalar, Sort, StoredRecord } from './port.js';

export interface SortTerm {
  readonly field: string;
  readonly descending: boolean;
}

/**
 * Parses a sort into fields and directions. Appends the id, in the direction of the last field, so that the order is
 * total.
 */
export function sortTerms<T>(sort: Sort<T> = []): SortTerm[] {
  const terms = (sort as readonly string[]).map((text) =>
    text.startsWith('-') ? { field: text.slice(1), descending: true } : { field: text, descending: false },
  );
  return [...terms, { field: 'id', descending: terms.at(-1)?.descending ?? false }];
}

/** Returns a record's position in a sort, for `Query.after`: the values of the sort fields, then the id. */
export function keyset<T extends StoredRecord>(record: T, sort?: Sort<T>): Scalar[] {
  return sortTerms(sort).map((term) => record[term.field as keyof T] as Scalar);
}

/** Encodes a position in a list as an opaque text that is safe in a URL. */
export function encodeCursor(values: readonly Scalar[]): string {
  return base64Of(JSON.stringify(values));
}

/**
 * Returns the values that `encodeCursor` was given. Throws INVALID_ARGUMENT `invalid_pagination` for any other text.
 */
export function decodeCursor(text: string): Scalar[] {
  const values = parse(jsonOf(text));
  if (!Array.isArray(values) || values.length === 0 || !values.every(isScalar)) throw invalidCursor();
  return values;
}

/** The characters of a seal: white space behind the values, which `decodeCursor` skips, as versions without seals do. */
const SEAL_SIGNS = [' ', '\t', '\n', '\r'] as const;
const SEAL_LENGTH = 8;
const SEALED = new RegExp(`^(\\[.*)([${SEAL_SIGNS.join('')}]{${SEAL_LENGTH}})$`, 's');

/** Returns a cursor with a seal of 16 bits behind its values, or unchanged if it is none of `encodeCursor`. */
export function sealCursor(cursor: string, seal: number): string {
  const json = jsonOf(cursor);
  if (!json.startsWith('[')) return cursor;
  const signs = Array.from({ length: SEAL_LENGTH }, (_, at) => SEAL_SIGNS[(seal >> (2 * at)) & 3]);
  return base64Of(json + signs.join(''));
}

/** Returns the seal that a cursor was given last, and the cursor without it; no seal if it has none. */
export function unsealCursor(cursor: string): { readonly cursor: string; readonly seal?: number } {
  const [, json, signs] = SEALED.exec(jsonOf(cursor)) ?? [];
  if (json === undefined || signs === undefined) return { cursor };
  const bits = [...signs].map((sign, at) => SEAL_SIGNS.indexOf(sign as (typeof SEAL_SIGNS)[number]) << (2 * at));
  return { cursor: base64Of(json), seal: bits.reduce((all, two) => all | two, 0) };
}

function jsonOf(cursor: string): string {
  return Buffer.from(cursor, 'base64url').toString('utf8');
}

function base64Of(json: string): string {
  return Buffer.from(json, 'utf8').toString('base64url');
}

/** Returns the error for a cursor that does not belong to the list it is used with. */
export function invalidCursor(): AppError {
  return invalidField('cursor', 'invalid_pagination', 'does not belong to this list.');
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

function isScalar(value: unknown): value is Scalar {
  return typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value);
}

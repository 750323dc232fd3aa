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
  return Buffer.from(JSON.stringify(values), 'utf8').toString('base64url');
}

/**
 * Returns the values that `encodeCursor` was given. Throws INVALID_ARGUMENT `invalid_pagination` for any other text.
 */
export function decodeCursor(text: string): Scalar[] {
  const values = parse(Buffer.from(text, 'base64url').toString('utf8'));
  if (!Array.isArray(values) || values.length === 0 || !values.every(isScalar)) throw invalidCursor();
  return values;
}

/** Begins a seal. Decoders of base64 stop here, so processes of a version without seals can read sealed cursors. */
const SEAL = '=';

/** Returns a cursor with a seal (`[A-Za-z0-9_-]+`) behind it, or unchanged if it is none of `encodeCursor`. */
export function sealCursor(cursor: string, seal: string): string {
  const isEncoded = Buffer.from(cursor.slice(0, 4), 'base64url').toString().startsWith('[');
  return isEncoded ? `${cursor}${SEAL}${seal}` : cursor;
}

/** Returns the seal that a cursor was given last, and the cursor without it; no seal if it has none. */
export function unsealCursor(cursor: string): { readonly cursor: string; readonly seal?: string } {
  const at = cursor.lastIndexOf(SEAL);
  return at < 0 ? { cursor } : { cursor: cursor.slice(0, at), seal: cursor.slice(at + 1) };
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

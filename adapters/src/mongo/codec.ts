import type { StoredRecord } from '@commonplace/kit/store';

/**
 * A record as it is stored. The id becomes `_id`, and each field is stored by its kind, so that every field can be
 * queried and none can be misread.
 *
 * - A number, boolean or well-formed string is stored as it is.
 * - For null, the field's name is listed in `_nulls`, so that the field is absent for the database, as it is for every
 *   condition.
 * - An array of these is stored as `{ a: […] }`, so that a scalar is never compared with its elements.
 * - Anything else, whose keys may look like operators, paths or BSON types, is stored as JSON text.
 */
export interface StoredDocument {
  _id: string;
  version: number;
  _nulls?: string[];
  /** Number of times that a unit of work depended on the record without writing it. */
  _held?: number;
  [field: string]: unknown;
}

const FIELD = /^[A-Za-z][A-Za-z0-9_]*$/;
const LONE_SURROGATE = /\p{Cs}/u;

/** Returns the path of a field in the database. Throws TypeError for an invalid field name. */
export function pathOf(field: string): string {
  if (field === 'id') return '_id';
  if (!FIELD.test(field)) throw new TypeError(`${JSON.stringify(field)} is not a valid field name`);
  return field;
}

/** Returns the path of the elements of an array field. */
export function elementsOf(field: string): string {
  return `${pathOf(field)}.a`;
}

export function encodeRecord(record: StoredRecord): StoredDocument {
  const { id, version, ...fields } = record;
  return { _id: id, version, ...encodeFields(fields) };
}

/** Encodes fields other than id and version. */
export function encodeFields(fields: object): Record<string, unknown> {
  const document: Record<string, unknown> = {};
  const nulls: string[] = [];
  for (const [field, value] of Object.entries(fields)) {
    const path = pathOf(field);
    if (value === undefined) continue;
    if (isNull(value)) nulls.push(path);
    else document[path] = encodeValue(value);
  }
  if (nulls.length > 0) document._nulls = nulls;
  return document;
}

/** Returns whether a value is stored as null: null itself, NaN and the infinities, which JSON cannot express. */
function isNull(value: unknown): boolean {
  return value === null || (typeof value === 'number' && !Number.isFinite(value));
}

function encodeValue(value: unknown): unknown {
  if (isPlain(value)) return value;
  if (Array.isArray(value) && value.every(isPlain)) return { a: value };
  return { json: JSON.stringify(value) };
}

function isPlain(value: unknown): boolean {
  if (typeof value === 'string') return !LONE_SURROGATE.test(value);
  return typeof value === 'boolean' || Number.isFinite(value);
}

/** Returns the record of a document, as a new object that is not shared. */
export function decodeRecord<T extends StoredRecord>(document: StoredDocument): T {
  const record: Record<string, unknown> = { id: document._id, version: document.version };
  // A loop takes a third of the time of a copy by rest and `Object.entries`: 5 µs instead of 14 for a node.
  for (const field in document) {
    if (OWN_FIELDS.has(field)) continue;
    const value = document[field];
    record[field] = typeof value === 'object' && value !== null ? decodeObject(value) : value;
  }
  for (const field of document._nulls ?? []) record[field] ??= null;
  return record as unknown as T;
}

/** Fields of a document that are not fields of its record, or have another name there. */
const OWN_FIELDS: ReadonlySet<string> = new Set([
  '_id',
  'version',
  '_nulls',
  '_held',
] satisfies (keyof StoredDocument)[]);

function decodeObject(value: { a?: unknown; json?: unknown }): unknown {
  return value.json === undefined ? value.a : JSON.parse(String(value.json));
}

import type { Readable } from 'node:stream';
import { isObject } from '@commonplace/kit/json';
import { isBlank, isLongerThan } from '@commonplace/kit/words';
import { decode } from '../../../media/charset.js';
import { type Bundle, ImportFault } from '../port.js';
import { refuseDeep } from './deep.js';

/** Removes NUL and replaces lone surrogates, which no stored text may contain. */
export const wellFormed = (text: string): string => text.replaceAll('\0', '').replace(/\p{Surrogate}/gu, '\ufffd');

const isSound = (text: string): boolean => wellFormed(text) === text;

function isSoundValue(value: unknown): boolean {
  if (typeof value === 'string') return isSound(value);
  if (Array.isArray(value)) return value.every(isSoundValue);
  return !isObject(value) || Object.entries(value).every(([key, one]) => isSound(key) && isSoundValue(one));
}

function repaired(value: unknown): unknown {
  if (typeof value === 'string') return wellFormed(value);
  if (Array.isArray(value)) return value.map(repaired);
  if (!isObject(value) || isSoundValue(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [wellFormed(key), repaired(one)]));
}

/** Makes all texts within a value well-formed; returns the value itself if they are. */
export function wellFormedValue<Value>(value: Value): Value {
  return isSoundValue(value) ? value : (repaired(value) as Value);
}

/** Collapses each run of white space to one space. */
export const oneLine = (text: string): string => text.replace(/[\s\u00a0]+/g, ' ').trim();

/** Makes a valid resource name of a text: one line of 1 to 255 characters. */
export function cleanName(text: string | undefined, fallback = 'Untitled'): string {
  const name = oneLine(wellFormed(text ?? '').replace(/\p{Cc}/gu, ' '));
  if (isBlank(name)) return fallback;
  return isLongerThan(name, 255) ? `${firstCharacters(name, 254).trimEnd()}…` : name;
}

/** Returns the first `count` characters (code points) of a text. */
export function firstCharacters(text: string, count: number): string {
  return [...text.slice(0, 2 * count)].slice(0, count).join('');
}

/** Parses a time and returns it as RFC 3339 in UTC, or undefined. A date becomes its midnight. */
export function momentOf(text: string | null | undefined): string | undefined {
  if (typeof text !== 'string' || text.length > 100 || !/\d{4}/.test(text)) return undefined;
  const zoned = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?$/.test(text.trim()) ? `${text.trim()}Z` : text;
  const ms = Date.parse(zoned);
  if (Number.isNaN(ms)) return undefined;
  const date = new Date(ms);
  return date.getUTCFullYear() >= 1 && date.getUTCFullYear() <= 9999 ? date.toISOString() : undefined;
}

/**
 * Returns the text of an entry, decoded from its charset, without a byte order mark and NULs. Rejects with an
 * `ImportFault` above `limit` bytes.
 */
export async function readText(bundle: Bundle, path: string, limit: number, declared?: string): Promise<string> {
  const bytes = await bundle.read(path, limit);
  return wellFormed(decode(bytes, declared)).replace(/^\ufeff/, '');
}

/** Returns the first bytes of an entry, up to `length`. */
export async function headOf(bundle: Bundle, path: string, length: number): Promise<Buffer> {
  const stream: Readable = await bundle.open(path);
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of stream) {
    pieces.push(piece as Buffer);
    size += (piece as Buffer).length;
    if (size >= length) break;
  }
  stream.destroy();
  return Buffer.concat(pieces).subarray(0, length);
}

/** Parses JSON. Throws an `ImportFault` with `code` when it is invalid. */
export function parseJson(text: string, code: string, path: string): unknown {
  refuseDeep(text, path);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ImportFault(code, `${path} is not JSON: ${(cause as Error).message.slice(0, 200)}`, false, { cause });
  }
}

/** Joins lines, without empty lines at the beginning and end, and with one line end after the last. */
export function withoutEdges(lines: readonly string[]): string {
  const from = lines.findIndex((line) => line !== '');
  const to = lines.findLastIndex((line) => line !== '');
  return from === -1 ? '' : `${lines.slice(from, to + 1).join('\n')}\n`;
}

import { hash } from 'node:crypto';
import { invalidField } from '@commonplace/kit/errors';
import { fingerprint } from '@commonplace/kit/id';
import type { Idempotency } from '@commonplace/kit/rpc';

/** `"v<version>.<hash of the body>"`: If-Match reads the version alone, If-None-Match the whole. */
export function etagOf(version: number | undefined, data: string): string {
  const tag = hash('sha1', data, 'base64url').slice(0, 16);
  return version === undefined ? `"${tag}"` : `"v${version}.${tag}"`;
}

/** The version that If-Match asks for; undefined without one, and for `*`. */
export function versionOfIfMatch(header: string): number | undefined {
  const value = header.trim();
  if (value === '' || value === '*') return undefined;
  const match = /^(?:W\/)?"?v(\d{1,10})(?:\.[\w-]+)?"?$/.exec(value);
  if (match === null) throw invalidField('If-Match', 'invalid_value', 'If-Match is an ETag of this API, like "v12".');
  return Number(match[1]);
}

/** Whether If-None-Match names this very answer. */
export function matchesNone(header: string, etag: string): boolean {
  return header
    .split(',')
    .map((one) => one.trim().replace(/^W\//, ''))
    .some((one) => one === etag || one === '*');
}

const KEY = /^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/;

/** The idempotency record that a write's header asks for. */
export function idempotencyOf(
  header: string,
  credentialId: string,
  method: string,
  url: string,
  body: Buffer,
): Idempotency | undefined {
  if (header === '') return undefined;
  const key = /^".*"$/.test(header) ? header.slice(1, -1) : header;
  if (!KEY.test(key)) {
    throw invalidField('Idempotency-Key', 'invalid_value', 'Idempotency-Key has 1 to 255 printable ASCII characters.');
  }
  const [path = '', query = ''] = url.split('?');
  return { id: fingerprint(credentialId, method, path, key), fingerprint: fingerprint(body, query) };
}

/** The version that a write asks for, by header or body; both have to agree. */
export function baseVersionOf(ifMatch: number | undefined, inBody: number | undefined): number | undefined {
  if (ifMatch !== undefined && inBody !== undefined && ifMatch !== inBody) {
    throw invalidField('base_version', 'conflicting_alias', 'If-Match and base_version ask for different versions.');
  }
  return ifMatch ?? inBody;
}

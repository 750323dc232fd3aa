import { createHash, hash } from 'node:crypto';
import type { Caller } from '../auth/index.js';
import { invalidField } from '../errors/index.js';
import { fingerprint } from '../id/index.js';
import type { Idempotency } from '../rpc/index.js';

/** Returns `"v<version>.<hash of the body>"`. If-Match compares the version alone, If-None-Match the whole tag. */
export function etagOf(version: number | undefined, data: string): string {
  return tagOf(version, hash('sha1', data, 'base64url'));
}

/** Creates an accumulator that computes the ETag of `etagOf` from a body in chunks. */
export function createEtag() {
  const sum = createHash('sha1');
  return {
    update: (piece: Buffer): void => void sum.update(piece),
    tag: (version: number | undefined): string => tagOf(version, sum.digest('base64url')),
  };
}

function tagOf(version: number | undefined, digest: string): string {
  const tag = digest.slice(0, 16);
  return version === undefined ? `"${tag}"` : `"v${version}.${tag}"`;
}

/**
 * Returns the version that If-Match asks for; undefined for `*`. A list may name several representations of one version
 * (RFC 9110, 13.1.1).
 */
export function versionOfIfMatch(header: string): number | undefined {
  if (header.trim() === '*') return undefined;
  const [version, ...others] = new Set(header.split(',').map(versionOf));
  if (others.length > 0) {
    throw invalidField(
      'If-Match',
      'invalid_value',
      'If-Match names several versions: send the one that you have read.',
    );
  }
  return version;
}

function versionOf(etag: string): number {
  const match = /^(?:W\/)?"?v(\d{1,10})(?:\.[\w-]+)?"?$/.exec(etag.trim());
  if (match === null) throw invalidField('If-Match', 'invalid_value', 'If-Match is an ETag of this API, like "v12".');
  return Number(match[1]);
}

/** Returns whether If-None-Match names the ETag of this answer. */
export function matchesNone(header: string, etag: string): boolean {
  return header
    .split(',')
    .map((one) => one.trim().replace(/^W\//, ''))
    .some((one) => one === etag || one === '*');
}

const KEY = /^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/;

/**
 * Returns the tenant and workspace to which the headers `X-Tenant` and `X-Workspace-Id` narrow a credential: the same
 * request means something else in another tenant or workspace. Returns an empty list if they add nothing; a key's own
 * tenant is part of the key.
 */
export function narrowingOf({ credential, tenant, workspaceId }: Caller): string[] {
  const chosen = credential.type === 'api_key' || tenant === undefined ? '' : (tenant.orgId ?? 'personal');
  return chosen === '' && workspaceId === undefined ? [] : [chosen, workspaceId ?? ''];
}

/**
 * Returns the idempotency id and fingerprint that a write's header requests. `by` names the credential and the tenant
 * and workspace to which it is narrowed; `bodyHash` returns the hash of the body together with the query.
 */
export function idempotencyOf(
  header: string,
  by: readonly string[],
  method: string,
  url: string,
  bodyHash: (query: string) => string,
): Idempotency {
  const key = /^".*"$/.test(header) ? header.slice(1, -1) : header;
  if (!KEY.test(key)) {
    throw invalidField('Idempotency-Key', 'invalid_value', 'Idempotency-Key has 1 to 255 printable ASCII characters.');
  }
  // A path with a slash at its end is the same route.
  const path = (url.split('?')[0] ?? '').replace(/\/$/, '');
  return { id: fingerprint(...by, method, path, key), fingerprint: bodyHash(queryOf(url)) };
}

/** Returns the query of a URL as it was sent; empty if there is none. */
export function queryOf(url: string): string {
  return url.split('?')[1] ?? '';
}

/** Returns the version that a write expects, by header or body. Throws if the two differ. */
export function baseVersionOf(ifMatch: number | undefined, inBody: number | undefined): number | undefined {
  if (ifMatch !== undefined && inBody !== undefined && ifMatch !== inBody) {
    throw invalidField('base_version', 'conflicting_alias', 'If-Match and base_version ask for different versions.');
  }
  return ifMatch ?? inBody;
}

import { isIP } from 'node:net';
import { invalidField } from '@commonplace/kit/errors';
import type { PasskeyOptions } from '@commonplace/proto/identity/v1/account_security_service.js';

/**
 * Returns whether browsers allow passkeys for this origin. It needs a host name, and https unless the host is
 * localhost.
 */
export function allowsPasskeys(publicOrigin: string): boolean {
  const { protocol, hostname } = new URL(publicOrigin);
  const isLocal = hostname === 'localhost' || hostname.endsWith('.localhost');
  return isLocal || (protocol === 'https:' && isIP(hostname.replace(/^\[|\]$/g, '')) === 0);
}

/** Renders `{options, expires_at}` as JSON with the options as an object. */
export function writeOptions({ options, expiresAt }: PasskeyOptions): string {
  return JSON.stringify({ options: JSON.parse(options), expires_at: expiresAt });
}

/** Replaces the `credential` object that a browser created by its JSON text, the form that identity expects. */
export function withCredential(body: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { credential } = body;
  if (credential === undefined) return body;
  if (typeof credential !== 'object' || credential === null || Array.isArray(credential)) {
    throw invalidField('credential', 'invalid_value', 'credential is an object: the PublicKeyCredential as JSON.');
  }
  return { ...body, credential: JSON.stringify(credential) };
}

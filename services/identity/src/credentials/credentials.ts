import type { CallContext } from '@commonplace/kit/rpc';
import { type AuthenticateRequest, CredentialKind } from '@commonplace/proto/identity/v1/auth_service.js';
import { KEY_PREFIX } from '../domain/key-format.js';
import { MissingCredentials } from '../errors.js';
import type { createKeyReader } from './api-key.js';
import type { createBearerReader } from './bearer.js';
import type { Principal } from './principal.js';
import type { createSessionReader } from './session.js';

/**
 * Resolves the credential of a request to the principal that it authenticates. Throws the errors of a 401, or
 * `ip_not_allowed`.
 */
export interface Credentials {
  read(request: AuthenticateRequest, context: CallContext): Promise<Principal>;
}

interface Readers {
  readonly session: ReturnType<typeof createSessionReader>;
  readonly apiKey: ReturnType<typeof createKeyReader>;
  readonly bearer: ReturnType<typeof createBearerReader>;
}

export function createCredentials(readers: Readers): Credentials {
  return {
    async read({ kind, credential, clientIp }, context) {
      if (credential === '') throw MissingCredentials();
      if (kind === CredentialKind.SESSION) return readers.session(credential);
      if (kind !== CredentialKind.BEARER) throw MissingCredentials();
      return credential.startsWith(KEY_PREFIX)
        ? readers.apiKey(credential, clientIp, context.onward)
        : readers.bearer(credential, context);
    },
  };
}

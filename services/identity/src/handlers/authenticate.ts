import { CALLER_TOKEN_SECONDS, type Caller, isKnownScope } from '@commonplace/kit/auth';
import { invalidField, NotFound, TenantBoundary } from '@commonplace/kit/errors';
import type { Handlers } from '@commonplace/kit/rpc';
import type { AuthenticateResponse, AuthService } from '@commonplace/proto/identity/v1/auth_service.js';
import { narrow } from '../credentials/narrow.js';
import type { Parts } from './parts.js';

type Methods = Pick<Handlers<AuthService>, 'authenticate' | 'actAs' | 'getTokenKeys'>;

/** Who is calling, in a token that every service can verify. */
export function createAuthenticateHandlers(parts: Parts): Methods {
  const { credentials, homes, reach, memberships, users, signer, now } = parts;

  async function answer(caller: Caller, csrfToken = ''): Promise<AuthenticateResponse> {
    const { id, expiresAt } = caller.credential;
    const end = new Date(now() + CALLER_TOKEN_SECONDS * 1000).toISOString();
    return {
      token: await signer.sign(caller),
      csrfToken,
      credentialId: id,
      expiresAt: expiresAt !== undefined && expiresAt < end ? expiresAt : end,
    };
  }

  return {
    async authenticate(request, context) {
      const principal = await credentials.read(request, context);
      await homes.ensure(principal.user, context.onward);
      const caller = await narrow(principal, request, reach, context.onward);
      return answer(caller, principal.csrfToken);
    },

    async actAs({ userId, orgId, scopes }, context) {
      const unknown = scopes.find((scope) => !isKnownScope(scope));
      if (unknown !== undefined) throw invalidField('scopes', 'invalid_scope', `There is no scope ${unknown}.`);
      const user = await users.get(userId);
      if (user === undefined) throw NotFound();
      if (orgId !== '' && !(await memberships.of(userId, context.onward)).orgs.has(orgId)) throw TenantBoundary();
      return answer({
        userId,
        userName: user.name,
        userEmail: user.email,
        tenant: { orgId: orgId || null },
        credential: { type: 'internal', id: `act_${userId}`, scopes },
      });
    },

    async getTokenKeys() {
      return { jwksJson: signer.jwks };
    },
  };
}

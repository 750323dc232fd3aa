import { CALLER_TOKEN_SECONDS, type Caller, isKnownScope } from '@commonplace/kit/auth';
import { invalidField, NotFound, TenantBoundary } from '@commonplace/kit/errors';
import type { Handlers } from '@commonplace/kit/rpc';
import {
  type AuthenticateResponse,
  type AuthService,
  CredentialKind,
} from '@commonplace/proto/identity/v1/auth_service.js';
import { narrow } from '../credentials/narrow.js';
import {
  mintSubmissionCredential,
  readSubmissionCredential,
  SUBMISSION_MS,
  SUBMISSION_PREFIX,
} from '../domain/submission-credential.js';
import { ExpiredCredentials, InvalidCredentials } from '../errors.js';
import type { Parts } from './parts.js';

type Methods = Pick<Handlers<AuthService>, 'authenticate' | 'actAs' | 'getTokenKeys' | 'issueSubmissionCredential'>;

/** Who is calling, in a token that every service can verify. */
export function createAuthenticateHandlers(parts: Parts): Methods {
  const { credentials, homes, reach, memberships, users, signer, keys, now } = parts;

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

  /** Whoever answers a form's page: nobody, with one scope. */
  function respondent(credential: string): Caller {
    const grant = readSubmissionCredential(keys.submissions, credential);
    if (grant === undefined) throw InvalidCredentials();
    const { formId, orgId, expires, nonce } = grant;
    if (expires <= now()) throw ExpiredCredentials();
    return {
      userId: '',
      userName: '',
      userEmail: '',
      tenant: { orgId },
      credential: {
        type: 'submission',
        id: `sub_${nonce}`,
        scopes: ['form:submit'],
        expiresAt: new Date(expires).toISOString(),
        formId,
      },
    };
  }

  return {
    async authenticate(request, context) {
      if (request.kind === CredentialKind.BEARER && request.credential.startsWith(SUBMISSION_PREFIX)) {
        return answer(respondent(request.credential));
      }
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

    async issueSubmissionCredential({ formId, orgId }) {
      const expires = now() + SUBMISSION_MS;
      const credential = mintSubmissionCredential(keys.submissions, { formId, orgId: orgId || null, expires });
      return { credential, expiresAt: new Date(expires).toISOString() };
    },

    async getTokenKeys() {
      return { jwksJson: signer.jwks };
    },
  };
}

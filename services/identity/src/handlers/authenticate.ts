import { CALLER_TOKEN_SECONDS, type Caller, type TokenSigner } from '@commonplace/kit/auth';
import { NotFound, TenantBoundary } from '@commonplace/kit/errors';
import type { Handlers } from '@commonplace/kit/rpc';
import type { Collection } from '@commonplace/kit/store';
import type { MembershipCache } from '@commonplace/platform/memberships';
import {
  type AuthenticateResponse,
  type AuthService,
  CredentialKind,
} from '@commonplace/proto/identity/v1/auth_service.js';
import type { Activity } from '../activity.js';
import { actingAs } from '../credentials/acting.js';
import type { Credentials } from '../credentials/credentials.js';
import { narrow } from '../credentials/narrow.js';
import type { PurposeKeys } from '../domain/secrets.js';
import {
  mintSubmissionCredential,
  readSubmissionCredential,
  SUBMISSION_MS,
  SUBMISSION_PREFIX,
} from '../domain/submission-credential.js';
import { ExpiredCredentials, InvalidCredentials } from '../errors.js';
import type { Homes } from '../homes.js';
import type { Reach } from '../reach.js';
import { activeUser, type UserRecord } from '../stores/users.js';

type Methods = Pick<Handlers<AuthService>, 'authenticate' | 'actAs' | 'getTokenKeys' | 'issueSubmissionCredential'>;

export interface AuthenticateParts {
  readonly credentials: Credentials;
  readonly homes: Homes;
  readonly reach: Reach;
  readonly memberships: MembershipCache;
  readonly users: Collection<UserRecord>;
  readonly activity: Pick<Activity, 'note'>;
  readonly signer: TokenSigner;
  readonly keys: Pick<PurposeKeys, 'submissions'>;
  readonly now: () => number;
}

/** Creates the handlers that exchange credentials for caller tokens, which every service can verify. */
export function createAuthenticateHandlers(parts: AuthenticateParts): Methods {
  const { credentials, homes, reach, memberships, users, activity, signer, keys, now } = parts;

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

  /** Returns the anonymous caller of a form's page, with the scope of submitting only. */
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
      activity.note(caller);
      return answer(caller, principal.csrfToken);
    },

    async actAs(request, context) {
      const { userId, orgId } = request;
      const { agent, automation, chain, authorId, ...credential } = actingAs(request);
      const user = await activeUser(users, userId);
      if (user === undefined) throw NotFound();
      if (authorId !== undefined && (await activeUser(users, authorId)) === undefined) throw NotFound();
      if (orgId !== '' && !(await memberships.of(userId, context.onward)).orgs.has(orgId)) throw TenantBoundary();
      return answer({
        userId,
        userName: user.name,
        userEmail: user.email,
        tenant: { orgId: orgId || null },
        credential: { type: 'internal', ...credential },
        ...(agent === undefined ? {} : { agent }),
        ...(automation === undefined ? {} : { automation }),
        ...(chain === undefined ? {} : { chain }),
        ...(authorId === undefined ? {} : { authorId }),
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

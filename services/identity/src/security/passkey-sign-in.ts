import type { Log } from '@commonplace/kit/log';
import type { CallContext, Handlers } from '@commonplace/kit/rpc';
import { type Collection, inWork, type Store, type UnitOfWork } from '@commonplace/kit/store';
import type {
  AccountSecurityService,
  CompletePasskeySignInRequest,
} from '@commonplace/proto/identity/v1/account_security_service.js';
import type { SignInResponse } from '@commonplace/proto/identity/v1/auth_service.js';
import type { AuthenticationResponseJSON } from '@simplewebauthn/server';
import type { CredentialAudit } from '../audit.js';
import type { Settings } from '../config.js';
import { toUser } from '../domain/user.js';
import { ExpiredChallenge, WrongPasskey } from '../errors.js';
import type { Homes } from '../homes.js';
import type { Sessions } from '../sessions.js';
import { type PasskeyRecord, passkeyIdOf } from '../stores/passkeys.js';
import { activeUser, type UserRecord } from '../stores/users.js';
import {
  type ChallengeParts,
  issueChallenge,
  loadPasskeyInput,
  relyingPartyOf,
  spendChallenge,
  webauthn,
} from './passkey-protocol.js';

type Methods = Pick<Handlers<AccountSecurityService>, 'beginPasskeySignIn' | 'completePasskeySignIn'>;

export interface PasskeySignInParts extends ChallengeParts {
  readonly settings: Pick<Settings, 'publicUrl'>;
  readonly store: Store;
  readonly users: Collection<UserRecord>;
  readonly passkeys: Collection<PasskeyRecord>;
  readonly sessions: Sessions;
  readonly homes: Homes;
  readonly audit: CredentialAudit;
  readonly log: Log;
}

const SIGN_IN = { purpose: 'passkey_sign_in', userId: '' } as const;

/**
 * Creates the handlers that sign in with a passkey that the browser finds by itself. The passkey has verified the
 * person, so that neither a password nor a code is required. Attempts are not throttled, since a passkey cannot be
 * guessed.
 */
export function createPasskeySignInHandlers(parts: PasskeySignInParts): Methods {
  return {
    async beginPasskeySignIn() {
      const challenge = issueChallenge(SIGN_IN, parts);
      const options = await webauthn().generateAuthenticationOptions({
        rpID: relyingPartyOf(parts.settings.publicUrl).id,
        challenge: challenge.bytes,
        userVerification: 'required',
      });
      return { options: JSON.stringify(options), expiresAt: challenge.expiresAt };
    },

    completePasskeySignIn: (request, context) => signIn(request, context, parts),
  };
}

async function signIn(
  request: CompletePasskeySignInRequest,
  context: CallContext,
  parts: PasskeySignInParts,
): Promise<SignInResponse> {
  const { parseAuthentication } = await loadPasskeyInput();
  const response = parseAuthentication(request.credential);
  // The challenge is used up before a session is opened: of two requests with the same response only one gets a
  // session.
  const user = await inWork(parts.store, async (work) => {
    const challenge = await spendChallenge(SIGN_IN, response, work, parts);
    if (challenge === undefined) throw ExpiredChallenge();
    return usePasskey(response, challenge, { request, context, work }, parts);
  });
  await parts.homes.tryEnsure(user, context);
  const { cookie, csrfToken, record } = await parts.sessions.start(
    user,
    request,
    { method: 'passkey', strong: true },
    context,
  );
  return { user: toUser(user), session: cookie, csrfToken, expiresAt: record.expiresAt, secondFactor: undefined };
}

interface Use {
  readonly request: CompletePasskeySignInRequest;
  readonly context: CallContext;
  readonly work: UnitOfWork;
}

/** Verifies a passkey's signature and updates its counter. Returns its person; throws `invalid_credentials`. */
async function usePasskey(
  response: AuthenticationResponseJSON,
  challenge: string,
  { request, context, work }: Use,
  parts: PasskeySignInParts,
): Promise<UserRecord> {
  const passkey = await work.get(parts.passkeys, passkeyIdOf(response.id));
  const user =
    passkey === undefined ? undefined : await activeUser({ get: (id) => work.get(parts.users, id) }, passkey.userId);
  const counter = passkey && user && (await verifiedCounter(response, challenge, passkey, parts));
  if (passkey === undefined || user === undefined || counter === undefined) {
    const { requestId } = context;
    parts.audit.signInFailed(user, 'invalid_credentials', { clientIp: request.clientIp, requestId });
    throw WrongPasskey();
  }
  // The session that follows has this epoch: a concurrent reset invalidates it.
  work.expect(parts.users, user);
  const lastUsedAt = new Date(parts.now()).toISOString();
  work.replace(parts.passkeys, passkey, { ...passkey, counter, lastUsedAt });
  return user;
}

/** Returns the passkey's new counter; undefined if the signature, origin, person or counter is wrong. */
async function verifiedCounter(
  response: AuthenticationResponseJSON,
  expectedChallenge: string,
  passkey: PasskeyRecord,
  { settings, log }: PasskeySignInParts,
): Promise<number | undefined> {
  const { userHandle = '' } = response.response;
  if (Buffer.from(userHandle, 'base64url').toString() !== passkey.userId) return undefined;
  const { id: expectedRPID, origin: expectedOrigin } = relyingPartyOf(settings.publicUrl);
  const publicKey = new Uint8Array(Buffer.from(passkey.publicKey, 'base64url'));
  const credential = { id: passkey.credentialId, publicKey, counter: passkey.counter };
  const expected = { expectedChallenge, expectedRPID, expectedOrigin, requireUserVerification: true };
  try {
    const { verified, authenticationInfo } = await webauthn().verifyAuthenticationResponse({
      response,
      credential,
      ...expected,
    });
    return verified ? authenticationInfo.newCounter : undefined;
  } catch (error) {
    log.warn('identity.passkey_refused', { passkey_id: passkey.id, user_id: passkey.userId, error });
    return undefined;
  }
}

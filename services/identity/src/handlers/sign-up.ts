import { newId } from '@commonplace/kit/id';
import type { CallContext, Handlers } from '@commonplace/kit/rpc';
import { UniqueTaken } from '@commonplace/kit/store';
import type { AuthService, SignInResponse, SignUpRequest } from '@commonplace/proto/identity/v1/auth_service.js';
import { emailKeyOf } from '../domain/address.js';
import { newUser, toUser } from '../domain/user.js';
import { AccountExists, InvitationRequired, SignUpClosed, unknownLink } from '../errors.js';
import { userCreated } from '../events.js';
import { type UserRecord, userByEmail } from '../stores/users.js';
import type { Parts } from './parts.js';

/** Local accounts: an address and a password. */
export function createSignUpHandlers(parts: Parts): Pick<Handlers<AuthService>, 'signUp'> {
  return {
    signUp: (request, context) => parts.throttle.attempt(request, () => signUp(request, context, parts)),
  };
}

async function signUp(request: SignUpRequest, context: CallContext, parts: Parts): Promise<SignInResponse> {
  await admit(request, context, parts);
  if ((await userByEmail(parts.users, emailKeyOf(request.email))) !== undefined) throw AccountExists();
  const passwordHash = await parts.passwords.hash(request.password);
  const { email, name } = request;

  // Committed here and not with the answer: an invitation must never be spent on an account that is not there.
  const work = parts.store.begin();
  const user = work.insert(parts.users, newUser({ id: newId(), email, name, passwordHash, now: parts.now() }));
  const session = parts.sessions.begin(work, user.id);
  work.publish(userCreated(context, user.id));
  await work.commit().catch((error: unknown) => {
    throw error instanceof UniqueTaken ? AccountExists({}, { cause: error }) : error;
  });

  await settleIn(user, request.invitationToken, context, parts);
  const { cookie, csrfToken, record } = session;
  return { user: toUser(user), session: cookie, csrfToken, expiresAt: record.expiresAt };
}

/** Whether somebody may make an account with that address. */
async function admit({ email, invitationToken }: SignUpRequest, context: CallContext, parts: Parts): Promise<void> {
  const mode = parts.settings.signUp;
  if (mode === 'closed') throw SignUpClosed();
  if (invitationToken === '') {
    if (mode === 'invite') throw InvitationRequired();
    return;
  }
  const invitation = await parts.directory.getInvitation({ token: invitationToken }, context.onward).catch(unknownLink);
  if (emailKeyOf(invitation.email) !== emailKeyOf(email)) throw InvitationRequired();
}

/**
 * What follows a new account. The account is there whatever happens now: its workspace is made at the
 * next sign-in at the latest, and the invitation can be accepted again.
 */
async function settleIn(user: UserRecord, token: string, context: CallContext, parts: Parts): Promise<void> {
  const person = { userId: user.id, userName: user.name, userEmail: user.email };
  try {
    await parts.homes.ensure(user, context.onward);
    if (token !== '') await parts.directory.acceptInvitation({ token, ...person }, context.onward);
  } catch (error) {
    parts.log.warn('identity.sign_up_unsettled', { request_id: context.requestId, user_id: user.id, error });
    const message = 'The account is made, but not everything is set up yet. Sign in, and open the invitation again.';
    context.reply.warnings = [{ code: 'sign_up_unsettled', message }];
  }
}

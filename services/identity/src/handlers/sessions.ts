import type { CallContext, Handlers } from '@commonplace/kit/rpc';
import type { AuthService, SignInRequest, SignInResponse } from '@commonplace/proto/identity/v1/auth_service.js';
import { emailKeyOf } from '../domain/address.js';
import { credentialIdOf } from '../domain/session.js';
import { toUser } from '../domain/user.js';
import { InvalidCredentials, unknownLink, WrongPassword } from '../errors.js';
import { sessionEnded } from '../events.js';
import { type UserRecord, userByEmail } from '../stores/users.js';
import type { Parts } from './parts.js';

type Methods = Pick<Handlers<AuthService>, 'signIn' | 'signOut' | 'getSession' | 'acceptInvitation'>;

/** Browser sessions of local accounts. */
export function createSessionHandlers(parts: Parts): Methods {
  const { sessions, sessionRecords, users, homes, throttle, directory } = parts;

  /** The session of a cookie and its person. Throws the reasons of a 401. */
  async function signedIn(cookie: string) {
    const { record, csrfToken } = await sessions.open(cookie);
    const user = await users.get(record.userId);
    if (user === undefined) throw InvalidCredentials();
    sessions.touch(record);
    return { record, csrfToken, user };
  }

  return {
    signIn: (request, context) => throttle.attempt(request, () => signIn(request, context, parts)),

    async signOut({ session: cookie }, context) {
      const session = await sessions.find(cookie);
      if (session !== undefined) {
        context.work.remove(sessionRecords, session.record);
        context.work.publish(sessionEnded(context, credentialIdOf(session.record.id)));
      }
      return {};
    },

    async getSession({ session: cookie }) {
      const { user, csrfToken, record } = await signedIn(cookie);
      return { user: toUser(user), session: '', csrfToken, expiresAt: record.expiresAt };
    },

    async acceptInvitation({ session: cookie, invitationToken }, context) {
      const { user } = await signedIn(cookie);
      await homes.ensure(user, context.onward);
      const person = { userId: user.id, userName: user.name, userEmail: user.email };
      return directory.acceptInvitation({ token: invitationToken, ...person }, context.onward).catch(unknownLink);
    },
  };
}

async function signIn(request: SignInRequest, context: CallContext, parts: Parts): Promise<SignInResponse> {
  const found = await userByEmail(parts.users, emailKeyOf(request.email));
  const matches = await parts.passwords.verify(found?.passwordHash, request.password);
  if (found === undefined || !matches) throw WrongPassword();
  await healHome(found, context, parts);
  const { cookie, csrfToken, record } = parts.sessions.begin(context.work, found.id);
  return { user: toUser(found), session: cookie, csrfToken, expiresAt: record.expiresAt };
}

/** A person can sign in while tenancy is down; what needs their workspace makes it then. */
async function healHome(user: UserRecord, context: CallContext, parts: Parts): Promise<void> {
  await parts.homes.ensure(user, context.onward).catch((error: unknown) => {
    parts.log.warn('identity.home_missing', { request_id: context.requestId, user_id: user.id, error });
  });
}

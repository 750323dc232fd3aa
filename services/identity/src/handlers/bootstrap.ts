import { isKnownScope, KNOWN_SCOPES } from '@commonplace/kit/auth';
import { invalidField } from '@commonplace/kit/errors';
import { derivedId } from '@commonplace/kit/id';
import type { CallContext, Handlers } from '@commonplace/kit/rpc';
import { LostRace, UniqueTaken } from '@commonplace/kit/store';
import type { AuthService, BootstrapRequest, BootstrapResponse } from '@commonplace/proto/identity/v1/auth_service.js';
import { homeOf } from '../domain/home.js';
import { newUser, toUser } from '../domain/user.js';
import { apiKeyCreated, userCreated } from '../events.js';
import { newApiKey } from '../keys/new-key.js';
import { generatePassword } from '../passwords.js';
import { isAnybodyThere } from '../stores/users.js';
import type { Parts } from './parts.js';

const ADDRESS = /^[^\s@]+@[^\s@]+$/;
const NOBODY: BootstrapResponse = { created: false, user: undefined, password: '', apiKey: '', defaultWorkspaceId: '' };

/** The first start: somebody has to be there before anybody can be invited. */
export function createBootstrapHandlers(parts: Parts): Pick<Handlers<AuthService>, 'bootstrap'> {
  return {
    async bootstrap(request, context) {
      if (await isAnybodyThere(parts.users)) return NOBODY;
      if (!ADDRESS.test(request.email)) throw invalidField('email', 'invalid_value', 'This is no e-mail address.');
      if (!request.scopes.every(isKnownScope)) throw invalidField('scopes', 'invalid_scope', 'There is no such scope.');
      // The id is always the same, so that of several that try at once, or one that tries again, one person comes.
      const id = derivedId('first-person');
      await parts.directory.ensurePersonalWorkspace(
        { userId: id, userName: request.name, userEmail: request.email },
        context.onward,
      );
      return addFirstPerson(id, request, context, parts);
    },
  };
}

/** Commits here and not with the answer: to be beaten by another is no error. */
async function addFirstPerson(
  id: string,
  { email, name, scopes }: BootstrapRequest,
  context: CallContext,
  { store, users, apiKeys, keyHolders, passwords, keys, now }: Parts,
): Promise<BootstrapResponse> {
  const password = generatePassword();
  const passwordHash = await passwords.hash(password);
  const tenant = homeOf(id);
  const draft = { tenant, type: 'personal', actingUserId: id, name: 'Bootstrap' } as const;
  const granted = scopes.length > 0 ? scopes : KNOWN_SCOPES;
  const { record, secret } = newApiKey({ ...draft, scopes: granted }, keys.apiKeys, now());

  const work = store.begin();
  const person = newUser({ id, email, name, passwordHash, now: now() });
  const user = work.insert(users, { ...person, emailVerified: true, home: true });
  const key = work.insert(apiKeys, record);
  work.insert(keyHolders, { id: tenant, tenant, createdAt: record.createdAt });
  work.publish(userCreated(context, id));
  work.publish(apiKeyCreated(context, key));
  try {
    await work.commit();
  } catch (error) {
    if (error instanceof LostRace || error instanceof UniqueTaken) return NOBODY;
    throw error;
  }
  return { created: true, user: toUser(user), password, apiKey: secret, defaultWorkspaceId: tenant };
}

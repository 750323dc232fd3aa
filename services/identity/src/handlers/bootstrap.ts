import { isKnownScope, KNOWN_SCOPES } from '@commonplace/kit/auth';
import { invalidField } from '@commonplace/kit/errors';
import { derivedId, homeOf } from '@commonplace/kit/id';
import type { Passwords } from '@commonplace/kit/passwords';
import type { CallContext, Client, Handlers } from '@commonplace/kit/rpc';
import { type Collection, LostRace, type Store, UniqueTaken } from '@commonplace/kit/store';
import type { AuthService, BootstrapRequest, BootstrapResponse } from '@commonplace/proto/identity/v1/auth_service.js';
import type { DirectoryService } from '@commonplace/proto/tenancy/v1/directory_service.js';
import type { Settings } from '../config.js';
import type { PurposeKeys } from '../domain/secrets.js';
import { newUser, toUser } from '../domain/user.js';
import { apiKeyCreated, userCreated } from '../events.js';
import { newApiKey } from '../keys/new-key.js';
import { defaultEnd } from '../keys/terms.js';
import { generatePassword } from '../passwords.js';
import type { ApiKeyRecord, KeyHolderRecord } from '../stores/api-keys.js';
import { hasUsers, type UserRecord } from '../stores/users.js';

const ADDRESS = /^[^\s@]+@[^\s@]+$/;
const NOBODY: BootstrapResponse = { created: false, user: undefined, password: '', apiKey: '', defaultWorkspaceId: '' };

export interface BootstrapParts {
  readonly settings: Pick<Settings, 'passwordMinLength' | 'keyLifetimeDays'>;
  readonly store: Store;
  readonly users: Collection<UserRecord>;
  readonly apiKeys: Collection<ApiKeyRecord>;
  readonly keyHolders: Collection<KeyHolderRecord>;
  readonly directory: Client<DirectoryService>;
  readonly passwords: Passwords;
  readonly keys: Pick<PurposeKeys, 'apiKeys'>;
  readonly now: () => number;
}

/** Creates the handler of the first start, which creates the person who can invite all others. */
export function createBootstrapHandlers(parts: BootstrapParts): Pick<Handlers<AuthService>, 'bootstrap'> {
  return {
    async bootstrap(request, context) {
      if (await hasUsers(parts.users)) return NOBODY;
      if (!ADDRESS.test(request.email)) throw invalidField('email', 'invalid_value', 'This is not an e-mail address.');
      const { passwordMinLength } = parts.settings;
      if (request.password !== '' && request.password.length < passwordMinLength) {
        throw invalidField(
          'password',
          'invalid_value',
          `The owner's password has at least ${passwordMinLength} characters.`,
        );
      }
      if (!request.scopes.every(isKnownScope)) throw invalidField('scopes', 'invalid_scope', 'There is no such scope.');
      // The id is always the same, so that concurrent or repeated attempts create one person only.
      const id = derivedId('first-person');
      await parts.directory.ensurePersonalWorkspace(
        { userId: id, userName: request.name, userEmail: request.email },
        context.onward,
      );
      return addFirstPerson(id, request, context, parts);
    },
  };
}

/**
 * Creates the person and key. Commits here rather than with the response, since losing the race to another attempt
 * is no error.
 */
async function addFirstPerson(
  id: string,
  { email, name, scopes, password: chosen, withoutKey }: BootstrapRequest,
  context: CallContext,
  { store, users, apiKeys, keyHolders, passwords, keys, settings, now }: BootstrapParts,
): Promise<BootstrapResponse> {
  const password = chosen === '' ? generatePassword() : chosen;
  const passwordHash = await passwords.hash(password);
  const tenant = homeOf(id);
  const draft = { tenant, type: 'personal', actingUserId: id, name: 'Bootstrap' } as const;
  const granted = scopes.length > 0 ? scopes : KNOWN_SCOPES;
  const expiresAt = defaultEnd(settings.keyLifetimeDays, now());
  const terms = { ...draft, scopes: granted, ...(expiresAt === undefined ? {} : { expiresAt }) };
  const { record, secret } = newApiKey(terms, keys.apiKeys, now());

  const work = store.begin();
  const person = newUser({ id, email, name, passwordHash, now: now() });
  const user = work.insert(users, { ...person, emailVerified: true, home: true });
  work.insert(keyHolders, { id: tenant, tenant, createdAt: record.createdAt });
  work.publish(userCreated(context, user));
  if (!withoutKey) work.publish(apiKeyCreated(context, work.insert(apiKeys, record)));
  try {
    await work.commit();
  } catch (error) {
    if (error instanceof LostRace || error instanceof UniqueTaken) return NOBODY;
    throw error;
  }
  return {
    created: true,
    user: toUser(user),
    password: chosen === '' ? password : '',
    apiKey: withoutKey ? '' : secret,
    defaultWorkspaceId: tenant,
  };
}

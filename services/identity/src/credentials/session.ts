import { KNOWN_SCOPES } from '@commonplace/kit/auth';
import type { Collection } from '@commonplace/kit/store';
import { credentialIdOf, isOutdated } from '../domain/session.js';
import { InvalidCredentials } from '../errors.js';
import { requireStrength, type StrengthParts } from '../security/signed-in.js';
import type { Sessions } from '../sessions.js';
import { activeUser, type UserRecord } from '../stores/users.js';
import type { Principal } from './principal.js';

/** Creates a reader of session cookies. A session has every scope, and is bound to no tenant. */
export function createSessionReader(sessions: Sessions, users: Collection<UserRecord>, strength: StrengthParts) {
  return async (cookie: string): Promise<Principal> => {
    const { record, csrfToken } = await sessions.open(cookie);
    const user = await activeUser(users, record.userId);
    if (user === undefined || isOutdated(record, user)) throw InvalidCredentials();
    requireStrength(record, user, strength);
    sessions.touch(record);
    const id = credentialIdOf(record.id);
    return { user, csrfToken, credential: { type: 'session', id, scopes: KNOWN_SCOPES, expiresAt: record.expiresAt } };
  };
}

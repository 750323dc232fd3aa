import { createEvent, type DomainEvent, systemActor } from '@commonplace/kit/events';
import { derivedId } from '@commonplace/kit/id';
import { networkOf } from '@commonplace/kit/network';
import type { CallContext } from '@commonplace/kit/rpc';
import type { ApiKeyExpiring, ApiKeySuspended, SessionStarted } from '@commonplace/proto/identity/v1/events.js';
import type { ApiKeyRecord } from './stores/api-keys.js';
import type { PasskeyRecord } from './stores/passkeys.js';
import type { UserRecord } from './stores/users.js';

export function userCreated(context: CallContext, { id, name }: Pick<UserRecord, 'id' | 'name'>): DomainEvent {
  return context.event('user.created', id, { userId: id, userName: name });
}

export function sessionStarted(
  context: CallContext,
  session: { readonly credentialId: string; readonly method: SignInMethod; readonly clientIp: string },
  { id: userId, name: userName }: Pick<UserRecord, 'id' | 'name'>,
): DomainEvent {
  const { credentialId, method, clientIp } = session;
  const data: SessionStarted = { credentialId, userId, userName, method };
  const network = networkOf(clientIp);
  return {
    ...context.event('session.started', credentialId, data as object as Record<string, unknown>),
    actor: { type: 'user', id: userId, name: userName },
    ...(network === undefined ? {} : { network }),
  };
}

export type SignInMethod = 'password' | 'sign_up' | 'oidc' | 'passkey';

export function sessionEnded(
  context: CallContext,
  credentialId: string,
  user: Pick<UserRecord, 'id' | 'name'> | undefined,
): DomainEvent {
  const data = { credentialId, ...(user === undefined ? {} : { userId: user.id, userName: user.name }) };
  return context.event('session.ended', credentialId, data);
}

type Person = Pick<UserRecord, 'id' | 'name'>;

export function userPasswordChanged(context: CallContext, user: Person, how: 'changed' | 'reset'): DomainEvent {
  return byPerson(context, 'user.password_changed', user, { how });
}

export function secondFactorChanged(context: CallContext, user: Person, how: string): DomainEvent {
  return byPerson(context, 'user.second_factor_changed', user, { how });
}

export function emailVerified(context: CallContext, user: Person): DomainEvent {
  return byPerson(context, 'user.email_verified', user, {});
}

/** Returns the event that the owner of an address has taken over the account that somebody created with it. */
export function accountReclaimed(context: CallContext, user: Person): DomainEvent {
  return byPerson(context, 'user.reclaimed', user, {});
}

export function passkeyAdded(context: CallContext, user: Person, passkey: PasskeyRecord): DomainEvent {
  return byPerson(context, 'user.passkey_added', user, passkeyFacts(passkey));
}

export function passkeyRemoved(context: CallContext, user: Person, passkey: PasskeyRecord): DomainEvent {
  return byPerson(context, 'user.passkey_removed', user, passkeyFacts(passkey));
}

/** Returns the data of a passkey for events. */
export function passkeyFacts({ id: passkeyId, name }: PasskeyRecord): Record<string, unknown> {
  return { passkeyId, name };
}

/**
 * Returns an event about a person's change to their own account, with them as the actor. Such calls have no caller
 * token.
 */
function byPerson(context: CallContext, type: string, { id, name }: Person, data: object): DomainEvent {
  const event = context.event(type, id, { userId: id, userName: name, ...data });
  return { ...event, actor: { type: 'user', id, name } };
}

export function apiKeyCreated(context: CallContext, key: ApiKeyRecord): DomainEvent {
  return context.event('api_key.created', key.id, keyFacts(key), key.tenant);
}

export function apiKeyRevoked(context: CallContext, key: ApiKeyRecord): DomainEvent {
  return context.event('api_key.revoked', key.id, { ...keyFacts(key), credentialId: key.id }, key.tenant);
}

/** Returns the event that a key got a new secret; every cache of the key drops it. */
export function apiKeyRotated(context: CallContext, key: ApiKeyRecord): DomainEvent {
  const data = { ...keyFacts(key), credentialId: key.id, formerKeyExpiresAt: key.former?.expiresAt };
  return context.event('api_key.rotated', key.id, data, key.tenant);
}

/** Returns the event that a person revoked a key by a call that has no caller token. */
export function apiKeyRevokedBy(context: CallContext, key: ApiKeyRecord, { id, name }: Person): DomainEvent {
  return { ...apiKeyRevoked(context, key), actor: { type: 'user', id, name } };
}

/** Returns the event that a key was revoked because its Org was purged; every cache of the key drops it. */
export function apiKeyRevokedByJob(key: ApiKeyRecord, time: string): DomainEvent {
  const data = { ...keyFacts(key), credentialId: key.id };
  return madeByJob('api_key.revoked', `api-key-revoked:${key.id}`, key, data, time);
}

/** Returns the data of a key for events: its owner and name, and no secret. */
export function keyFacts({ id: keyId, actingUserId: userId, orgId, name }: ApiKeyRecord): Record<string, unknown> {
  return { keyId, userId, ...(orgId === undefined ? {} : { orgId }), name };
}

/** Returns the notice that a key expires soon. The event id is derived, so that the same notice has the same id. */
export function apiKeyExpiring(key: ApiKeyRecord, daysLeft: number, time: string): DomainEvent {
  const { id, actingUserId: userId, orgId, name, expiresAt } = key;
  const data: ApiKeyExpiring = { keyId: id, userId, orgId, name, expiresAt, daysLeft };
  return madeByJob('api_key.expiring', `api-key-expiring:${id}:${daysLeft}`, key, data, time);
}

/**
 * Returns the event that an Org's key no longer has an active member behind it. The id is derived from the key's
 * version, so that each suspension is a new event. Of the Org's administrators those are notified who are not the person.
 */
export function apiKeySuspended(key: ApiKeyRecord, time: string, adminIds: readonly string[]): DomainEvent {
  const { id, actingUserId: userId, orgId = '', name, version } = key;
  const notifyUserIds = adminIds.filter((adminId) => adminId !== userId);
  const data: ApiKeySuspended = { keyId: id, userId, orgId, name, notifyUserIds };
  return madeByJob('api_key.suspended', `api-key-suspended:${id}:${version}`, key, data, time);
}

/** Returns an event that no request causes. Its id is derived from `about`. */
function madeByJob(type: string, about: string, key: ApiKeyRecord, data: object, time: string): DomainEvent {
  return createEvent({
    service: 'identity',
    type,
    id: derivedId(about),
    subject: key.id,
    data,
    time,
    tenant: key.tenant,
    actor: systemActor('identity'),
  });
}

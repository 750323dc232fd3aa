import type { DomainEvent } from '@commonplace/kit/events';
import { derivedId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import type { ApiKeyExpiring, ApiKeySuspended } from '@commonplace/proto/identity/v1/events.js';
import type { ApiKeyRecord } from './stores/api-keys.js';

export function userCreated(context: CallContext, userId: string): DomainEvent {
  return context.event('user.created', userId, { userId });
}

export function sessionEnded(context: CallContext, credentialId: string): DomainEvent {
  return context.event('session.ended', credentialId, { credentialId });
}

export function apiKeyCreated(context: CallContext, key: ApiKeyRecord): DomainEvent {
  return context.event('api_key.created', key.id, { keyId: key.id }, key.tenant);
}

export function apiKeyRevoked(context: CallContext, key: ApiKeyRecord): DomainEvent {
  return context.event('api_key.revoked', key.id, { keyId: key.id, credentialId: key.id }, key.tenant);
}

/** The end of a key is near; the same notice always has the same id. */
export function apiKeyExpiring(key: ApiKeyRecord, daysLeft: number, time: string): DomainEvent {
  const { id, actingUserId: userId, orgId, name, expiresAt } = key;
  const data: ApiKeyExpiring = { keyId: id, userId, orgId, name, expiresAt, daysLeft };
  return madeByJob('api_key.expiring', `api-key-expiring:${id}:${daysLeft}`, key, data, time);
}

/** Nobody stands behind a key of an Org any more; each time it comes to that is another event. */
export function apiKeySuspended(key: ApiKeyRecord, time: string): DomainEvent {
  const { id, actingUserId: userId, orgId = '', name, version } = key;
  const data: ApiKeySuspended = { keyId: id, userId, orgId, name };
  return madeByJob('api_key.suspended', `api-key-suspended:${id}:${version}`, key, data, time);
}

/** An event without a request behind it, with an id derived from what it is about. */
function madeByJob(type: string, about: string, key: ApiKeyRecord, data: object, time: string): DomainEvent {
  return {
    specversion: '1.0',
    id: `evt_${derivedId(about)}`,
    source: '/identity',
    type: `commonplace.identity.${type}`,
    subject: key.id,
    time,
    datacontenttype: 'application/json',
    data: { ...data },
    tenant: key.tenant,
    actor: { type: 'system', id: 'identity', name: 'identity' },
  };
}

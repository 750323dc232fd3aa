import type { DomainEvent } from '@commonplace/kit/events';
import type { ApiKeyExpiring, ApiKeySuspended } from '@commonplace/proto/identity/v1/events.js';
import { type Draft, idsIn } from './draft.js';

/** Returns the draft for the person that an expiring key acts as. */
export function keyExpiring({ data }: DomainEvent): Draft[] {
  const { keyId = '', userId = '', orgId, name = '', daysLeft = 0 } = data as Partial<ApiKeyExpiring>;
  if (userId === '') return [];
  const target = { type: 'api_key', id: keyId } as const;
  return [
    { type: 'key_expiring', to: [userId], groupKey: `key:${keyId}`, target, orgId, facts: { key: { name, daysLeft } } },
  ];
}

/** Returns the draft for the administrators of an Org, of whose keys one was suspended with the person it acts as. */
export function keySuspended({ data }: DomainEvent): Draft[] {
  const { keyId = '', orgId, name = '', notifyUserIds } = data as Partial<ApiKeySuspended>;
  const to = idsIn(notifyUserIds);
  if (to.length === 0) return [];
  const target = { type: 'api_key', id: keyId } as const;
  return [{ type: 'key_suspended', to, groupKey: `key:${keyId}:suspended`, target, orgId, facts: { called: name } }];
}

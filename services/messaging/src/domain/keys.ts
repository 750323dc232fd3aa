import type { DomainEvent } from '@commonplace/kit/events';
import type { ApiKeyExpiring } from '@commonplace/proto/identity/v1/events.js';
import type { Draft } from './draft.js';

/** Returns the draft for the person that an expiring key acts as. */
export function keyExpiring({ data }: DomainEvent): Draft[] {
  const { keyId = '', userId = '', orgId, name = '', daysLeft = 0 } = data as Partial<ApiKeyExpiring>;
  if (userId === '') return [];
  const target = { type: 'api_key', id: keyId } as const;
  return [
    { type: 'key_expiring', to: [userId], groupKey: `key:${keyId}`, target, orgId, facts: { key: { name, daysLeft } } },
  ];
}

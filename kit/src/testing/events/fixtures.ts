import type { DomainEvent } from '../../events/port.js';
import { newId } from '../../id/index.js';

/** Creates an event about a subject, by default with a type for tests. */
export function createEvent(
  subject: string,
  data: Record<string, unknown> = {},
  type = 'commonplace.contract.thing.changed',
): DomainEvent {
  return {
    specversion: '1.0',
    id: `evt_${newId()}`,
    source: '/contract',
    type,
    subject,
    time: new Date().toISOString(),
    datacontenttype: 'application/json',
    data,
    tenant: 'org-1',
    actor: { type: 'user', id: 'u1', name: 'Ä. Person' },
    chain: ['evt_before'],
  };
}

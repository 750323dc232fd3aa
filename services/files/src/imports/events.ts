import { createEvent, type DomainEvent } from '@commonplace/kit/events';
import type { ImportRecord } from './stores/records.js';

export function finishedEvent(record: ImportRecord): DomainEvent {
  const { id, workspaceId, tenant, name, status, rootResourceId = '', userId, error, done } = record;
  return createEvent({
    service: 'files',
    type: 'import.finished',
    subject: id,
    data: {
      importId: id,
      workspaceId,
      status,
      name,
      rootResourceId,
      userId,
      code: error?.code ?? '',
      created: done.succeeded,
      failed: done.failed,
    },
    tenant,
    // The actor is the import and not the user who began it, because that user is notified of it.
    actor: { type: 'import', id, name },
  });
}

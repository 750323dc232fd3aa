import type { DomainEvent } from '@commonplace/kit/events';
import { newId } from '@commonplace/kit/id';
import type { ImportRecord } from './stores/records.js';

/** An import has come to its end. */
export function finishedEvent(record: ImportRecord): DomainEvent {
  const { id, workspaceId, tenant, name, status, rootResourceId = '', userId, error, done } = record;
  return {
    specversion: '1.0',
    id: `evt_${newId()}`,
    source: '/files',
    type: 'commonplace.files.import.finished',
    subject: id,
    time: new Date().toISOString(),
    datacontenttype: 'application/json',
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
    // The import did it, and not who began it: they are told.
    actor: { type: 'import', id, name },
  };
}

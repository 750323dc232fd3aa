import type { DomainEvent } from '@commonplace/kit/events';
import { newId } from '@commonplace/kit/id';

interface About {
  readonly resourceId: string;
  readonly workspaceId: string;
  readonly revision: string;
  readonly tenant: string;
  readonly code?: string;
}

/** An upload has become a version, or did not. */
export function fileEvent(verb: 'ready' | 'failed', { tenant, ...about }: About): DomainEvent {
  return {
    specversion: '1.0',
    id: `evt_${newId()}`,
    source: '/files',
    type: `commonplace.files.file.${verb}`,
    subject: about.resourceId,
    time: new Date().toISOString(),
    datacontenttype: 'application/json',
    data: { ...about, code: about.code ?? '' },
    tenant,
  };
}

import { createEvent, type DomainEvent } from '@commonplace/kit/events';

interface FileReference {
  readonly resourceId: string;
  readonly workspaceId: string;
  readonly revision: string;
  readonly tenant: string;
  readonly code?: string;
}

/** Creates the event that an upload has become a version or has failed. */
export function fileEvent(verb: 'ready' | 'failed', { tenant, ...about }: FileReference): DomainEvent {
  const data = { ...about, code: about.code ?? '' };
  return createEvent({ service: 'files', type: `file.${verb}`, subject: about.resourceId, data, tenant });
}

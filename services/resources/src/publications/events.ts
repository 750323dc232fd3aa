import type { CallContext } from '@commonplace/kit/rpc';
import type { PublicationRecord } from './records.js';

/** Publishes the event that readers of a publication now see other content or have lost access. */
export function publishPublication(
  context: Pick<CallContext, 'work' | 'event'>,
  { id, itemId, kind, workspaceId, active, version, tenant }: PublicationRecord,
  fields: readonly string[],
): void {
  const data = {
    publicationId: id,
    ...(kind === 'resource' && { resourceId: itemId }),
    workspaceId,
    status: active ? 'active' : 'unpublished',
    changedFields: fields.filter((name) => name !== 'password'),
    version,
  };
  context.work.publish(context.event('publication.updated', itemId, data, tenant));
}

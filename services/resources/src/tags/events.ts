import type { CallContext } from '@commonplace/kit/rpc';
import type { Tag } from './records.js';

/** Publishes a change to a tag itself; `publishChange` publishes the changes to the nodes that carry it. */
export function publishTag(
  context: Pick<CallContext, 'work' | 'event'>,
  verb: 'tag.created' | 'tag.updated' | 'tag.merged' | 'tag.deleted',
  { id, workspaceId, tenant, version }: Tag,
  { fields = [], into }: { readonly fields?: readonly string[]; readonly into?: string } = {},
): void {
  const data = { tagId: id, workspaceId, changedFields: [...fields], version, intoTagId: into };
  context.work.publish(context.event(verb, id, data, tenant));
}

import type { CallContext } from '@commonplace/kit/rpc';
import type { Node } from './stores/nodes.js';

/** Ids that one event names at the most, so that it stays thin. */
export const IDS_PER_EVENT = 200;

export interface Change {
  readonly verb:
    | 'resource.created'
    | 'resource.updated'
    | 'resource.moved'
    | 'resource.trashed'
    | 'resource.restored'
    | 'resource.purged'
    | 'content.updated';
  readonly fields?: readonly string[];
}

/** Tells of a change to a node, and to nodes below it that changed with it. */
export function publishChange(
  context: Pick<CallContext, 'work' | 'event'>,
  { verb, fields = [] }: Change,
  head: Pick<Node, 'id' | 'workspaceId' | 'tenant' | 'version' | 'contentVersion'>,
  below: readonly { readonly id: string }[] = [],
): void {
  const ids = [head.id, ...below.map(({ id }) => id)];
  for (let from = 0; from < ids.length; from += IDS_PER_EVENT) {
    const data = {
      resourceIds: ids.slice(from, from + IDS_PER_EVENT),
      workspaceId: head.workspaceId,
      changedFields: [...fields],
      version: head.version,
      contentVersion: head.contentVersion,
    };
    context.work.publish(context.event(verb, head.id, data, head.tenant));
  }
}

import type { CallContext } from '@commonplace/kit/rpc';
import type { Node } from '../domain/node.js';
import type { SnapshotRecord } from './records.js';

/** Publishes that a snapshot of a node was created. */
export function publishSnapshot(
  context: Pick<CallContext, 'work' | 'event'>,
  { id, resourceId, reason, contentVersion }: SnapshotRecord,
  { workspaceId, tenant }: Pick<Node, 'workspaceId' | 'tenant'>,
): void {
  const data = { snapshotId: id, resourceId, workspaceId, reason, contentVersion };
  context.work.publish(context.event('snapshot.created', resourceId, data, tenant));
}

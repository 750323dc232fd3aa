import { newId } from '@commonplace/kit/id';
import type { UnitOfWork } from '@commonplace/kit/store';
import { traceparentNow } from '@commonplace/kit/telemetry';
import type { Node } from '../domain/node.js';
import type { CommentParts } from './parts.js';

/** Maximum number of comments that one unit of work deletes together with their nodes. */
const MAX_PER_UNIT_OF_WORK = 500;

/** Deletes the comments on purged nodes: in the same unit of work if they are few, else by a job per node. */
export async function forgetComments(parts: CommentParts, work: UnitOfWork, nodes: readonly Node[]): Promise<void> {
  const documents = nodes.filter(({ type }) => type === 'document');
  const resourceId = { in: documents.map(({ id }) => id) };
  if ((await parts.comments.count({ resourceId }, MAX_PER_UNIT_OF_WORK + 1)) <= MAX_PER_UNIT_OF_WORK) {
    await removeSome(parts, work, resourceId);
    return;
  }
  const now = new Date().toISOString();
  for (const { id, tenant, workspaceId } of documents) {
    if ((await parts.comments.count({ resourceId: id }, 1)) === 0) continue;
    work.insert(parts.jobs, {
      id: newId(),
      tenant,
      headId: id,
      workspaceIds: [workspaceId],
      kind: 'uncomment',
      sweep: true,
      actor: { type: 'system', id: 'resources', name: 'Purge' },
      traceparent: traceparentNow(),
      createdAt: now,
      leaseUntil: now,
    });
  }
}

/** Adds the deletion of some comments to a unit of work. Returns whether none are left. */
export async function removeSome(
  parts: CommentParts,
  work: UnitOfWork,
  resourceId: string | { readonly in: readonly string[] },
): Promise<boolean> {
  const some = { where: { resourceId }, anyOrder: true, limit: MAX_PER_UNIT_OF_WORK };
  const comments = await parts.comments.find(some);
  for (const comment of comments) work.remove(parts.comments, comment);
  const threads = await parts.threads.find(some);
  for (const thread of threads) work.remove(parts.threads, thread);
  return comments.length < MAX_PER_UNIT_OF_WORK && threads.length < MAX_PER_UNIT_OF_WORK;
}

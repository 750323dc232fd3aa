import { derivedId, newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import { traceparentNow } from '@commonplace/kit/telemetry';
import { mayHaveChildren, type Node } from '../domain/node.js';
import type { TreeJob } from './jobs.js';
import type { NodeParts } from './parts.js';
import { PENDING_MAX_AGE_MS } from './pending.js';

/** The descendants of a head: all of them, or `large` if they are too many for one request. */
export type Below = { readonly nodes: readonly Node[] } | 'large';

/** Milliseconds within which a request must write the head after announcing its job. */
const ANNOUNCED_MS = 30_000;

/**
 * Reads the descendants of a head. Leaves them to a job also while another one is rewriting some of the workspace:
 * their records may not name the head yet, or have a former state.
 */
export async function loadBelow(parts: NodeParts, head: Node): Promise<Below> {
  if (!mayHaveChildren(head)) return { nodes: [] };
  if (await parts.tree.isRewritten(head.workspaceId)) return 'large';
  const limit = parts.settings.inlineSubtree;
  const nodes = await parts.tree.below(head.id, limit);
  return nodes.length < limit ? { nodes } : 'large';
}

/**
 * Enqueues a job in this call's unit of work. Used for subtrees that are no longer read, and for small ones that the
 * same unit of work rewrites, because a concurrent call may have created a child below. A creation after this commit
 * conflicts on the version of its parent; the job finds one that was committed before.
 */
export function enqueue(
  parts: NodeParts,
  context: CallContext,
  job: Omit<TreeJob, 'id' | 'version' | 'actor' | 'createdAt' | 'leaseUntil'>,
): void {
  const id = newId();
  const createdAt = new Date().toISOString();
  const traceparent = traceparentNow();
  context.work.insert(parts.jobs, { id, actor: context.actor, traceparent, createdAt, leaseUntil: createdAt, ...job });
  context.afterCommit(() => parts.pending.forget());
}

/** Maximum number of jobs of one kind below one head at once, with ample margin. */
const MAX_JOBS_PER_SUBTREE = 200;

/**
 * Returns the pending jobs of a kind on the subtrees of some heads. A job with `sweep` only looks for nodes created
 * late.
 */
export function jobsBelow(
  { jobs }: NodeParts,
  kind: 'trash' | 'restore',
  headIds: readonly string[],
): Promise<TreeJob[]> {
  return jobs.find({
    where: { createdAt: { gt: '' }, kind, headId: { in: headIds } },
    limit: MAX_JOBS_PER_SUBTREE * headIds.length,
  });
}

/** Returns whether a job of a kind has not yet processed all descendants of one of the heads. */
export async function isUnderWay(
  parts: NodeParts,
  kind: 'trash' | 'restore',
  headIds: readonly string[],
): Promise<boolean> {
  return (await jobsBelow(parts, kind, headIds)).some(({ sweep }) => sweep !== true);
}

/**
 * Announces a job for a large subtree, and waits until every process knows of it. The job starts after the request has
 * written the head or has failed to, and acts on the state in which it then finds the head.
 */
export async function announce(
  parts: NodeParts,
  context: CallContext,
  head: Node,
  job: Pick<TreeJob, 'kind' | 'workspaceIds' | 'reserved'> & { batchId?: string },
): Promise<void> {
  const id = derivedId(`tree-job:${context.requestId}:${head.id}:${job.kind}`);
  const now = Date.now();
  const leaseUntil = new Date(now + ANNOUNCED_MS).toISOString();
  // A run that lost a race has announced the job already, perhaps for what another batch was then.
  const known = await parts.jobs.get(id);
  const work = parts.store.begin();
  if (known !== undefined) work.replace(parts.jobs, known, { ...known, ...job, leaseUntil });
  else {
    work.insert(parts.jobs, {
      ...{ id, tenant: head.tenant, headId: head.id, actor: context.actor, traceparent: traceparentNow() },
      ...{ createdAt: new Date(now).toISOString(), leaseUntil, ...job },
    });
  }
  await work.commit();
  parts.pending.forget();
  await new Promise((resolve) => setTimeout(resolve, PENDING_MAX_AGE_MS));
  context.afterCommit(() => parts.runner.prompt(id));
}

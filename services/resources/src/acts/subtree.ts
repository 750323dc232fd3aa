import { derivedId, newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import { LostRace } from '@commonplace/kit/store';
import { traceparentNow } from '@commonplace/kit/telemetry';
import type { Parts } from '../parts.js';
import type { TreeJob } from '../stores/jobs.js';
import type { Node } from '../stores/nodes.js';
import { MAX_PENDING, PENDING_MAX_AGE_MS } from '../stores/pending.js';

/** What stands below a head: all of it, or too much for one request. */
export type Below = { readonly nodes: readonly Node[] } | 'large';

/** Milliseconds that a request has to write the head after its job was announced. */
const ANNOUNCED_MS = 30_000;

export async function loadBelow(parts: Parts, head: Node): Promise<Below> {
  const limit = parts.settings.inlineSubtree;
  const nodes = await parts.tree.below(head.id, limit);
  return nodes.length < limit ? { nodes } : 'large';
}

/**
 * Queues a job with what this call writes: for subtrees that nobody reads any more, and for small
 * ones that are rewritten in the same unit, because a child may have been created below meanwhile.
 * A creation after this commit is refused by its parent's version, one before it is found by the job.
 */
export function enqueue(
  parts: Parts,
  context: CallContext,
  job: Omit<TreeJob, 'id' | 'version' | 'actor' | 'createdAt' | 'leaseUntil'>,
): void {
  const id = newId();
  const createdAt = new Date().toISOString();
  const traceparent = traceparentNow();
  context.work.insert(parts.jobs, { id, actor: context.actor, traceparent, createdAt, leaseUntil: createdAt, ...job });
  context.afterCommit(() => {
    parts.pending.forget();
    parts.runner.start(id);
  });
}

/** Jobs of a kind that still work on what stands below some heads; those that sweep look for latecomers alone. */
export function jobsBelow({ jobs }: Parts, kind: 'trash' | 'restore', headIds: readonly string[]): Promise<TreeJob[]> {
  return jobs.find({ where: { createdAt: { gt: '' }, kind, headId: { in: headIds } }, limit: MAX_PENDING });
}

/** Whether such a job has not got through all that stands below one of the heads. */
export async function isUnderWay(
  parts: Parts,
  kind: 'trash' | 'restore',
  headIds: readonly string[],
): Promise<boolean> {
  return (await jobsBelow(parts, kind, headIds)).some(({ sweep }) => sweep !== true);
}

/**
 * Announces a job for a large subtree, and waits until every process knows of it. The job begins
 * when the request has written the head, or has failed to: it goes by the head as it then is.
 */
export async function announce(
  parts: Parts,
  context: CallContext,
  head: Node,
  job: Pick<TreeJob, 'kind' | 'workspaceIds'> & { batchId?: string },
): Promise<void> {
  const id = derivedId(`tree-job:${context.requestId}:${head.id}:${job.kind}`);
  const now = Date.now();
  const work = parts.store.begin();
  work.insert(parts.jobs, {
    id,
    tenant: head.tenant,
    headId: head.id,
    actor: context.actor,
    traceparent: traceparentNow(),
    createdAt: new Date(now).toISOString(),
    leaseUntil: new Date(now + ANNOUNCED_MS).toISOString(),
    ...job,
  });
  try {
    await work.commit();
  } catch (error) {
    if (!(error instanceof LostRace)) throw error;
  }
  parts.pending.forget();
  await new Promise((resolve) => setTimeout(resolve, PENDING_MAX_AGE_MS));
  context.afterCommit(() => parts.runner.start(id));
}

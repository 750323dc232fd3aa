import { setTimeout as delay } from 'node:timers/promises';
import { derivedId } from '@commonplace/kit/id';
import { LostRace } from '@commonplace/kit/store';
import type { Node } from '../domain/node.js';
import type { TreeParts } from './parts.js';

/** Maximum number of purges queued at a time, because each read of the tree takes all queued jobs into account. */
const MAX_QUEUED_PURGES = 100;

/** Milliseconds between two checks whether the queued purges have finished. */
const POLL_INTERVAL_MS = 200;

type PurgeParts = Pick<TreeParts, 'store' | 'jobs'> & { readonly tree: Pick<TreeParts['tree'], 'nodes'> };

/**
 * Queues a purge for each expired batch, a limited number at a time, until none is left. Returns the number of batches.
 */
export async function purgeExpired(parts: PurgeParts, now: string, signal: AbortSignal): Promise<number> {
  const where = { state: 'trashed', purgeAt: { lte: now }, trashHead: true } as const;
  let after: { readonly after?: readonly string[] } = {};
  for (let queued = 0; ; ) {
    const due: Node[] = await parts.tree.nodes.find({ where, sort: ['purgeAt'], limit: MAX_QUEUED_PURGES, ...after });
    const ids: string[] = [];
    for (const head of due) ids.push(await queuePurge(parts, head, now));
    queued += ids.length;
    const last = due.at(-1);
    if (last === undefined || due.length < MAX_QUEUED_PURGES) return queued;
    after = { after: [last.purgeAt as string, last.id] };
    while (await areRunning(parts, ids)) await delay(POLL_INTERVAL_MS, undefined, { signal, ref: false });
  }
}

/** Queues the job that purges a batch. Its id is derived, so that a batch found twice has one job. Returns the id. */
async function queuePurge(parts: PurgeParts, head: Node, now: string): Promise<string> {
  const { id: headId, tenant, workspaceId, batchId = '' } = head;
  const id = derivedId(`purge:${headId}:${batchId}`);
  const work = parts.store.begin();
  const actor = { type: 'system', id: 'resources', name: 'Trash retention' } as const;
  const about = { tenant, headId, kind: 'purge', batchId, actor, workspaceIds: [workspaceId] } as const;
  work.insert(parts.jobs, { id, ...about, createdAt: now, leaseUntil: now });
  try {
    await work.commit();
  } catch (error) {
    if (!(error instanceof LostRace)) throw error;
  }
  return id;
}

/** Returns whether any purge is still to run; failed ones do not count, because they wait for their retry. */
async function areRunning({ jobs }: PurgeParts, ids: readonly string[]): Promise<boolean> {
  return (await jobs.getMany([...ids])).some(({ failures = 0 }) => failures === 0);
}

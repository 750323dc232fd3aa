import type { Caller } from '@commonplace/kit/auth';
import { LostRace, type UnitOfWork } from '@commonplace/kit/store';
import type { CopyTerms } from '../acts/copy-nodes.js';
import { copyPlanned } from '../acts/copy-planned.js';
import { copyId } from '../domain/copy.js';
import { rootPlace } from '../domain/tree.js';
import type { Parts } from '../parts.js';
import { copyPieceId, copyPieces } from '../stores/copies.js';
import type { CopyProgress, TreeJob } from '../stores/jobs.js';
import type { Node } from '../stores/nodes.js';
import { jobContext } from './context.js';
import { LEASE_MS } from './runner.js';

/** Pieces after which other jobs have their turn. */
const PIECES_AT_ONCE = 20;

/**
 * Goes on with a copy, piece by piece. A piece and the word that it is done are one unit of work, so that whoever
 * takes the job over makes each copy once.
 */
export async function copyOn(
  parts: Parts,
  job: TreeJob,
  stopped: () => boolean,
  finish: (parts: Parts, job: TreeJob) => Promise<void> = finishCopy,
): Promise<void> {
  const terms = await termsOf(parts, job);
  let held = job;
  for (let turns = 0; turns < PIECES_AT_ONCE; turns++) {
    if (stopped()) return;
    const { pieces, done } = progressOf(held);
    if (done === pieces) return finish(parts, held);
    held = (await copyPiece(parts, held, terms)) ?? held;
  }
  parts.runner.start(job.id);
}

function progressOf({ copy }: TreeJob): CopyProgress {
  return copy as CopyProgress;
}

async function termsOf(parts: Parts, job: TreeJob): Promise<CopyTerms> {
  const planned = (await copyPieces(parts.copyPieces, job.id)).flatMap(({ copies }) => copies);
  const { sourceId, reader, grants, withComments = false, formOnly = false } = progressOf(job);
  const sources = new Set([sourceId, ...planned.map(({ id }) => id)]);
  const renamed = (id: string) => (sources.has(id) ? copyId(job.id, id) : undefined);
  const readable = (nodes: readonly Node[]) => parts.policy.areReadableBy(nodes, reader as Caller, parts.systemCall());
  return {
    renamed,
    withComments,
    grants,
    newTags: new Map(),
    root: rootOf(job),
    template: job.kind === 'build',
    formOnly,
    ...(reader !== undefined && { readable }),
  };
}

function rootOf(job: TreeJob): CopyTerms['root'] {
  const { sourceId, root } = progressOf(job);
  return root && { from: sourceId, to: rootPlace(root.id, root.orgId) };
}

/** One piece, with the lease renewed in it; undefined after a lost race. */
async function copyPiece(parts: Parts, job: TreeJob, terms: CopyTerms): Promise<TreeJob | undefined> {
  const progress = progressOf(job);
  const piece = await parts.copyPieces.get(copyPieceId(job.id, progress.done));
  const work = parts.store.begin();
  await copyPlanned(parts, job.id, piece?.copies ?? [], terms, jobContext(parts, job, work));
  const leaseUntil = new Date(Date.now() + LEASE_MS).toISOString();
  const held = work.replace(parts.jobs, job, { ...job, leaseUntil, copy: { ...progress, done: progress.done + 1 } });
  try {
    await work.commit();
    return held;
  } catch (error) {
    if (!(error instanceof LostRace) || error.id === job.id) throw error;
    return undefined;
  }
}

async function finishCopy(parts: Parts, job: TreeJob): Promise<void> {
  const work = parts.store.begin();
  await endCopy(parts, job, work);
  await work.commit();
}

/** Takes a copying job away with its plan. */
export async function endCopy(parts: Parts, job: TreeJob, work: UnitOfWork): Promise<void> {
  for (const piece of await copyPieces(parts.copyPieces, job.id)) work.remove(parts.copyPieces, piece);
  work.remove(parts.jobs, job);
}

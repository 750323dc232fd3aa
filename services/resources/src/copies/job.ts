import type { Caller } from '@commonplace/kit/auth';
import type { HeldJob } from '@commonplace/kit/jobs';
import { createBreathe } from '@commonplace/kit/slices';
import type { UnitOfWork } from '@commonplace/kit/store';
import type { Node } from '../domain/node.js';
import { rootPlace } from '../domain/tree.js';
import { jobContext } from '../nodes/job-context.js';
import type { CopyProgress, TreeJob } from '../nodes/jobs.js';
import type { CopyTerms } from './copy-nodes.js';
import { copyPlanned } from './copy-planned.js';
import type { CopyParts } from './parts.js';
import { copyPieceId, copyPieces } from './records.js';
import { renamingOf } from './renaming.js';

/** Number of pieces after which other jobs get their turn. */
const PIECES_AT_ONCE = 20;

/**
 * Continues a copy, piece by piece. A piece and the record of its progress are written in one unit of work, so that
 * another worker that takes over the job does not copy anything twice.
 */
export async function copyOn(
  parts: CopyParts,
  job: HeldJob<TreeJob>,
  finish: () => Promise<void> = () => finishCopy(parts, job),
): Promise<void> {
  const terms = await termsOf(parts, job.record);
  for (let turns = 0; turns < PIECES_AT_ONCE; turns++) {
    if (job.isStopping) return;
    const { pieces, done } = progressOf(job.record);
    if (done === pieces) return finish();
    await copyPiece(parts, job, terms);
  }
}

function progressOf({ copy }: TreeJob): CopyProgress {
  return copy as CopyProgress;
}

async function termsOf(parts: CopyParts, job: TreeJob): Promise<CopyTerms> {
  const { reader, grants, copier, withComments = false, formOnly = false } = progressOf(job);
  const readable = (nodes: readonly Node[]) => parts.policy.areReadableBy(nodes, reader as Caller, parts.systemCall());
  return {
    renamed: await renamingOf(job.id, sourcesOf(parts, job), createBreathe()),
    withComments,
    grants,
    copier,
    createdForId: job.personId,
    newTags: new Map(),
    root: rootOf(job),
    template: job.kind === 'build',
    formOnly,
    ...(reader !== undefined && { readable }),
  };
}

async function* sourcesOf(parts: CopyParts, job: TreeJob): AsyncIterable<{ readonly id: string }> {
  yield { id: progressOf(job).sourceId };
  for await (const { copies } of copyPieces(parts.copyPieces, job.id)) yield* copies;
}

function rootOf(job: TreeJob): CopyTerms['root'] {
  const { sourceId, root } = progressOf(job);
  return root && { from: sourceId, to: rootPlace(root.id, root.orgId) };
}

async function copyPiece(parts: CopyParts, job: HeldJob<TreeJob>, terms: CopyTerms): Promise<void> {
  const piece = await parts.copyPieces.get(copyPieceId(job.record.id, progressOf(job.record).done));
  const oneMore = (record: TreeJob) => ({ copy: { ...progressOf(record), done: progressOf(record).done + 1 } });
  await job.save(oneMore, (work, record) =>
    copyPlanned(parts, record.id, piece?.copies ?? [], terms, jobContext(parts, record, work)),
  );
}

/** Ends a copy after its last piece, or when it is given up; what is already copied remains. */
export function finishCopy(parts: CopyParts, job: HeldJob<TreeJob>): Promise<void> {
  return job.remove((work, record) => removePlan(parts, record, work));
}

/** Deletes the plan of a copy job. */
export async function removePlan(parts: Pick<CopyParts, 'copyPieces'>, job: TreeJob, work: UnitOfWork): Promise<void> {
  for await (const piece of copyPieces(parts.copyPieces, job.id)) work.remove(parts.copyPieces, piece);
}

/** Deletes a copy job with its plan. */
export async function endCopy(parts: CopyParts, job: TreeJob, work: UnitOfWork): Promise<void> {
  await removePlan(parts, job, work);
  work.remove(parts.jobs, job);
}

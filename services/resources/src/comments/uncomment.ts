import type { HeldJob } from '@commonplace/kit/jobs';
import { removeInPieces } from '../nodes/job-pieces.js';
import type { TreeJob } from '../nodes/jobs.js';
import { removeSome } from './forget.js';
import type { CommentParts } from './parts.js';

/** Deletes the comments on a purged document. */
export function uncomment(parts: CommentParts, job: HeldJob<TreeJob>): Promise<void> {
  return removeInPieces(job, (work, { headId }) => removeSome(parts, work, headId));
}

import type { HeldJob } from '@commonplace/kit/jobs';
import { removeInPieces } from '../nodes/job-pieces.js';
import type { TreeJob } from '../nodes/jobs.js';
import { removeTraces } from './forget.js';
import type { FormParts } from './parts.js';

/** Deletes the submission records and the deliveries of a deleted form. */
export function unform(parts: FormParts, job: HeldJob<TreeJob>): Promise<void> {
  return removeInPieces(job, (work, { headId }) => removeTraces(parts, work, headId));
}

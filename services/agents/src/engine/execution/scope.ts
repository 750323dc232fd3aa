import type { HeldJob } from '@commonplace/kit/jobs';
import type { Parts } from '../../parts.js';
import type { RunRecord } from '../../stores/runs.js';
import type { Acting } from '../acting.js';
import type { Charges } from '../charges.js';
import type { RunMemories } from '../memories.js';
import type { OutputCheck } from '../output-check.js';
import type { Reply } from '../reply.js';
import type { Retrieval } from '../retrieval.js';
import type { Sources } from '../sources.js';
import type { StepLog } from '../step-log.js';

/** What the parts of one worker's work on one run share. */
export interface RunScope {
  readonly parts: Parts;
  readonly job: HeldJob<RunRecord>;
  /** Aborts when the run is cancelled, its time is up, or this worker stops or has lost it. */
  readonly signal: AbortSignal;
  readonly log: StepLog;
  readonly charges: Charges;
  readonly sources: Sources;
  readonly acting: Acting;
  readonly retrieval: Retrieval;
  readonly memories: RunMemories;
  readonly reply: Reply;
  /** Absent for a run whose result is a text. */
  readonly output: OutputCheck | undefined;
  readonly question: string;
  /** The question as far as the person has written it: empty if there is untrusted content in it. */
  readonly ownWords: string;
}

/** Returns how long a step has taken. */
export function elapsed({ startedAt }: { readonly startedAt: string }) {
  return { durationMs: Math.max(0, Date.now() - Date.parse(startedAt)) };
}

export const now = (): string => new Date().toISOString();

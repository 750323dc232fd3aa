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

/** The objects that one worker shares while executing one run. */
export interface RunScope {
  readonly parts: Parts;
  readonly job: HeldJob<RunRecord>;
  /** Aborts when the run is canceled or has timed out, or when this worker stops or has lost it. */
  readonly signal: AbortSignal;
  /** Aborts when the run is canceled or has timed out. Calls in progress may still finish. */
  readonly ending: AbortSignal;
  readonly log: StepLog;
  readonly charges: Charges;
  readonly sources: Sources;
  readonly acting: Acting;
  readonly retrieval: Retrieval;
  readonly memories: RunMemories;
  readonly reply: Reply;
  /** Absent for a run whose result is text. */
  readonly output: OutputCheck | undefined;
  readonly question: string;
  /** The question, if the person wrote all of it; empty if it contains untrusted content. */
  readonly ownWords: string;
}

/** Returns the duration of a step up to now. */
export function elapsed({ startedAt }: { readonly startedAt: string }) {
  return { durationMs: Math.max(0, Date.now() - Date.parse(startedAt)) };
}

export const now = (): string => new Date().toISOString();

import type { CallContext } from '@commonplace/kit/rpc';
import type { Parts } from '../parts.js';
import { keepsAnswers } from '../policy.js';
import { type Readable, readableAmong } from '../readable.js';
import type { RunRecord, StepRecord } from '../stores/runs.js';

/** What a reader may see of a run: which of its sources, and whether they see its answer. */
export interface ReaderView {
  readonly readable: Readable;
  readonly isOpen: boolean;
}

/** Returns what the caller may see of a run. */
export async function viewOf(
  parts: Pick<Parts, 'index' | 'memberships'>,
  run: RunRecord,
  steps: readonly StepRecord[],
  context: CallContext,
): Promise<ReaderView> {
  const ids = sourcesOf(run, steps);
  return viewIn(parts, run, ids, await readableAmong(parts, ids, context), context);
}

/** Returns what the caller may see of each of several runs, without their steps. */
export async function viewsOf(
  parts: Pick<Parts, 'index' | 'memberships'>,
  runs: readonly RunRecord[],
  context: CallContext,
): Promise<ReaderView[]> {
  const ids = runs.map((run) => sourcesOf(run, []));
  const readable = await readableAmong(parts, [...new Set(ids.flat())], context);
  return Promise.all(runs.map((run, i) => viewIn(parts, run, ids[i] ?? [], readable, context)));
}

async function viewIn(
  parts: Pick<Parts, 'memberships'>,
  run: RunRecord,
  ids: readonly string[],
  readable: Readable,
  context: CallContext,
): Promise<ReaderView> {
  const keeps = await keepsAnswers(parts, run.userId, run.workspaceId, context);
  const isTold = run.isPrivate !== true || run.userId === context.caller.userId;
  return { readable, isOpen: keeps || (isTold && ids.every((id) => readable.has(id))) };
}

function sourcesOf({ sourceIds = [], output }: RunRecord, steps: readonly StepRecord[]): string[] {
  const given = steps.flatMap(
    (step) => (step.output as { sources?: { resourceId: string }[] } | undefined)?.sources ?? [],
  );
  const cited = output?.citations ?? [];
  return [...new Set([...sourceIds, ...[...given, ...cited].map(({ resourceId }) => resourceId)])];
}

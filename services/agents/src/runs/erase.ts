import { createPeriodic, type Periodic, runEach } from '@commonplace/kit/jobs';
import { findEach, inWork } from '@commonplace/kit/store';
import { type TaintSource, unknownTaint } from '../domain/taint.js';
import type { Parts } from '../parts.js';
import type { ApprovalRecord } from '../stores/approvals.js';
import { hasEnded, type RunRecord, type StepRecord } from '../stores/runs.js';

type EraseParts = Pick<Parts, 'store' | 'runs' | 'steps' | 'approvals' | 'runEvents'>;

/**
 * Erases the texts of an ended run: its input and output, and those of its steps and approvals, and the names of what
 * it has read. Ids, usage and state are kept. Returns false, without any change, if the run has not ended.
 */
export async function eraseRun(
  { store, runs, steps, approvals, runEvents }: EraseParts,
  { id }: Pick<RunRecord, 'id'>,
  { forgetSession = false } = {},
): Promise<boolean> {
  const all = await steps.find({ where: { runId: id }, limit: 1_000 });
  const asked = await approvals.find({ where: { runId: id }, limit: 1_000 });
  const events = forgetSession ? await runEvents.find({ where: { runId: id }, limit: 1_000 }) : [];
  return inWork(store, async (work) => {
    const run = await work.get(runs, id);
    if (run === undefined) return true;
    if (!hasEnded(run)) return false;
    const { input: _, output: __, eraseAt: ___, draft: ____, draftCitations: _____, conversation, ...kept } = run;
    const taints = { taintSources: bareTaints(run.taintSources, id), inputTaints: bareTaints(run.inputTaints, id) };
    const bareConversation = conversation && { conversation: { ...conversation, earlier: [] } };
    work.replace(runs, run, {
      ...{ ...kept, ...taints },
      ...bareConversation,
      ...(forgetSession && { sessionId: undefined, metadata: {} }),
    });
    for (const step of all) {
      work.replace(steps, step, withoutData(step));
    }
    for (const approval of asked) work.replace(approvals, approval, withoutTexts(approval));
    for (const event of events) work.remove(runEvents, event);
    return true;
  });
}

/** Returns a step without its input and output, and without what its failure says of them. */
function withoutData(step: StepRecord): StepRecord {
  const { input: _, output: __, lateOutput: ___, error, ...bare } = step;
  return error === undefined ? bare : { ...bare, error: { ...error, message: ERASED } };
}

/** Returns one taint without the names of the sources, so that the run stays tainted. */
function bareTaints(taints: readonly TaintSource[] | undefined, runId: string): readonly TaintSource[] | undefined {
  return taints === undefined || taints.length === 0 ? taints : [unknownTaint(runId)];
}

const ERASED = 'What has failed was erased.';

function withoutTexts(approval: ApprovalRecord): ApprovalRecord {
  const { input: _, preview: __, editedInput: ___, answer: ____, comment: _____, ...rest } = approval;
  const { requestedSchema: ______, questionState: _______, inputSchema: ________, url: _________, ...bare } = rest;
  return { ...bare, title: '', taintSources: bareTaints(approval.taintSources, approval.runId) ?? [] };
}

const EVERY_MS = 3_600_000;
const CHUNK = 100;

/** Creates the job that erases the texts of runs when their retention time is over. */
export function createErasure(parts: EraseParts & Pick<Parts, 'log'>): Periodic {
  return createPeriodic({
    name: 'agents.erasure',
    everyMs: EVERY_MS,
    log: parts.log,
    run: (signal) => runEach(runsToErase(parts, signal), (run) => eraseRun(parts, run)),
  });
}

/** Yields the runs whose texts are to be erased, each once. */
async function* runsToErase({ runs }: Pick<Parts, 'runs'>, signal: AbortSignal): AsyncGenerator<RunRecord> {
  const where = { eraseAt: { lte: new Date().toISOString() } };
  for await (const run of findEach(runs, { where, sort: ['eraseAt'] }, CHUNK)) {
    if (signal.aborted) return;
    yield run;
  }
}

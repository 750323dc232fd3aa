import type { CallContext } from '@commonplace/kit/rpc';
import type { Parts } from '../parts.js';
import { keepsAnswers } from '../policy.js';
import { type Readable, readableAmong } from '../readable.js';
import type { RunRecord, StepRecord } from '../stores/runs.js';

/** The parts of a run that a reader may see: the readable sources, and whether the answer is shown. */
interface ReaderView {
  readonly readable: Readable;
  readonly isOpen: boolean;
}

/** Returns the parts of a run that the caller may see. */
export async function viewOf(
  parts: Pick<Parts, 'index' | 'memberships'>,
  run: RunRecord,
  steps: readonly StepRecord[],
  context: CallContext,
): Promise<ReaderView> {
  const origin = originOf(run, steps);
  const ids = new Set([...origin.ids, ...changedBy(run, steps)]);
  return viewIn(parts, run, origin, await readableAmong(parts, [...ids], context), context);
}

/** Returns the parts of several runs that the caller may see, without their steps. */
export async function viewsOf(
  parts: Pick<Parts, 'index' | 'memberships'>,
  runs: readonly RunRecord[],
  context: CallContext,
): Promise<ReaderView[]> {
  const origins = runs.map((run) => [run, originOf(run, [])] as const);
  const ids = new Set(origins.flatMap(([run, origin]) => [...origin.ids, ...changedBy(run, [])]));
  const readable = await readableAmong(parts, [...ids], context);
  return Promise.all(origins.map(([run, origin]) => viewIn(parts, run, origin, readable, context)));
}

/** The content that a run has received. */
interface Origin {
  readonly ids: readonly string[];
  /** Whether only the person who started the run may see that content. */
  readonly isPrivate: boolean;
  /** Whether all of it is known. While a run is at work, only its steps say what it has read. */
  readonly isKnown: boolean;
}

async function viewIn(
  parts: Pick<Parts, 'memberships'>,
  run: RunRecord,
  { ids, isPrivate, isKnown }: Origin,
  readable: Readable,
  context: CallContext,
): Promise<ReaderView> {
  const keeps = await keepsAnswers(parts, run.userId, run.workspaceId, context);
  const isTold = (isKnown && !isPrivate) || run.userId === context.caller.userId;
  return { readable, isOpen: keeps || (isTold && ids.every((id) => readable.has(id))) };
}

/** Returns the ids of the resources that a run has cited, created or changed. They do not hide its answer. */
function changedBy({ output }: RunRecord, steps: readonly StepRecord[]): string[] {
  const changed = resultsOf(steps).flatMap(({ resourceIds = [] }) => resourceIds);
  return [...(output?.resourceIds ?? []), ...changed];
}

function resultsOf(steps: readonly StepRecord[]): ToolOutput[] {
  return steps.flatMap(({ type, output }) => (type === 'tool_call' ? ((output as ToolOutput | undefined) ?? []) : []));
}

function originOf({ status, sourceIds, output, isPrivate }: RunRecord, steps: readonly StepRecord[]): Origin {
  const given = resultsOf(steps);
  const cited = [...given.flatMap(({ sources = [] }) => sources), ...(output?.citations ?? [])];
  const drawn = given.flatMap(({ drawnFrom = [] }) => drawnFrom);
  return {
    ids: [...new Set([...(sourceIds ?? []), ...drawn, ...cited.map(({ resourceId }) => resourceId)])],
    isPrivate: isPrivate === true || given.some((one) => one.isPrivate === true),
    isKnown: steps.length > 0 || output !== undefined || (sourceIds !== undefined && !AT_WORK.has(status)),
  };
}

/** The statuses in which a run may read more than its record says. */
const AT_WORK: ReadonlySet<RunRecord['status']> = new Set(['running', 'canceling']);

/** The output of a call of a tool, as its step stores it. */
interface ToolOutput {
  readonly sources?: readonly { readonly resourceId: string }[];
  readonly drawnFrom?: readonly string[];
  readonly resourceIds?: readonly string[];
  readonly isPrivate?: boolean;
}

import { setTimeout as sleep } from 'node:timers/promises';
import { newId } from '@commonplace/kit/id';
import { JobLost } from '@commonplace/kit/jobs';
import { inWork } from '@commonplace/kit/store';
import type { TaintSource } from '../../domain/taint.js';
import { supersede } from '../../runs/approval-writes.js';
import type { NewRunEvent } from '../../runs/log.js';
import type { ApprovalRecord } from '../../stores/approvals.js';
import { type Failure, hasEnded, NOTHING_SPENT, type RunRecord, type StepRecord } from '../../stores/runs.js';
import { RunFailure } from '../failure.js';
import { resultText } from '../prompt.js';
import type { ToolOutput } from '../step-log.js';
import type { ToolResult } from '../tools/tool.js';
import type { CallDenied } from './gate.js';
import { elapsed, type RunScope } from './scope.js';

/** Maximum number of untrusted sources whose names a run keeps. */
const MAX_TAINTS = 100;

/** Stores the results of calls. Each call has exactly one result; later ones are only recorded. */
export class CallResults {
  constructor(private readonly scope: Pick<RunScope, 'parts' | 'log' | 'sources'>) {}

  complete(step: StepRecord, result: ToolResult): Promise<void> {
    const { taints = [] } = result;
    const output = this.outputOf(result);
    const { isError } = output;
    this.scope.sources.drawFrom(output);
    const error = errorOf({ ...result, isError });
    const done = { ...step, status: isError ? 'failed' : 'completed', output, error, ...elapsed(step) } as const;
    return this.saveResult(done, taints);
  }

  /** Returns the output of a step for a result, whose passages become sources of the run. */
  outputOf({ text, found, origin, resourceIds, isError = false, drawnFrom, isPrivate }: ToolResult): ToolOutput {
    const sources = this.scope.sources.add(found);
    const fence = origin === undefined ? undefined : { origin, boundary: newId() };
    return { text: resultText(text, sources), sources, isError, fence, resourceIds, drawnFrom, isPrivate };
  }

  /** Fails a call before it leaves. `outdated` is its approval, if the tool has changed since. */
  async fail(step: StepRecord, message: string, outdated?: ApprovalRecord): Promise<undefined> {
    const error = { code: 'tool_error', message, retryable: false };
    return this.close({ ...step, status: 'failed', error }, message, outdated);
  }

  /** Denies a call. `outdated` is its approval, if the policy has changed since. */
  async deny(step: StepRecord, { code, message, endsRun }: CallDenied, outdated?: ApprovalRecord): Promise<undefined> {
    await this.close({ ...step, status: 'denied', error: { code, message, retryable: false } }, message, outdated);
    if (endsRun) throw new RunFailure('permission_lost', message, false);
    return undefined;
  }

  async close(step: StepRecord, text: string, outdated?: ApprovalRecord): Promise<undefined> {
    await this.saveResult({ ...step, output: { text, sources: [], isError: true }, ...elapsed(step) }, [], outdated);
    return undefined;
  }

  private async saveResult(step: StepRecord, taints: readonly TaintSource[], outdated?: ApprovalRecord): Promise<void> {
    const isStarted = this.scope.log.get(step.id)?.status !== 'planned' || step.approvalId !== undefined;
    const events: NewRunEvent[] = [
      ...(isStarted ? [] : [toolEvent('tool.started', step)]),
      toolEvent('tool.finished', step),
    ];
    const output = step.output as ToolOutput;
    const all = [...taints, ...output.sources.flatMap(({ taint }) => taint ?? [])];
    try {
      await this.scope.log.save(step, {
        ...{ spent: { ...NOTHING_SPENT, toolCalls: 1 }, events },
        change: (run) => (all.length === 0 ? {} : { taintSources: addTaints(run, all) }),
        also: (work, run) => outdated && supersede(this.scope.parts, work, outdated, run),
      });
    } catch (error) {
      if (error instanceof JobLost) await this.recordLate(step, output).catch(() => {});
      throw error;
    }
  }

  /**
   * Records the result of a call that returned after its worker lost the run, once the step is closed. No model
   * receives it. If the run has ended, the step stores it as its own result; otherwise only as a note.
   */
  async recordLate({ id, runId }: StepRecord, result: ToolOutput): Promise<void> {
    const { store, steps, runs } = this.scope.parts;
    for (let tries = 0; tries < LATE_TRIES; tries++) {
      const isOver = await inWork(store, async (work) => {
        const step = await work.get(steps, id);
        if (step === undefined || FINISHED.has(step.status)) return true;
        if (!CLOSED.has(step.status)) return false;
        const run = await work.get(runs, runId);
        work.replace(steps, step, run === undefined || hasEnded(run) ? lateEnd(step, result) : lateNote(step, result));
        return true;
      });
      if (isOver) return;
      await sleep(LATE_MS, undefined, { ref: false });
    }
  }
}

/** How often, and after how many milliseconds each, a late result looks whether its step is closed. */
const LATE_TRIES = 20;
const LATE_MS = 500;
const FINISHED: ReadonlySet<StepRecord['status']> = new Set(['completed', 'failed', 'denied']);
const CLOSED: ReadonlySet<StepRecord['status']> = new Set(['canceled', 'unknown']);

const lateNote = (step: StepRecord, result: ToolOutput): StepRecord => ({
  ...step,
  isLate: true,
  lateOutput: result,
});

/** Returns a step of an ended run with its late result, without its content if that of the run was erased. */
function lateEnd(step: StepRecord, result: ToolOutput): StepRecord {
  const status = result.isError ? 'failed' : 'completed';
  const isErased = step.input === undefined;
  const error = errorOf(isErased ? { ...result, text: '' } : result);
  return { ...step, isLate: true, status, output: isErased ? undefined : result, error, ...elapsed(step) };
}

/** Returns the failure that a result reports. */
function errorOf({ isError, text }: Pick<ToolOutput, 'isError' | 'text'>): Failure | undefined {
  return isError ? { code: 'tool_error', message: text.slice(0, 500), retryable: false } : undefined;
}

/** Returns the taints of a run with new ones added. Taints are never removed from a run. */
export function addTaints({ taintSources = [] }: RunRecord, found: readonly TaintSource[]): readonly TaintSource[] {
  const known = new Map([...taintSources, ...found].map((source) => [`${source.type}:${source.id}`, source]));
  return [...known.values()].slice(0, MAX_TAINTS);
}

export function toolEvent(type: 'tool.started' | 'tool.finished', step: StepRecord): NewRunEvent {
  return { type, data: { step: step.seq } };
}

import { JobLost } from '@commonplace/kit/jobs';
import { inWork } from '@commonplace/kit/store';
import type { TaintSource } from '../../domain/taint.js';
import type { NewRunEvent } from '../../runs/log.js';
import { NOTHING_SPENT, type RunRecord, type StepRecord } from '../../stores/runs.js';
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
    const { text, found, taints = [], resourceIds, isError = false, drawnFrom, isPrivate } = result;
    const sources = this.scope.sources.add(found);
    const output: ToolOutput = { text: resultText(text, sources), sources, isError, resourceIds, drawnFrom, isPrivate };
    this.scope.sources.drawFrom(output);
    const error = isError ? { code: 'tool_error', message: text.slice(0, 500), retryable: false } : undefined;
    const done = { ...step, status: isError ? 'failed' : 'completed', output, error, ...elapsed(step) } as const;
    return this.saveResult(done, taints);
  }

  async fail(step: StepRecord, message: string): Promise<undefined> {
    const error = { code: 'tool_error', message, retryable: false };
    return this.close({ ...step, status: 'failed', error }, message);
  }

  async deny(step: StepRecord, { code, message, endsRun }: CallDenied): Promise<undefined> {
    await this.close({ ...step, status: 'denied', error: { code, message, retryable: false } }, message);
    if (endsRun) throw new RunFailure('permission_lost', message, false);
    return undefined;
  }

  async close(step: StepRecord, text: string): Promise<undefined> {
    await this.saveResult({ ...step, output: { text, sources: [], isError: true }, ...elapsed(step) }, []);
    return undefined;
  }

  private async saveResult(step: StepRecord, taints: readonly TaintSource[]): Promise<void> {
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
      });
    } catch (error) {
      if (error instanceof JobLost) await this.recordLate(step, output).catch(() => {});
      throw error;
    }
  }

  /** Records a result that arrived after its step was closed. It is not used. */
  async recordLate({ id }: StepRecord, result: object): Promise<void> {
    const { store, steps } = this.scope.parts;
    await inWork(store, async (work) => {
      const step = await work.get(steps, id);
      if (step === undefined || !CLOSED.has(step.status)) return;
      work.replace(steps, step, { ...step, isLate: true, lateOutput: result });
    });
  }
}

const CLOSED: ReadonlySet<StepRecord['status']> = new Set(['canceled', 'unknown']);

/** Returns the taints of a run with new ones added. Taints are never removed from a run. */
export function addTaints({ taintSources = [] }: RunRecord, found: readonly TaintSource[]): readonly TaintSource[] {
  const known = new Map([...taintSources, ...found].map((source) => [`${source.type}:${source.id}`, source]));
  return [...known.values()].slice(0, MAX_TAINTS);
}

export function toolEvent(type: 'tool.started' | 'tool.finished', step: StepRecord): NewRunEvent {
  return { type, data: { step: step.seq } };
}

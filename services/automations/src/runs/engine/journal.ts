import { fingerprint } from '@commonplace/kit/id';
import type { HeldJob } from '@commonplace/kit/jobs';
import type { UnitOfWork } from '@commonplace/kit/store';
import type { StoredAction } from '../../definitions/records.js';
import { agentRunIdOf } from '../actions/run-agent.js';
import { type Ending, endRun } from '../end.js';
import { keepValue } from '../json.js';
import type { RunParts } from '../parts.js';
import { type AutomationRunRecord, type StepRecord, stepId } from '../records.js';

type Changes = Partial<AutomationRunRecord>;

/** What a step stores of the output of its action. */
export const keepOutput = (output: unknown): Pick<StepRecord, 'output'> & { truncated?: boolean } => {
  const { value, truncated } = keepValue(output);
  return truncated ? { output: value, truncated } : { output: value };
};

/** The records of a run and its steps while it is executed. Changes are written together by the next commit. */
export class RunJournal {
  /** Whether a worker that was interrupted has begun the current step. */
  isResumed = false;
  /** When steps that begin now expire. */
  keptUntil = '';
  /** The current step as it is stored; undefined between two actions. */
  private step: StepRecord | undefined;
  private changes: Changes = {};
  private writes: ((work: UnitOfWork) => unknown)[] = [];

  constructor(
    private readonly parts: RunParts,
    private readonly job: HeldJob<AutomationRunRecord>,
  ) {}

  /** Reads the steps of the run, and continues with the one that was current when its execution stopped. */
  async read(): Promise<readonly StepRecord[]> {
    const { id: runId, stepCount } = this.job.record;
    if (stepCount === 0) return [];
    const steps = await this.parts.steps.find({ where: { runId }, sort: ['seq'], limit: 100 });
    this.step = steps.find(({ status }) => status === 'running' || status === 'waiting');
    this.isResumed = this.step?.status === 'running';
    return steps;
  }

  get open(): StepRecord | undefined {
    return this.step;
  }

  get current(): AutomationRunRecord {
    return { ...this.job.record, ...this.changes };
  }

  get position(): number {
    return this.changes.position ?? this.job.record.position;
  }

  // ---- changes for the next commit

  /** Changes the run. */
  change(changes: Changes): void {
    this.changes = { ...this.changes, ...changes };
  }

  /** Adds a write to other records. */
  write(write: (work: UnitOfWork) => unknown): void {
    this.writes.push(write);
  }

  /** Changes the current step. */
  changeStep(changes: Partial<StepRecord>): void {
    const before = this.step;
    if (before === undefined) return;
    this.writes.push((work) => work.replace(this.parts.steps, before, { ...before, ...changes }));
  }

  /** Ends the current step. */
  closeStep(changes: Partial<StepRecord>): void {
    if (this.step === undefined) return;
    const durationMs = Math.max(this.parts.now() - Date.parse(this.step.startedAt), 0);
    this.changeStep({ ...changes, durationMs, resumesAt: undefined });
    this.step = undefined;
    this.isResumed = false;
  }

  /** Adds steps for actions that are not executed. */
  skip(actions: readonly StoredAction[]): void {
    for (const action of actions) this.add([{ ...this.newStep(action), status: 'skipped', attempt: 0 }]);
  }

  /** Adds steps behind those of the run. */
  add(steps: readonly Omit<StepRecord, 'version'>[]): void {
    this.change({ stepCount: this.current.stepCount + steps.length });
    for (const step of steps)
      this.write((work) => work.insert(this.parts.steps, { ...step, deleteAt: this.keptUntil }));
  }

  // ---- commits

  /** Stores the beginning of another attempt at the current step, or of the first one at the step of an action. */
  async openStep(action: StoredAction, shown: Pick<StepRecord, 'input' | 'truncated'>): Promise<StepRecord> {
    const { step: before } = this;
    const { steps } = this.parts;
    let begun: StepRecord | undefined;
    if (before === undefined) {
      const step = { ...this.newStep(action), ...shown };
      this.change({ stepCount: this.current.stepCount + 1 });
      this.write((work) => {
        begun = work.insert(steps, step);
      });
    } else {
      const again = { attempt: before.attempt + 1, error: undefined, resumesAt: undefined };
      this.write((work) => {
        begun = work.replace(steps, before, { ...before, ...shown, ...again, status: 'running' });
      });
    }
    await this.job.save(this.takeChanges(), this.takeWrites());
    this.step = begun;
    return begun as unknown as StepRecord;
  }

  /** Releases the run for `ms` milliseconds. */
  async release(ms: number, changes: Changes): Promise<void> {
    this.change({ ...changes, status: 'waiting' });
    await this.job.retryIn(ms, this.takeChanges(), this.takeWrites());
  }

  async end(ending: Ending): Promise<void> {
    await endRun(this.parts, this.job, ending, this.takeChanges(), this.takeWrites());
  }

  private newStep({ id: actionId, type }: StoredAction): StepRecord {
    const { id: runId, tenant, stepCount, keptKey } = this.current;
    const key = keptKey?.actionId === actionId ? keptKey.key : fingerprint('automation step', runId, actionId);
    return {
      ...{ id: stepId(runId, stepCount), version: 0, tenant, runId, seq: stepCount, actionId, type },
      ...{ status: 'running', attempt: 1, failures: 0, truncated: false },
      key,
      // Stored before the start, so that the event of the agent run's end finds the step.
      ...(type === 'run_agent' && { agentRunId: agentRunIdOf({ key }) }),
      startedAt: new Date(this.parts.now()).toISOString(),
      deleteAt: this.keptUntil,
    };
  }

  private takeChanges(): Changes {
    const { changes } = this;
    this.changes = {};
    return changes;
  }

  /** Returns a function that makes the pending writes. It may be called again after a lost race. */
  private takeWrites(): (work: UnitOfWork) => void {
    const { writes } = this;
    this.writes = [];
    return (work) => {
      for (const write of writes) write(work);
    };
  }
}

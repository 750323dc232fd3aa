import { AppError } from '@commonplace/kit/errors';
import { fingerprint } from '@commonplace/kit/id';
import { backoffMs, type HeldJob } from '@commonplace/kit/jobs';
import { type CallOptions, callOnce } from '@commonplace/kit/rpc';
import type { UnitOfWork } from '@commonplace/kit/store';
import type { AutomationRecord, Definition, StoredAction } from '../../definitions/records.js';
import { conditionsHold } from '../../domain/conditions.js';
import { isHidden, WorkspaceHidden } from '../../hidden-workspaces.js';
import type { Acting } from '../acting.js';
import type { Action, ActionContext, ActionResult, Config } from '../actions/action.js';
import { targetOf } from '../actions/flow.js';
import { agentRunIdOf } from '../actions/run-agent.js';
import { type Ending, endRun } from '../end.js';
import { ActionError, actionErrorOf, failureOf, RunError } from '../failure.js';
import { keepValue } from '../json.js';
import type { RunParts } from '../parts.js';
import { type AutomationRunRecord, type StepRecord, stepId, type Taint } from '../records.js';
import { deleteStepAfter } from '../retention.js';
import { type RunRights, rightsOfRun } from '../rights.js';
import { factsOf, type SeenStep, scopeOf, seenSteps } from '../scope.js';
import { readTriggerData, TargetGone } from '../trigger-data.js';
import { versionOf } from '../version.js';
import { filledIn, requireValid } from './config.js';
import { dryRunSteps } from './dry-run.js';

type Job = HeldJob<AutomationRunRecord>;
type Changes = Partial<AutomationRunRecord>;

export interface ExecutionParts extends RunParts {
  readonly acting: Acting;
  readonly actions: Readonly<Record<StoredAction['type'], Action>>;
}

/** Milliseconds between two checks of an agent run, since the event of its end may be lost. */
const AGENT_RECHECK_MS = 60_000;
/** Milliseconds between two checks of a run whether the deletion of its Org was undone. */
const HIDDEN_RECHECK_MS = 60_000;
/**
 * Time within which a call may be repeated. Services keep an idempotency key for 24 hours, after which a repeated call
 * would take effect again.
 */
const KEY_WINDOW_MS = 23 * 3_600_000;
const MAX_BACKOFF_MS = 6 * 3_600_000;
/** Milliseconds between attempts while a service is away. */
const AWAY_BACKOFF = { firstMs: 1_000, maxMs: 30_000 };
/** Share of a run's time limit for which no action waits for a service, so that what `on_error` names has its time. */
const SHARE_AFTER_WAITS = 0.1;
/** Longest wait that another service can ask for. */
const MAX_WAIT_MS = 3_600_000;
const LOOK_MS = 200;
/** What other services answer about a workspace of an Org whose deletion is scheduled. They store none of it. */
const HIDDEN_CODES: ReadonlySet<AppError['code']> = new Set(['NOT_FOUND', 'PERMISSION_DENIED', 'UNAUTHENTICATED']);

/** The reason why a run is interrupted. */
type Break = 'canceled' | 'timeout';

/** Executes a run, beginning where its records say that it stopped. */
export class RunExecution {
  private readonly broken = new AbortController();
  private readonly signal: AbortSignal;
  private watch: NodeJS.Timeout | undefined;
  /** The results of the steps so far that templates can read, by action id. */
  private seen: Record<string, SeenStep> = {};
  /** Known once the run's definition was read. */
  private rights: RunRights | undefined;
  /** The current step as it is stored. */
  private open: StepRecord | undefined;
  /** Whether a worker that was interrupted has begun the current step. */
  private isResumed = false;
  /** When steps that begin now expire. */
  private keptUntil = '';
  /** Changes and writes for the next commit. */
  private changes: Changes = {};
  private writes: ((work: UnitOfWork) => unknown)[] = [];

  constructor(
    private readonly parts: ExecutionParts,
    private readonly job: Job,
  ) {
    this.signal = AbortSignal.any([job.signal, this.broken.signal]);
  }

  /** Executes the run until it ends, is suspended, or the process stops. */
  async run(): Promise<void> {
    this.watch = setInterval(() => this.look(), LOOK_MS);
    this.watch.unref();
    try {
      this.look();
      await this.work();
    } catch (error) {
      await this.failed(error instanceof TargetGone && (await this.isHidden()) ? new WorkspaceHidden() : error);
    } finally {
      clearInterval(this.watch);
    }
  }

  /** Interrupts the current step if the run was canceled or has timed out. */
  private look(): void {
    const { cancelRequested, endsBy = '' } = this.job.record;
    if (cancelRequested) this.broken.abort('canceled' satisfies Break);
    else if (endsBy !== '' && Date.parse(endsBy) <= this.parts.now()) this.broken.abort('timeout' satisfies Break);
  }

  private async failed(error: unknown): Promise<void> {
    if (this.job.signal.aborted) throw error;
    if (this.broken.signal.aborted) return this.breakOff(this.broken.signal.reason as Break);
    if (error instanceof TargetGone) return this.end({ status: 'skipped', skipReason: 'target_gone' });
    if (error instanceof WorkspaceHidden) {
      return this.wait(this.parts.now() + HIDDEN_RECHECK_MS, { remainingMs: this.leftMs() });
    }
    if (!(error instanceof RunError)) throw error;
    const failure = failureOf(error, this.open?.actionId);
    this.closeStep({ status: 'failed', error: failure });
    await this.end({ status: 'failed', error: failure });
  }

  private async breakOff(why: Break): Promise<void> {
    await this.giveUp(why);
    if (why === 'canceled') {
      this.closeStep({ status: 'canceled' });
      return this.end({ status: 'canceled' });
    }
    const message = 'The run took longer than its timeout_seconds.';
    const failure = failureOf(new RunError('timeout', message, true), this.open?.actionId);
    this.closeStep({ status: 'failed', error: failure });
    await this.end({ status: 'failed', error: failure });
  }

  /** Cancels what the current step has left running in other services. */
  private async giveUp(why: Break): Promise<void> {
    const { open, parts } = this;
    if (open === undefined) return;
    await parts.actions[open.type].cancel?.(open, why === 'canceled' ? 'The automation was canceled.' : 'timeout');
  }

  // ---- phases of a run

  private async work(): Promise<void> {
    const { parts, job } = this;
    const run = job.record;
    const automation = await parts.automations.get(run.automationId);
    const definition = await versionOf(parts, run, automation);
    if (definition === undefined) {
      throw new RunError('version_gone', 'The version of the automation that the run belongs to is no longer stored.');
    }
    this.rights = rightsOfRun(run, definition);
    this.keptUntil = deleteStepAfter(parts.settings, definition, parts.now());
    if (run.dryRun) return this.plan(definition, automation);
    const steps = run.stepCount === 0 ? [] : await this.readSteps();
    this.seen = seenSteps(steps);
    this.open = steps.find(({ status }) => status === 'running' || status === 'waiting');
    this.isResumed = this.open?.status === 'running';
    if (run.data === undefined && !(await this.begin(automation, definition))) return;
    const { actions } = definition;
    while (this.position < actions.length) {
      this.signal.throwIfAborted();
      if (!(await this.act(actions, automation, definition))) return;
    }
    await this.end({ status: 'completed' });
  }

  private readSteps(): Promise<StepRecord[]> {
    return this.parts.steps.find({ where: { runId: this.job.record.id }, sort: ['seq'], limit: 100 });
  }

  private get position(): number {
    return this.changes.position ?? this.job.record.position;
  }

  private get current(): AutomationRunRecord {
    return { ...this.job.record, ...this.changes };
  }

  /** Reads the data of the trigger and evaluates the conditions. Returns false if the run has ended. */
  private async begin(automation: AutomationRecord | undefined, { conditions }: Definition): Promise<boolean> {
    const { parts, job } = this;
    if (automation?.isActive !== true) {
      await this.end({ status: 'skipped', skipReason: 'inactive' });
      return false;
    }
    const data = await readTriggerData(parts, job.record, () => this.options());
    this.changes = { data };
    const scope = scopeOf(this.current, {});
    if (conditionsHold(conditions, factsOf(job.record, scope))) return true;
    await this.end({ status: 'skipped', skipReason: 'conditions_not_met' });
    return false;
  }

  private async plan({ actions, conditions }: Definition, automation: AutomationRecord | undefined): Promise<void> {
    const run = this.job.record;
    const scope = scopeOf(run, {});
    if (!conditionsHold(conditions, factsOf(run, scope))) {
      return this.end({ status: 'skipped', skipReason: 'conditions_not_met' });
    }
    const steps = dryRunSteps(this.parts, run, actions, scope, automation).map((step) => ({
      ...step,
      deleteAt: this.keptUntil,
    }));
    this.writes.push((work) => {
      for (const step of steps) work.insert(this.parts.steps, step);
    });
    this.changes = { position: actions.length, stepCount: steps.length };
    await this.end({ status: 'completed' });
  }

  // ---- one action

  /** Executes the next action. Returns false if the run has ended or is suspended. */
  private async act(
    actions: readonly StoredAction[],
    automation: AutomationRecord | undefined,
    definition: Definition,
  ): Promise<boolean> {
    const action = actions[this.position] as StoredAction;
    const scope = scopeOf(this.current, this.seen);
    const config = filledIn(action, scope, automation);
    const step = await this.enter(action, config);
    let result: ActionResult;
    try {
      if (config instanceof ActionError) throw config;
      requireValid(action, config);
      result = await this.parts.actions[action.type].run(this.context(action, step, { scope, config }, automation));
    } catch (error) {
      if (this.signal.aborted || error instanceof RunError || error instanceof WorkspaceHidden) throw error;
      // The deletion of the Org may have been scheduled since access was checked.
      const mayBeHidden = error instanceof AppError && HIDDEN_CODES.has(error.code);
      if (mayBeHidden && (await this.isHidden())) throw new WorkspaceHidden();
      return this.actionFailed(actions, action, actionErrorOf(error), definition);
    }
    return this.settle(actions, action, result);
  }

  /** Stores that an action begins, before it has any effect outside. */
  private async enter(action: StoredAction, config: Config | ActionError): Promise<StepRecord> {
    const { open } = this;
    // The end of a delay and another check of an agent run continue the same attempt.
    if (open?.status === 'waiting' && open.error === undefined) return open;
    const { value, truncated } = keepValue(config instanceof ActionError ? action.config : config);
    const shown = { status: 'running', input: value, truncated } as const;
    const { steps } = this.parts;
    let begun: StepRecord | undefined;
    if (open === undefined) {
      const step = { ...this.newStep(action), ...shown };
      await this.save({ stepCount: this.current.stepCount + 1 }, (work) => {
        begun = work.insert(steps, step);
      });
    } else {
      const step = { ...open, ...shown, attempt: open.attempt + 1, error: undefined, resumesAt: undefined };
      await this.save({}, (work) => {
        begun = work.replace(steps, open, step);
      });
    }
    this.open = begun;
    return begun as unknown as StepRecord;
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

  private context(
    action: StoredAction,
    step: StepRecord,
    { scope, config }: Pick<ActionContext, 'scope' | 'config'>,
    automation: AutomationRecord | undefined,
  ): ActionContext {
    const run = this.current;
    return {
      ...{ run, step, action, automation, config, scope, facts: factsOf(run, scope) },
      ...{ isResumed: this.isResumed, signal: this.signal, rights: this.rightsKnown() },
      options: (timeoutMs) => this.options(timeoutMs),
      change: (send) => this.change(step, config, send),
    };
  }

  private isHidden(): Promise<boolean> {
    return isHidden(this.parts, this.job.record.workspaceId);
  }

  private rightsKnown(): RunRights {
    if (this.rights === undefined) throw new Error('the definition of the run was not read');
    return this.rights;
  }

  private options(timeoutMs?: number): Promise<CallOptions> {
    return this.parts.acting(this.current, this.rightsKnown(), this.signal, timeoutMs);
  }

  private change<T>(step: StepRecord, config: Config, send: (options: CallOptions) => Promise<T>): Promise<T> {
    const isRepeated = step.attempt > 1;
    if (isRepeated && this.parts.now() - Date.parse(step.startedAt) > KEY_WINDOW_MS) {
      throw ActionError.withoutData(
        'unknown_outcome',
        'It is unknown whether an earlier attempt took effect; it was made too long ago to be repeated safely.',
        {
          isUnknown: true,
        },
      );
    }
    return callOnce({
      idempotency: { id: step.key, fingerprint: fingerprint(JSON.stringify(config)) },
      options: () => this.options(),
      send,
      signal: this.signal,
    });
  }

  // ---- results of actions

  /** Stores the result of an action. Returns whether the run continues at once. */
  private async settle(actions: readonly StoredAction[], action: StoredAction, result: ActionResult): Promise<boolean> {
    switch (result.kind) {
      case 'done':
        return this.actionDone(actions, action, result);
      case 'end': {
        this.closeStep({ status: 'completed', ...keepOutput(result.output) });
        const publicMessage = 'The automation was stopped by an action.';
        const error = failureOf(
          new ActionError('stopped', result.message ?? publicMessage, { publicMessage }),
          action.id,
        );
        await this.end(result.status === 'failed' ? { status: 'failed', error } : { status: 'completed' });
        return false;
      }
      case 'delay':
        await this.wait(result.until, { remainingMs: this.leftMs() });
        return false;
      case 'agent':
        return this.waitForAgent(result);
    }
  }

  private actionDone(
    actions: readonly StoredAction[],
    action: StoredAction,
    { output, goTo, also, taints = [] }: Extract<ActionResult, { kind: 'done' }>,
  ): boolean {
    const kept = keepOutput(output);
    this.seen[action.id] = { status: 'completed', output: kept.output };
    this.closeStep({ status: 'completed', ...kept });
    if (also !== undefined) this.writes.push(also);
    if (taints.length > 0) this.changes = { ...this.changes, taints: withTaints(this.current.taints, taints) };
    this.goOn(actions, goTo);
    return true;
  }

  /** Moves to the next action, or to a later one with the id `target`. */
  private goOn(actions: readonly StoredAction[], target?: string): void {
    const behind = this.position + 1;
    const at = target === undefined ? behind : actions.findIndex(({ id }, index) => index >= behind && id === target);
    if (at < 0) throw new RunError('invalid_target', `No later action has the id ${target}.`);
    this.changes = { ...this.changes, position: at };
    this.skip(actions.slice(behind, at));
  }

  /** Adds steps for skipped actions. */
  private skip(actions: readonly StoredAction[]): void {
    for (const action of actions) {
      const step = { ...this.newStep(action), status: 'skipped', attempt: 0 } as const;
      this.changes = { ...this.changes, stepCount: this.current.stepCount + 1 };
      this.writes.push((work) => work.insert(this.parts.steps, step));
    }
  }

  /** Schedules a retry, or continues as `on_error` says. Returns whether the run continues at once. */
  private async actionFailed(
    actions: readonly StoredAction[],
    action: StoredAction,
    error: ActionError,
    { retry, timeoutSeconds }: Definition,
  ): Promise<boolean> {
    const failure = failureOf(error, action.id);
    const { failures: before = 0, attempt = 1 } = this.open ?? {};
    const failures = error.isAway ? before : before + 1;
    const backoff = error.isAway
      ? backoffMs(AWAY_BACKOFF, attempt, Math.random())
      : backoffMs({ firstMs: retry.backoffSeconds * 1000, maxMs: MAX_BACKOFF_MS }, failures, Math.random());
    const waitMs = Math.max(backoff, Math.min(error.waitMs, MAX_WAIT_MS));
    const isRetried = error.isAway
      ? waitMs < this.leftMs() - SHARE_AFTER_WAITS * timeoutSeconds * 1000
      : error.retryable && failures <= retry.maxAttempts;
    if (isRetried) {
      await this.wait(this.parts.now() + waitMs, {}, { failures, error: failure });
      return false;
    }
    const status = error.isUnknown ? 'unknown' : 'failed';
    this.closeStep({ status, failures, error: failure });
    this.seen[action.id] = { status, error: { code: failure.code, message: failure.message } };
    const target = targetOf(action.onError);
    if (action.onError === 'continue' || target !== undefined) {
      this.goOn(actions, target);
      return true;
    }
    await this.end({ status: 'failed', error: failure });
    return false;
  }

  // ---- waiting

  /** Returns the milliseconds left of the run's time limit, at least 1. */
  private leftMs(): number {
    return Math.max(Date.parse(this.job.record.endsBy ?? '') - this.parts.now(), 1);
  }

  /**
   * Releases the run until a time. While its time limit is not suspended, it becomes due at the limit at the latest.
   */
  private async wait(until: number, changes: Changes, step: Partial<StepRecord> = {}): Promise<void> {
    const isStopped = changes.remainingMs !== undefined;
    const waitMs = Math.max(until - this.parts.now(), 0);
    const resumesAt = new Date(until).toISOString();
    this.writeStep({ ...step, status: 'waiting', resumesAt });
    await this.job.retryIn(
      isStopped ? waitMs : Math.min(waitMs, this.leftMs()),
      this.take({ ...changes, status: 'waiting', ...(isStopped && { endsBy: undefined }) }),
      this.flush(),
    );
  }

  /** Releases the run until the event of the agent run's end, or until the next check. */
  private async waitForAgent({ awaitsApproval }: Extract<ActionResult, { kind: 'agent' }>): Promise<boolean> {
    const leftMs = this.leftMs();
    const clock = { since: new Date(this.parts.now()).toISOString(), isStopped: awaitsApproval };
    if (this.open?.status !== 'waiting') this.writeStep({ status: 'waiting' });
    await this.job.retryIn(
      awaitsApproval ? AGENT_RECHECK_MS : Math.min(AGENT_RECHECK_MS, leftMs),
      this.take({ status: 'waiting', remainingMs: leftMs, endsBy: undefined, clock }),
      this.flush(),
    );
    return false;
  }

  // ---- writing

  private closeStep(changes: Partial<StepRecord>): void {
    if (this.open === undefined) return;
    const durationMs = Math.max(this.parts.now() - Date.parse(this.open.startedAt), 0);
    this.writeStep({ ...changes, durationMs, resumesAt: undefined });
    this.open = undefined;
    this.isResumed = false;
  }

  /** Changes the current step with the next commit. */
  private writeStep(changes: Partial<StepRecord>): void {
    const before = this.open;
    if (before === undefined) return;
    this.writes.push((work) => work.replace(this.parts.steps, before, { ...before, ...changes }));
  }

  private async save(changes: Changes = {}, also: (work: UnitOfWork) => unknown = () => {}): Promise<void> {
    this.writes.push(also);
    await this.job.save(this.take(changes), this.flush());
  }

  /** Returns the changes of the run that are not written yet, together with `changes`, and clears them. */
  private take(changes: Changes): Changes {
    const all = { ...this.changes, ...changes };
    this.changes = {};
    return all;
  }

  /** Returns a function that makes the pending writes, and clears them. It may be called again after a lost race. */
  private flush(): (work: UnitOfWork) => void {
    const writes = this.writes;
    this.writes = [];
    return (work) => {
      for (const write of writes) write(work);
    };
  }

  private async end(ending: Ending): Promise<void> {
    await endRun(this.parts, this.job, ending, this.take({}), this.flush());
  }
}

const keepOutput = (output: unknown): Pick<StepRecord, 'output'> & { truncated?: boolean } => {
  const { value, truncated } = keepValue(output);
  return truncated ? { output: value, truncated } : { output: value };
};

function withTaints(known: readonly Taint[], more: readonly Taint[]): Taint[] {
  const fresh = more.filter(({ type, id }) => !known.some((one) => one.type === type && one.id === id));
  return [...known, ...fresh];
}

import { AppError } from '@commonplace/kit/errors';
import { fingerprint } from '@commonplace/kit/id';
import { backoffMs, type HeldJob } from '@commonplace/kit/jobs';
import { type CallOptions, callOnce } from '@commonplace/kit/rpc';
import type { AutomationRecord, Definition, StoredAction } from '../../definitions/records.js';
import { conditionsHold } from '../../domain/conditions.js';
import { isHidden, WorkspaceHidden } from '../../hidden-workspaces.js';
import type { Acting } from '../acting.js';
import type { Action, ActionContext, ActionResult, Config } from '../actions/action.js';
import { targetOf } from '../actions/flow.js';
import { ActionError, actionErrorOf, failureOf, RunError } from '../failure.js';
import { keepValue } from '../json.js';
import type { RunParts } from '../parts.js';
import type { AutomationRunRecord, StepRecord, Taint } from '../records.js';
import { deleteStepAfter } from '../retention.js';
import { type RunRights, rightsOfRun } from '../rights.js';
import { factsOf, type SeenStep, scopeOf, seenSteps } from '../scope.js';
import { readTriggerData, TargetGone } from '../trigger-data.js';
import { versionOf } from '../version.js';
import { filledIn, requireValid } from './config.js';
import { dryRunSteps } from './dry-run.js';
import { keepOutput, RunJournal } from './journal.js';

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
  private readonly journal: RunJournal;

  constructor(
    private readonly parts: ExecutionParts,
    private readonly job: Job,
  ) {
    this.signal = AbortSignal.any([job.signal, this.broken.signal]);
    this.journal = new RunJournal(parts, job);
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
    if (error instanceof TargetGone) return this.journal.end({ status: 'skipped', skipReason: 'target_gone' });
    if (error instanceof WorkspaceHidden) {
      return this.wait(this.parts.now() + HIDDEN_RECHECK_MS, { remainingMs: this.leftMs() });
    }
    if (!(error instanceof RunError)) throw error;
    await this.fail(error);
  }

  /** Ends the current step and the run with a failure. */
  private fail(error: RunError): Promise<void> {
    const failure = failureOf(error, this.journal.open?.actionId);
    this.journal.closeStep({ status: 'failed', error: failure });
    return this.journal.end({ status: 'failed', error: failure });
  }

  private async breakOff(why: Break): Promise<void> {
    await this.giveUp(why);
    if (why === 'timeout') {
      return this.fail(new RunError('timeout', 'The run took longer than its timeout_seconds.', true));
    }
    this.journal.closeStep({ status: 'canceled' });
    await this.journal.end({ status: 'canceled' });
  }

  /** Cancels what the current step has left running in other services. */
  private async giveUp(why: Break): Promise<void> {
    const { open } = this.journal;
    if (open === undefined) return;
    await this.parts.actions[open.type].cancel?.(open, why === 'canceled' ? 'The automation was canceled.' : 'timeout');
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
    this.journal.keptUntil = deleteStepAfter(parts.settings, definition, parts.now());
    if (run.dryRun) return this.plan(definition, automation);
    this.seen = seenSteps(await this.journal.read());
    if (run.data === undefined && !(await this.begin(automation, definition))) return;
    const { actions } = definition;
    while (this.journal.position < actions.length) {
      this.signal.throwIfAborted();
      if (!(await this.act(actions, automation, definition))) return;
    }
    await this.journal.end({ status: 'completed' });
  }

  /** Reads the data of the trigger and evaluates the conditions. Returns false if the run has ended. */
  private async begin(automation: AutomationRecord | undefined, { conditions }: Definition): Promise<boolean> {
    const { parts, job } = this;
    if (automation?.isActive !== true) {
      await this.journal.end({ status: 'skipped', skipReason: 'inactive' });
      return false;
    }
    this.journal.change({ data: await readTriggerData(parts, job.record, () => this.options()) });
    const scope = scopeOf(this.journal.current, {});
    if (conditionsHold(conditions, factsOf(job.record, scope))) return true;
    await this.journal.end({ status: 'skipped', skipReason: 'conditions_not_met' });
    return false;
  }

  private async plan({ actions, conditions }: Definition, automation: AutomationRecord | undefined): Promise<void> {
    const run = this.job.record;
    const scope = scopeOf(run, {});
    if (!conditionsHold(conditions, factsOf(run, scope))) {
      return this.journal.end({ status: 'skipped', skipReason: 'conditions_not_met' });
    }
    this.journal.add(dryRunSteps(this.parts, run, actions, scope, automation));
    this.journal.change({ position: actions.length });
    await this.journal.end({ status: 'completed' });
  }

  // ---- one action

  /** Executes the next action. Returns false if the run has ended or is suspended. */
  private async act(
    actions: readonly StoredAction[],
    automation: AutomationRecord | undefined,
    definition: Definition,
  ): Promise<boolean> {
    const action = actions[this.journal.position] as StoredAction;
    const scope = scopeOf(this.journal.current, this.seen);
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
    const { open } = this.journal;
    // The end of a delay and another check of an agent run continue the same attempt.
    if (open?.status === 'waiting' && open.error === undefined) return open;
    const { value, truncated } = keepValue(config instanceof ActionError ? action.config : config);
    return this.journal.openStep(action, { input: value, truncated });
  }

  private context(
    action: StoredAction,
    step: StepRecord,
    { scope, config }: Pick<ActionContext, 'scope' | 'config'>,
    automation: AutomationRecord | undefined,
  ): ActionContext {
    const run = this.journal.current;
    return {
      ...{ run, step, action, automation, config, scope, facts: factsOf(run, scope) },
      ...{ isResumed: this.journal.isResumed, signal: this.signal, rights: this.rightsKnown() },
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
    return this.parts.acting(this.journal.current, this.rightsKnown(), this.signal, timeoutMs);
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
        this.journal.closeStep({ status: 'completed', ...keepOutput(result.output) });
        const publicMessage = 'The automation was stopped by an action.';
        const error = failureOf(
          new ActionError('stopped', result.message ?? publicMessage, { publicMessage }),
          action.id,
        );
        await this.journal.end(result.status === 'failed' ? { status: 'failed', error } : { status: 'completed' });
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
    this.journal.closeStep({ status: 'completed', ...kept });
    if (also !== undefined) this.journal.write(also);
    if (taints.length > 0) this.journal.change({ taints: withTaints(this.journal.current.taints, taints) });
    this.goOn(actions, goTo);
    return true;
  }

  /** Moves to the next action, or to a later one with the id `target`. */
  private goOn(actions: readonly StoredAction[], target?: string): void {
    const behind = this.journal.position + 1;
    const at = target === undefined ? behind : actions.findIndex(({ id }, index) => index >= behind && id === target);
    if (at < 0) throw new RunError('invalid_target', `No later action has the id ${target}.`);
    this.journal.change({ position: at });
    this.journal.skip(actions.slice(behind, at));
  }

  /** Schedules a retry, or continues as `on_error` says. Returns whether the run continues at once. */
  private async actionFailed(
    actions: readonly StoredAction[],
    action: StoredAction,
    error: ActionError,
    { retry, timeoutSeconds }: Definition,
  ): Promise<boolean> {
    const failure = failureOf(error, action.id);
    const { failures: before = 0, attempt = 1 } = this.journal.open ?? {};
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
    this.journal.closeStep({ status, failures, error: failure });
    this.seen[action.id] = { status, error: { code: failure.code, message: failure.message } };
    const target = targetOf(action.onError);
    if (action.onError === 'continue' || target !== undefined) {
      this.goOn(actions, target);
      return true;
    }
    await this.journal.end({ status: 'failed', error: failure });
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
    this.journal.changeStep({ ...step, status: 'waiting', resumesAt });
    await this.journal.release(isStopped ? waitMs : Math.min(waitMs, this.leftMs()), {
      ...changes,
      ...(isStopped && { endsBy: undefined }),
    });
  }

  /** Releases the run until the event of the agent run's end, or until the next check. */
  private async waitForAgent({ awaitsApproval }: Extract<ActionResult, { kind: 'agent' }>): Promise<boolean> {
    const leftMs = this.leftMs();
    const clock = { since: new Date(this.parts.now()).toISOString(), isStopped: awaitsApproval };
    if (this.journal.open?.status !== 'waiting') this.journal.changeStep({ status: 'waiting' });
    const waitMs = awaitsApproval ? AGENT_RECHECK_MS : Math.min(AGENT_RECHECK_MS, leftMs);
    await this.journal.release(waitMs, { remainingMs: leftMs, endsBy: undefined, clock });
    return false;
  }
}

function withTaints(known: readonly Taint[], more: readonly Taint[]): Taint[] {
  const fresh = more.filter(({ type, id }) => !known.some((one) => one.type === type && one.id === id));
  return [...known, ...fresh];
}

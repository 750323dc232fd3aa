import type { AppError } from '@commonplace/kit/errors';
import { JobLost } from '@commonplace/kit/jobs';
import { isObject } from '@commonplace/kit/json';
import { hashJson } from '../../domain/hash-json.js';
import { readModelJson } from '../../domain/model-json.js';
import { MAX_NESTING } from '../../domain/nesting.js';
import type { ToolPlan } from '../../domain/tool-plan.js';
import type { ModelToolCall } from '../../models/port.js';
import type { ApprovalRecord } from '../../stores/approvals.js';
import type { StepRecord } from '../../stores/runs.js';
import type { Acting } from '../acting.js';
import { RunFailure } from '../failure.js';
import { toolsOf } from '../tools/table.js';
import { InvalidArguments, OutcomeUnknown, type Tool, type ToolContext, type ToolResult } from '../tools/tool.js';
import { openApproval } from './asking.js';
import { CallResults, toolEvent } from './call-results.js';
import { type Admission, CallDenied, Gate } from './gate.js';
import { isRefusal } from './refusal.js';
import { elapsed, now, type RunScope } from './scope.js';

/** A call that may be made now. */
interface AdmittedCall {
  readonly tool: Tool;
  readonly plan: ToolPlan;
  readonly step: StepRecord;
  readonly admission: Admission;
  /** The approval that allows it. */
  readonly approval?: ApprovalRecord | undefined;
}

/** Milliseconds for which a call that changes something may go on when its run ends. */
const FINISH_MS = 3_000;

/** Maximum number of questions that the tool of one call may ask. */
const MAX_QUESTIONS = 10;

/**
 * Makes the calls of a turn. Calls without approval are made at once and concurrently; the others wait until all
 * approvals of the turn are decided, and are then made in order. Each call gets exactly one result.
 */
export class ToolCalls {
  private readonly gate: Gate;
  private readonly results: CallResults;
  /** The tools that the run currently has. */
  private tools: ReadonlyMap<string, Tool> = new Map();

  constructor(
    private readonly scope: RunScope,
    /** The tools that the model was offered. */
    private readonly offered: ReadonlyMap<string, Tool>,
  ) {
    this.gate = new Gate(scope);
    this.results = new CallResults(scope);
  }

  /** Makes the open calls of the last turn. Returns false if some of them wait for approvals. */
  async makeAll(): Promise<boolean> {
    const { parts, job, log } = this.scope;
    const present = await toolsOf(parts, job.record);
    this.tools = new Map([...present].filter(([name]) => this.offered.has(name)));
    return this.makeThose(() => log.openCalls);
  }

  /** Makes a call of the run itself, after the last turn. Returns false if it waits for an approval. */
  async makeOwn(tool: Tool, call: ModelToolCall): Promise<boolean> {
    this.tools = new Map([[call.name, tool]]);
    return this.makeThose(() => (this.scope.log.isOpenCall(call.id) ? [call] : []));
  }

  private async makeThose(open: () => readonly ModelToolCall[]): Promise<boolean> {
    const { log } = this.scope;
    const admitted: AdmittedCall[] = [];
    for (const call of open()) {
      if (log.stepOf(call.id)?.approvalId !== undefined) continue;
      const one = await this.admit(call);
      if (one !== undefined) admitted.push(one);
    }
    await allEnded(admitted.map((one) => this.make(one)));
    for (const call of open()) {
      if (this.isWaiting) return false;
      this.scope.signal.throwIfAborted();
      await this.goOn(call);
    }
    return !this.isWaiting;
  }

  private get isWaiting(): boolean {
    return (this.scope.job.record.pendingApprovalIds ?? []).length > 0;
  }

  // ---- before a call

  /** Decides whether a call may be made. Returns undefined if it waits for an approval or has a result already. */
  private async admit(call: ModelToolCall, approval?: ApprovalRecord): Promise<AdmittedCall | undefined> {
    const { log } = this.scope;
    const args = readArguments(call.arguments);
    const known = log.stepOf(call.id);
    const step = known ?? log.add('tool_call', call.name, isObject(args) ? args : call.arguments, call.id);
    const tool = this.tools.get(call.name);
    if (tool === undefined) return this.results.fail(step, `There is no tool ${call.name}.`, outdated(approval));
    if (!isObject(args)) return this.results.fail(step, args);
    const mayHaveHappened =
      step.status === 'running' ? step.effect === 'once' : step.status === 'unknown' && approval?.kind !== 'retry';
    try {
      if (mayHaveHappened) return await this.settleUnknown(step, tool);
      return await this.decide({ ...step, input: approval?.editedInput ?? step.input }, tool, approval);
    } catch (error) {
      if (error instanceof CallDenied)
        return this.results.deny(step, error, error.code === 'approval_denied' ? outdated(approval) : undefined);
      if (error instanceof InvalidArguments)
        return this.results.fail(
          step,
          error.message,
          approval?.serverId === undefined ? undefined : outdated(approval),
        );
      if (this.scope.signal.aborted || !isRefusal(error)) throw error;
      if (approval === undefined) return this.results.fail(step, error.message);
      return this.results.deny(step, new CallDenied('permission_lost', error.message));
    }
  }

  private async decide(step: StepRecord, tool: Tool, approval?: ApprovalRecord): Promise<AdmittedCall | undefined> {
    const plan = await tool.plan(inputOf(step), this.contextOf({ ...step, id: '' }));
    const admission = await this.gate.admit(tool, plan);
    const asked = { tool, plan, step, admission };
    if (admission.decision === 'allow') return { ...asked, approval };
    if (step.grantedFor === this.gate.grantOf(plan, step.input, admission)) return { ...asked, approval };
    const before = approval?.editedInput === undefined ? step : { ...step, input: approval.input };
    const isCall = approval !== undefined && approval.kind !== 'question';
    if (isCall && this.gate.holds(approval, plan, before, admission)) return { ...asked, approval };
    await openApproval(this.scope, { ...asked, supersedes: approval });
    return undefined;
  }

  /** Continues a call that waited for an approval, once all approvals of its turn are decided. */
  private async goOn(call: ModelToolCall): Promise<void> {
    const { parts, log } = this.scope;
    const step = log.stepOf(call.id);
    const approval = step?.approvalId === undefined ? undefined : await parts.approvals.get(step.approvalId);
    if (step === undefined || approval?.status === 'pending') return;
    if (approval === undefined) {
      await this.results.deny(step, new CallDenied('approval_denied', DENIED));
      return;
    }
    if (approval.status !== 'approved') return this.refuse(step, approval);
    const one = await this.admit(call, approval);
    if (one !== undefined) await this.make(one);
  }

  /** Stores the result of a call that was not approved. */
  private async refuse(step: StepRecord, approval: ApprovalRecord): Promise<void> {
    const { status, kind, comment, reason, terms } = approval;
    const isExpired = status === 'expired';
    if (isExpired && terms.onTimeout === 'fail_run') {
      if (reason === 'no_approver') throw new RunFailure('no_approver', NO_APPROVER, false);
      throw new RunFailure('approval_denied', TIMED_OUT, true);
    }
    if (kind === 'retry') return void (await this.closeUnknown(step));
    const denied = comment === undefined ? DENIED : `${DENIED} ${comment}`;
    const text = isExpired ? (reason === 'no_approver' ? NO_APPROVER : TIMED_OUT) : denied;
    await this.results.deny(step, new CallDenied('approval_denied', text));
  }

  // ---- the call

  private async make({ tool, plan, step, admission, approval }: AdmittedCall): Promise<void> {
    const { log, parts, signal, ending } = this.scope;
    signal.throwIfAborted();
    const isRepeated = step.status === 'running' || step.status === 'unknown';
    const grantedFor = admission.decision === 'ask' ? this.gate.grantOf(plan, step.input, admission) : step.grantedFor;
    const left: StepRecord = {
      ...step,
      ...{ status: 'running', effect: plan.effect, serverId: plan.serverId, grantedFor, startedAt: now() },
      attempt: isRepeated ? step.attempt + 1 : step.attempt,
    };
    await log.save(left, {
      events: [toolEvent('tool.started', left)],
      also: async (work) => {
        const present = approval && (await work.get(parts.approvals, approval.id));
        if (present === undefined || present.kind === 'question') return;
        work.replace(parts.approvals, present, { ...present, executedInputHash: hashJson(left.input) });
      },
    });
    if (ending.aborted && !isRepeated) await log.save({ ...left, status: 'canceled', ...elapsed(left) });
    signal.throwIfAborted();
    try {
      const result = await this.call(tool, left, approval);
      if (result.question === undefined) return await this.results.complete(left, result);
      // A run that ends asks nobody.
      this.scope.signal.throwIfAborted();
      await this.ask({ tool, plan, step: left, admission }, result);
    } catch (error) {
      await this.endFailed(left, tool, error, approval);
    }
  }

  /**
   * Calls a tool. When the run ends, a call that changes something may still finish for a while, so that its step says
   * what has happened; a later result is only recorded. A call that only reads is aborted.
   */
  private async call(tool: Tool, step: StepRecord, approval: ApprovalRecord | undefined): Promise<ToolResult> {
    const { job, ending } = this.scope;
    const reads = step.effect === 'none';
    const signal = reads ? this.scope.signal : job.signal;
    const isAnswer = approval?.kind === 'question';
    const wait = abortedAfter(ending, reads ? 0 : FINISH_MS);
    const lost = abortedAfter(job.signal, 0);
    try {
      const called = tool.call(inputOf(step), {
        ...this.contextOf(step, signal),
        ...(isAnswer && { answer: approval.answer ?? {}, state: approval.questionState }),
      });
      let isAbandoned = false;
      called.then(
        (result) => (isAbandoned ? this.recordLate(step, result) : undefined),
        () => {},
      );
      return await Promise.race([called, wait.promise, lost.promise]).catch((error) => {
        isAbandoned = wait.isOver || lost.isOver;
        throw isAbandoned ? new CallAbandoned() : error;
      });
    } finally {
      wait.stop();
      lost.stop();
    }
  }

  private async recordLate(step: StepRecord, result: ToolResult): Promise<void> {
    try {
      await this.results.recordLate(step, this.results.outputOf(result));
    } catch (error) {
      this.scope.parts.log.warn('agent_run.late_result_lost', { run_id: step.runId, error: String(error) });
    }
  }

  private async endFailed(step: StepRecord, tool: Tool, error: unknown, approval?: ApprovalRecord): Promise<void> {
    const { job, signal } = this.scope;
    if (error instanceof JobLost || error instanceof RunFailure || error instanceof CallAbandoned) throw error;
    if (job.signal.aborted || (signal.aborted && step.effect === 'none')) throw error;
    if (error instanceof InvalidArguments) return void (await this.results.fail(step, error.message));
    if (isRefusal(error)) {
      const isLost = approval !== undefined && LOST.has(error.code);
      if (isLost) return void (await this.results.deny(step, new CallDenied('permission_lost', error.message)));
      return void (await this.results.fail(step, error.message));
    }
    // The end of the run closes the step as unknown.
    if (signal.aborted) throw error;
    if (error instanceof OutcomeUnknown || step.effect === 'once') {
      return void (await this.settleUnknown(step, tool));
    }
    throw error;
  }

  private async ask(call: AdmittedCall, { question }: ToolResult): Promise<void> {
    const { step } = call;
    const questions = (step.questions ?? 0) + 1;
    if (questions > MAX_QUESTIONS) {
      await this.results.fail(step, `The tool has asked more than ${MAX_QUESTIONS} questions.`);
      return;
    }
    await openApproval(this.scope, { ...call, step: { ...step, questions }, question });
  }

  // ---- calls with unknown outcome

  /**
   * Handles a call that may have taken effect as the agent's setting says: it opens an approval, reports it to the
   * model, or ends the run.
   */
  private async settleUnknown(step: StepRecord, tool: Tool): Promise<undefined> {
    try {
      const onUnknown = (await this.gate.agent())?.onUnknown ?? 'ask';
      if (onUnknown === 'fail') {
        await this.closeUnknown(step);
        throw new RunFailure('unknown_outcome', `It is not known whether ${step.name} has taken effect.`, false);
      }
      if (onUnknown === 'continue') return await this.closeUnknown(step);
      const plan = await tool.plan(inputOf(step), this.contextOf({ ...step, id: '' }));
      const admission = await this.gate.admit(tool, plan);
      await openApproval(this.scope, { tool, plan, step, admission, isRetry: true });
    } catch (error) {
      // A call that can no longer be repeated needs no approval.
      if (!(error instanceof CallDenied || error instanceof InvalidArguments) && !isRefusal(error)) throw error;
      await this.closeUnknown(step, error instanceof CallDenied ? error : undefined);
    }
    return undefined;
  }

  private async closeUnknown(step: StepRecord, cause?: CallDenied): Promise<undefined> {
    const error = { code: 'unknown_outcome', message: UNKNOWN, retryable: false };
    await this.results.close({ ...step, status: 'unknown', error }, UNKNOWN);
    if (cause?.endsRun) throw new RunFailure('permission_lost', cause.message, false);
    return undefined;
  }

  private contextOf({ id }: Pick<StepRecord, 'id'>, signal = this.scope.signal): ToolContext {
    const { job, retrieval, sources, question, ownWords } = this.scope;
    const acting: Acting = async (...need) => ({ ...(await this.scope.acting(...need)), signal });
    return { run: job.record, retrieval, sources, question, ownWords, toolCallId: id, signal, acting };
  }
}

/** Returns the approval of a call that policy or tool no longer allow; an answer to a question stays what it is. */
function outdated(approval: ApprovalRecord | undefined): ApprovalRecord | undefined {
  return approval?.kind === 'question' ? undefined : approval;
}

/** Thrown if nobody waits for the result of a call any more, because its run ends or another worker continues it. */
class CallAbandoned extends Error {}

interface AbortWait {
  readonly promise: Promise<never>;
  readonly isOver: boolean;
  stop(): void;
}

/** Returns a promise that rejects `ms` milliseconds after a signal has aborted. Call `stop` to end the wait. */
function abortedAfter(signal: AbortSignal, ms: number): AbortWait {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  let begin = () => {};
  const promise = new Promise<never>((_, reject) => {
    const end = () => {
      isOver = true;
      reject(signal.reason);
    };
    begin = () => {
      if (ms === 0) end();
      else timer = setTimeout(end, ms);
    };
  });
  promise.catch(() => {});
  if (signal.aborted) begin();
  else signal.addEventListener('abort', begin, { once: true });
  return {
    promise,
    get isOver() {
      return isOver;
    },
    stop() {
      clearTimeout(timer);
      signal.removeEventListener('abort', begin);
    },
  };
}

/** Waits until all have ended, so that none is left behind, and then throws the first failure. */
async function allEnded(all: readonly Promise<void>[]): Promise<void> {
  const outcomes = await Promise.allSettled(all);
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
}

const LOST: ReadonlySet<AppError['code']> = new Set(['PERMISSION_DENIED', 'NOT_FOUND']);
const DENIED = 'A person has denied this call.';
const TIMED_OUT = 'Nobody has decided about this call in time.';
const NO_APPROVER = 'No person may decide about this call.';
const UNKNOWN = 'It is not known whether this call has taken effect. Find out before you call it again.';

const inputOf = ({ input }: StepRecord): Readonly<Record<string, unknown>> => input as Record<string, unknown>;

/** Returns the arguments of a call, or a message for the model about why they are none. */
function readArguments(text: string): Record<string, unknown> | string {
  const read = readModelJson(text);
  if ('value' in read) return isObject(read.value) ? read.value : NO_OBJECT;
  return ARGUMENT_FAULTS[read.fault];
}

const NO_OBJECT = 'The arguments are no JSON object.';
const ARGUMENT_FAULTS = {
  syntax: NO_OBJECT,
  depth: `The arguments are nested more than ${MAX_NESTING} levels deep.`,
  number: 'The arguments have a number that is too large.',
} as const;

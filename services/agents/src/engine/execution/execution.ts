import { type HeldJob, JobLost } from '@commonplace/kit/jobs';
import { releaseApprovals } from '../../credits/approvals.js';
import type { TaintSource } from '../../domain/taint.js';
import { EXTRACTIVE_MODEL_ID } from '../../models/port.js';
import type { Parts } from '../../parts.js';
import { tellSession } from '../../runs/approval-writes.js';
import { endRun } from '../../runs/end.js';
import type { CancelReason, Ending, Outcome } from '../../runs/outcome.js';
import { cancelTopic } from '../../runs/topic.js';
import { NOTHING_SPENT, type RunRecord, type StepRecord } from '../../stores/runs.js';
import { actingFor } from '../acting.js';
import { Charges } from '../charges.js';
import { failureOf, RunFailure } from '../failure.js';
import { RunMemories } from '../memories.js';
import { OutputCheck } from '../output-check.js';
import { Reply } from '../reply.js';
import { READ_LENGTH, Retrieval } from '../retrieval.js';
import { AgentDeleted, loadRunAgent, pinLength, requireUsableAgent } from '../run-agent.js';
import { Sources } from '../sources.js';
import { StepLog, type ToolOutput } from '../step-log.js';
import { ANSWER_CALL_ID, answerCall, createAnswerTool } from '../tools/answer.js';
import { toolsOf } from '../tools/table.js';
import { latestEndOf } from './asking.js';
import { addTaints, toolEvent } from './call-results.js';
import { isOfDeletedOrg } from './deleted-org.js';
import { loadHistory } from './history.js';
import { ModelTurns } from './model-turns.js';
import { isRefusal } from './refusal.js';
import { ReplyText } from './reply-text.js';
import { loadSteps, restoreSources } from './restoring.js';
import { elapsed, type RunScope } from './scope.js';
import { ToolCalls } from './tool-calls.js';

/** Executes a run from its last stored step to its end, as long as this worker holds it. */
export class RunExecution {
  private readonly stop = new AbortController();
  private readonly timeUp: AbortSignal;
  private readonly scope: RunScope;
  private readonly text: ReplyText;

  constructor(
    private readonly parts: Parts,
    private readonly job: HeldJob<RunRecord>,
  ) {
    const run = job.record;
    this.timeUp = AbortSignal.timeout(Math.max(Date.parse(run.endsBy) - Date.now(), 1));
    const ending = AbortSignal.any([this.stop.signal, this.timeUp]);
    const signal = AbortSignal.any([job.signal, ending]);
    const acting = actingFor(parts, () => this.record, signal);
    const sources = new Sources();
    const question = run.input?.text ?? '';
    const ownWords = (run.inputTaints ?? []).length > 0 ? '' : question;
    const log = new StepLog(parts, job);
    this.scope = {
      ...{ parts, job, signal, ending, acting, sources, question, ownWords, log },
      charges: new Charges(parts, run, signal),
      retrieval: new Retrieval(parts, run, acting),
      memories: new RunMemories(parts, log, sources, acting),
      reply: new Reply(sources, ownWords),
      output: run.outputSchema === undefined ? undefined : new OutputCheck(run.outputSchema, parts.schemas, run.tenant),
    };
    this.text = new ReplyText(this.scope);
  }

  private get record(): RunRecord {
    return this.job.record;
  }

  /**
   * Executes the run until it ends, waits for approvals, is released because the process stops, or throws an error that
   * a retry may resolve.
   */
  async run(): Promise<void> {
    const listener = await this.parts.bus.listen(cancelTopic(this.record.id), () => this.stop.abort());
    try {
      if (this.record.status === 'canceling') return await this.endAsLeft();
      await this.work();
    } catch (error) {
      if (error instanceof JobLost) throw error;
      if (this.job.isStopping) return;
      if (this.stop.signal.aborted || this.record.status === 'canceling') return await this.end('canceled');
      if (this.timeUp.aborted) return await this.end('expired');
      if (error instanceof AgentDeleted) return await this.end('canceled', undefined, 'agent_deleted');
      if (await isOfDeletedOrg(this.parts, this.record, error)) {
        return await this.end('canceled', undefined, 'org_deleted');
      }
      if (error instanceof RunFailure) return await this.end('failed', error);
      if (isRefusal(error)) return await this.end('failed', failureOf(error));
      throw error;
    } finally {
      await this.text.close().catch(() => {});
      await listener.close();
    }
  }

  private async work(): Promise<void> {
    const { log, output, signal, memories, question } = this.scope;
    const { calls, model } = await this.restore();
    if (log.steps[0]?.status !== 'completed') await this.retrieve();
    await memories.choose(this.record, question);
    for (;;) {
      signal.throwIfAborted();
      if (log.openCalls.length > 0) {
        this.requireSteps(log.newCallCount);
        if (!(await calls.makeAll()) && (await this.suspend())) return;
        continue;
      }
      const turn = log.lastTurn;
      if (turn !== undefined && turn.toolCalls.length === 0 && !(await output?.wantsRepair(turn, log.turns))) {
        if (await this.settleAnswer(calls)) return await this.end('completed');
        if (await this.suspend()) return;
        continue;
      }
      this.requireSteps(1);
      await this.requireAccess();
      await model.next();
    }
  }

  /** Throws unless person and agent may act now, as each call of a tool does. */
  private async requireAccess(): Promise<void> {
    await this.scope.acting();
  }

  /**
   * Gets an approval, if necessary, for posting the answer of a run that has read untrusted content. Returns false
   * while it is undecided.
   */
  private async settleAnswer(calls: ToolCalls): Promise<boolean> {
    const { conversation, taintSources = [] } = this.record;
    if (conversation === undefined || taintSources.length === 0 || this.text.text.trim() === '') return true;
    return calls.makeOwn(createAnswerTool(this.parts), answerCall(this.text.text));
  }

  /**
   * Throws the run failure `step_limit` unless the run may take so many more steps. The calls of one turn are made
   * together or not at all, since no model would read the results of some of them.
   */
  private requireSteps(count: number): void {
    const { maxSteps } = this.record;
    const taken = this.scope.log.steps.filter(isCounted).length;
    if (count === 0 || taken + count <= maxSteps) return;
    throw new RunFailure('step_limit', `The run has reached its limit of ${maxSteps} steps.`, false);
  }

  /** Restores the state that an earlier worker has left. */
  private async restore(): Promise<{ readonly calls: ToolCalls; readonly model: ModelTurns }> {
    const { parts, scope, record } = this;
    await requireUsableAgent(parts, record);
    const tools = await toolsOf(parts, record);
    await this.taintBy([...tools.values()].flatMap(({ taint }) => taint ?? []));
    const agent = await loadRunAgent(parts, record, scope.acting);
    await loadSteps(scope);
    const { messages: history, omitted, taints } = await loadHistory(scope);
    await this.taintBy(taints);
    restoreSources(scope);
    this.text.restore();
    const message = record.sessionId === undefined ? undefined : await parts.messages.get(record.messageId);
    const isUnderWay = message === undefined || message.status === 'streaming';
    if (record.attempt > 1 && record.isResumed !== true && isUnderWay) await this.text.restart();
    return {
      calls: new ToolCalls(scope, tools),
      model: new ModelTurns(scope, this.text, { tools, history, omitted, agent }),
    };
  }

  /** Taints the run by what its model reads first: the descriptions of tools, and earlier replies. */
  private async taintBy(found: readonly TaintSource[]): Promise<void> {
    const known = this.record.taintSources?.length ?? 0;
    const taintSources = addTaints(this.record, found);
    if (taintSources.length > known) await this.job.save({ taintSources });
  }

  /** Ends a canceled run whose worker has died, keeping the text that was saved. */
  private async endAsLeft(): Promise<void> {
    this.stop.abort();
    await loadSteps(this.scope);
    await this.releaseApprovals();
    await endRun(this.parts, this.job, { status: 'canceled', output: undefined, error: undefined, message: {} });
  }

  /** Searches for the question and reads the named resources, as the first step of the run. */
  private async retrieve(): Promise<void> {
    const { log, retrieval, sources, question } = this.scope;
    const { resourceIds, searches, pinnedIds = [] } = this.record;
    const [before] = log.steps;
    const planned = before ?? log.add('tool_call', 'search', { query: question, resource_ids: resourceIds });
    const attempt = before === undefined ? planned.attempt : planned.attempt + 1;
    const step = { ...planned, attempt, status: 'running' } as const;
    await log.save(step, { events: [toolEvent('tool.started', step)] });
    const named = [...new Set([...resourceIds, ...pinnedIds])];
    const length = pinnedIds.length === 0 ? undefined : this.pinLength(named.length);
    const read = await Promise.all(named.map((id) => retrieval.read(id, question, length)));
    const found = searches ? await retrieval.search(question) : [];
    const given = read.filter((source) => source !== undefined);
    const all = sources.add([...given, ...found.filter(({ resourceId }) => !named.includes(resourceId))]);
    const taints = all.flatMap(({ taint }) => taint ?? []);
    const output: ToolOutput = { text: '', sources: all, isError: false };
    const done = { ...step, status: 'completed', output, ...elapsed(step) } as const;
    await log.save(done, {
      ...{ spent: { ...NOTHING_SPENT, toolCalls: 1 }, events: [toolEvent('tool.finished', done)] },
      change: (run) => (taints.length === 0 ? {} : { taintSources: addTaints(run, taints) }),
    });
  }

  private pinLength(count: number): number | undefined {
    const model = this.parts.models.find(this.record.model);
    return model && pinLength(model.info, count, READ_LENGTH);
  }

  /**
   * Releases the run until its approvals are decided. No resources are held, and its time limit is suspended. Returns
   * false if they are decided already.
   */
  private async suspend(): Promise<boolean> {
    const { parts, job } = this;
    await this.text.endText();
    const { reply, sources } = this.scope;
    const content = this.text.text;
    try {
      await job.finish(
        (run) => {
          if ((run.pendingApprovalIds ?? []).length === 0) throw new AllDecided();
          if (run.status === 'canceling') throw new RunFailure('internal', 'The run was cancelled.', false);
          return {
            ...{ status: 'awaiting_approval', remainingMs: Math.max(Date.parse(run.endsBy) - Date.now(), 0) },
            ...{ endsBy: new Date(latestEndOf(run)).toISOString(), ...this.text.state },
          };
        },
        async (work, run) => {
          await tellSession(parts, work, run, true);
          const message = await work.get(parts.messages, run.messageId);
          const given = { citations: reply.citations(content), ...sources.ofMessage };
          if (message !== undefined) work.replace(parts.messages, message, { ...message, content, ...given });
        },
      );
      return true;
    } catch (error) {
      if (error instanceof AllDecided) return false;
      throw error;
    }
  }

  /** Releases what approvals have reserved; if that fails, it expires by itself. */
  private async releaseApprovals(): Promise<void> {
    await releaseApprovals(this.parts.ledger, this.record).catch(() => {});
  }

  private async end(status: Ending, failure?: RunFailure, cancelReason?: CancelReason): Promise<void> {
    const { log, reply, sources, output } = this.scope;
    await this.text.close().catch(() => {});
    await this.releaseApprovals();
    const { text } = this.text;
    const citations = reply.citations(text);
    const degraded = this.record.model === EXTRACTIVE_MODEL_ID;
    const data = await output?.read(log.lastTurn?.text ?? '');
    const changed = log.steps.flatMap(({ output: left }) => (left as ToolOutput | undefined)?.resourceIds ?? []);
    const cited = citations.map(({ resourceId }) => resourceId);
    const isTruncated = log.lastTurn?.finishReason === 'length';
    const droppedMessages = log.droppedMessages || undefined;
    await endRun(this.parts, this.job, {
      status,
      cancelReason,
      error: failure?.failure ?? (status === 'expired' ? TIME_UP : undefined),
      output:
        status === 'completed'
          ? {
              text,
              citations,
              resourceIds: [...new Set([...cited, ...changed])],
              degraded,
              ...(isTruncated && { isTruncated }),
              ...(data !== undefined && { data: data.value }),
            }
          : undefined,
      answer: postedAnswer(log.stepOf(ANSWER_CALL_ID)),
      droppedMessages,
      message: { content: text, citations, ...sources.ofMessage, degraded, droppedMessages },
    });
  }
}

/**
 * Returns the approved text of the answer, or `withheld` if it was not approved; undefined if no approval was needed.
 */
function postedAnswer(step: StepRecord | undefined): Outcome['answer'] {
  if (step === undefined) return undefined;
  return step.status === 'completed' ? (step.input as { readonly text: string }) : 'withheld';
}

/** Returns whether a step counts for the limit: not what the engine adds itself, its memories and posting its answer. */
const isCounted = ({ type, toolCallId }: StepRecord): boolean => type !== 'memory' && toolCallId !== ANSWER_CALL_ID;

/** Thrown if all approvals were decided before the run was released. */
class AllDecided extends Error {}

const TIME_UP = { code: 'time_limit', message: 'The run exceeded its time limit.', retryable: true };

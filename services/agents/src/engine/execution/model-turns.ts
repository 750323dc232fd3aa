import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { releaseApprovals } from '../../credits/approvals.js';
import { maxReplyTokens } from '../../models/estimate.js';
import type { ChatModel, ModelMessage } from '../../models/port.js';
import { addSpent, NOTHING_SPENT, type Spent, type StepRecord } from '../../stores/runs.js';
import { RunFailure } from '../failure.js';
import { callModel, ModelCallFailed, spentOf } from '../model-call.js';
import { buildPrompt, estimatePrompt, IN_CONVERSATION, questionOf } from '../prompt.js';
import type { RunAgent } from '../run-agent.js';
import type { TurnOutput } from '../step-log.js';
import type { Tool } from '../tools/tool.js';
import type { ReplyText } from './reply-text.js';
import { elapsed, now, type RunScope } from './scope.js';

/** Maximum attempts to call a model before the run fails. */
const MODEL_TRIES = 4;
const RETRY_MS = 500;
const MAX_RETRY_MS = 30_000;

/** The input of each turn of the model. */
interface TurnInput {
  readonly tools: ReadonlyMap<string, Tool>;
  readonly history: readonly ModelMessage[];
  /** Number of earlier messages that no prompt contains. */
  readonly omitted: number;
  readonly agent: RunAgent;
}

/** Calls the model, one turn after another. */
export class ModelTurns {
  /** Number of history messages that are left out from the start, and number that the last prompt left out. */
  private dropped = 0;
  private left = 0;

  constructor(
    private readonly scope: RunScope,
    private readonly text: ReplyText,
    private readonly given: TurnInput,
  ) {}

  /** Calls the model until it has answered, and stores the turn. */
  async next(): Promise<void> {
    const { log, signal } = this.scope;
    const model = this.model();
    await this.releaseApprovals();
    const left = log.steps.find(({ type, status }) => type === 'message' && status === 'planned');
    await this.text.beginTurn();
    let step = left ?? log.add('message', model.info.id, {});
    for (let tries = 1; ; tries++) {
      step = { ...step, attempt: step.attempt + 1 };
      try {
        await this.tryModel(model, step);
        return;
      } catch (error) {
        if (!(error instanceof ModelCallFailed)) throw error;
        await saveAttempt(this.scope, { ...step, status: 'planned' }, error.spent);
        step = log.get(step.id) ?? step;
        const waitMs = this.waitAfter(error, tries);
        await this.text.beginTurn();
        await sleep(waitMs, undefined, { signal });
      }
    }
  }

  private model(): ChatModel {
    const { parts, job } = this.scope;
    const model = parts.models.find(job.record.model);
    if (model === undefined) {
      throw new RunFailure('model_unavailable', `The model ${job.record.model} is no longer configured.`, true);
    }
    return model;
  }

  private async releaseApprovals(): Promise<void> {
    const { parts, job } = this.scope;
    const { reservedApprovalIds = [] } = job.record;
    if (reservedApprovalIds.length === 0) return;
    await releaseApprovals(parts.ledger, job.record);
    await job.save({ reservedApprovalIds: undefined });
  }

  /** Returns the milliseconds before the next attempt. Throws the failure of the run if there is none. */
  private waitAfter(error: ModelCallFailed, tries: number): number {
    if (error.isTooLong && tries < MODEL_TRIES && this.left < this.given.history.length) {
      this.dropped = Math.ceil((this.left + this.given.history.length) / 2);
      return 0;
    }
    const { retryAfterMs } = error;
    const { code, retryable } = error.cause;
    if (retryAfterMs === undefined || tries >= MODEL_TRIES) throw new RunFailure(code, error.message, retryable);
    const waitMs = Math.max(retryAfterMs, randomInt(RETRY_MS / 2, RETRY_MS) * 2 ** tries);
    if (waitMs > MAX_RETRY_MS) throw new RunFailure(code, error.message, retryable);
    return waitMs;
  }

  private async tryModel(model: ChatModel, planned: StepRecord): Promise<void> {
    const { log, charges, sources, reply, output, question, signal, memories, job } = this.scope;
    const { info } = model;
    const { history, omitted, agent } = this.given;
    const maxOutputTokens = maxReplyTokens(info);
    const tools = info.supportsTools ? [...this.given.tools.values()].map(({ schema }) => schema) : [];
    const place = job.record.conversation?.messageId === undefined ? [] : IN_CONVERSATION;
    const instructions = [agent.system, place, output?.instruction ?? []].flat().join('\n');
    const turns = (await output?.withRepairs(log.messages)) ?? log.messages;
    const { input: given } = job.record;
    const asked = given === undefined ? question : questionOf(given, sources.boundary);
    const prompt = buildPrompt(
      {
        system: await memories.within(instructions, job.record),
        history: history.slice(this.dropped),
        question: asked,
        sources: log.firstSources,
        boundary: sources.boundary,
        turns: await memories.resolve(turns, job.record),
      },
      info,
      maxOutputTokens,
    );
    this.left = this.dropped + prompt.dropped;
    const tokens = estimatePrompt(prompt.messages, JSON.stringify(tools));
    const reserved = spentOf(model, tokens, maxOutputTokens, true).micros;
    const input = { tokens, messages: prompt.messages.length, dropped_messages: omitted + this.left };
    const attempt = { status: 'running', input, reservedMicros: reserved, owed: undefined, startedAt: now() } as const;
    const step: StepRecord = { ...planned, ...attempt };
    await charges.reserve(step, reserved);
    await log.save(step);
    // A JSON result is not text to be shown, and must not be changed.
    const filter = output === undefined ? reply.filter() : UNFILTERED;
    const passages = sources
      .list()
      .map(({ number, resourceId, name, text }) => ({ marker: number, sourceId: resourceId, name, text }));
    const request = {
      ...{ messages: prompt.messages, tools, maxOutputTokens, passages, question },
      ...(output && { outputSchema: output.schema }),
      ...(agent.temperature !== undefined && { temperature: agent.temperature }),
    };
    // A reply that is too long ends as if the model had reached its own limit.
    const full = new AbortController();
    const write = (text: string) => {
      if (!this.text.write(text)) full.abort();
    };
    const answer = await charges.keep(step, () =>
      callModel(model, request, AbortSignal.any([signal, full.signal]), (text) => write(filter.push(text))),
    );
    write(filter.end());
    await this.text.endText();
    const truncated = full.signal.aborted;
    const isAborted = answer.reason === 'aborted';
    const turn: TurnOutput = {
      text: this.text.turnText,
      toolCalls: isAborted || truncated ? [] : answer.toolCalls,
      cited: reply.citedNumbers,
      finishReason: truncated ? 'length' : answer.reason,
    };
    const status = signal.aborted && isAborted ? 'canceled' : 'completed';
    await saveAttempt(this.scope, { ...step, status, output: turn, truncated, ...elapsed(step) }, answer.spent);
    signal.throwIfAborted();
  }
}

const UNFILTERED = { push: (text: string) => text, end: () => '' };

/**
 * Stores the end of an attempt to call the model, and then charges it. If a worker dies between the two, the next one
 * charges the same amount under the same key.
 */
export async function saveAttempt(
  { log, charges }: Pick<RunScope, 'log' | 'charges'>,
  step: StepRecord,
  spent: Spent,
): Promise<void> {
  const saved = { ...step, owed: spent, spent: addSpent(step.spent ?? NOTHING_SPENT, spent) };
  await log.save(saved, { spent });
  await charges.settle(saved, spent);
}

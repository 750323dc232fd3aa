import type { Changes, HeldJob } from '@commonplace/kit/jobs';
import type { UnitOfWork } from '@commonplace/kit/store';
import type { EndReason, ModelMessage, ModelToolCall } from '../models/port.js';
import type { Parts } from '../parts.js';
import { deletionOf, logEvents, type NewRunEvent } from '../runs/log.js';
import { addSpent, type RunRecord, type Spent, type StepRecord, stepId } from '../stores/runs.js';
import { type Fence, fenced } from './prompt.js';
import type { Source } from './sources.js';

/** The output of a call of the model, as its step stores it. */
export interface TurnOutput {
  /** The text as it was sent to readers. */
  readonly text: string;
  readonly toolCalls: readonly ModelToolCall[];
  readonly cited: readonly number[];
  /** Why the reply ended; absent in those of earlier versions. */
  readonly finishReason?: EndReason | undefined;
}

/** The output of a call of a tool, as its step stores it. */
export interface ToolOutput {
  readonly text: string;
  readonly sources: readonly Source[];
  readonly isError: boolean;
  /** The fence of a text from outside. The model receives the text within it. */
  readonly fence?: Fence | undefined;
  /** The resources that the text was drawn from, besides the sources. */
  readonly drawnFrom?: readonly string[] | undefined;
  /** Whether only the person who started the run may see the text. */
  readonly isPrivate?: boolean | undefined;
  /** The resources that the call has created or changed. */
  readonly resourceIds?: readonly string[] | undefined;
}

/** Additional writes when a step is stored. */
interface StepWrites {
  readonly spent?: Spent | undefined;
  readonly events?: readonly NewRunEvent[] | undefined;
  /** Returns further changes of the run, given its record when it is written. */
  readonly change?: ((run: RunRecord) => Changes<RunRecord>) | undefined;
  /** Makes further writes in the unit of work. */
  readonly also?: ((work: UnitOfWork, run: RunRecord) => unknown) | undefined;
}

/** The steps of a run that this worker holds. */
export class StepLog {
  private all: StepRecord[] = [];

  constructor(
    private readonly parts: Pick<Parts, 'steps' | 'runEvents' | 'settings'>,
    private readonly job: HeldJob<RunRecord>,
  ) {}

  get steps(): readonly StepRecord[] {
    return this.all;
  }

  async load(): Promise<void> {
    const where = { runId: this.job.record.id };
    this.all = await this.parts.steps.find({ where, sort: ['seq'], limit: 1_000 });
  }

  /** Adds a step in memory; `save` stores it. */
  add(type: StepRecord['type'], name: string, input: unknown, toolCallId?: string): StepRecord {
    const { id, tenant } = this.job.record;
    const seq = this.all.length + 1;
    const now = new Date();
    const step: StepRecord = {
      ...{
        id: stepId(id, seq),
        version: 0,
        tenant,
        runId: id,
        seq,
        type,
        name,
        toolCallId,
        input,
        effect: 'none',
        truncated: false,
      },
      ...{ attempt: type === 'message' ? 0 : 1, status: 'planned' },
      ...{ startedAt: now.toISOString(), deleteAt: deletionOf(this.parts.settings, now) },
    };
    this.all.push(step);
    return step;
  }

  /** Stores a step with its cost and events, in one unit of work with the run. */
  async save(step: StepRecord, { spent, events = [], change, also }: StepWrites = {}): Promise<void> {
    const { steps } = this.parts;
    let stored: StepRecord = step;
    await this.job.save(
      (run) => ({
        stepCount: this.all.length,
        eventCount: run.eventCount + events.length,
        ...(spent && { spent: addSpent(run.spent, spent) }),
        ...change?.(run),
      }),
      async (work, run) => {
        const before = await work.get(steps, step.id);
        stored = before === undefined ? work.insert(steps, step) : work.replace(steps, before, step);
        logEvents(this.parts, work, run, events);
        await also?.(work, run);
      },
    );
    this.all = this.all.map((one) => (one.id === step.id ? stored : one));
  }

  get(id: string): StepRecord | undefined {
    return this.all.find((step) => step.id === id);
  }

  /** The outputs of the completed calls of the model. */
  get turns(): TurnOutput[] {
    return this.all.flatMap(({ type, status, output }) =>
      type === 'message' && status === 'completed' ? [output as TurnOutput] : [],
    );
  }

  get lastTurn(): TurnOutput | undefined {
    return this.turns.at(-1);
  }

  /** Number of messages of the history that the latest call of the model did not receive. */
  get droppedMessages(): number {
    const inputs = this.all.flatMap(({ type, input }) =>
      type === 'message' ? [input as { dropped_messages?: number }] : [],
    );
    return inputs.findLast(({ dropped_messages }) => dropped_messages !== undefined)?.dropped_messages ?? 0;
  }

  /** The text that the completed calls of the model have written. */
  get text(): string {
    return this.turns.map(({ text }) => text).join('');
  }

  /** The calls of the last turn without a result. */
  get openCalls(): readonly ModelToolCall[] {
    return (this.lastTurn?.toolCalls ?? []).filter(({ id }) => this.isOpenCall(id));
  }

  /** Number of steps that the calls of the last turn still need. */
  get newCallCount(): number {
    const ids = this.openCalls.map(({ id }) => id);
    return new Set(ids.filter((id) => this.stepOf(id) === undefined)).size;
  }

  /** Returns whether a call after the last turn has no result yet. */
  isOpenCall(toolCallId: string): boolean {
    const step = this.stepOf(toolCallId);
    return step === undefined || isOpen(step);
  }

  /** Returns the step of a call after the last turn. */
  stepOf(toolCallId: string): StepRecord | undefined {
    const at = this.all.findLastIndex(({ type, status }) => type === 'message' && status === 'completed');
    return this.all.slice(at + 1).find((step) => step.toolCallId === toolCallId);
  }

  /** The sources of the first step, which the prompt shows with the question; later ones are in results of tools. */
  get firstSources(): readonly Source[] {
    const [first] = this.all;
    return first === undefined ? [] : (first.output as ToolOutput).sources;
  }

  /** The messages for the model about the run so far: each call with exactly one result. */
  get messages(): ModelMessage[] {
    return this.all.slice(1).flatMap((step): ModelMessage[] => {
      if (step.type === 'message' && step.status === 'completed') {
        const { text, toolCalls } = step.output as TurnOutput;
        return [{ role: 'assistant', content: text, ...(toolCalls.length > 0 && { toolCalls }) }];
      }
      if (step.type !== 'tool_call' || step.toolCallId === undefined || step.output === undefined) return [];
      const { text, isError, fence } = step.output as ToolOutput;
      const content = fence === undefined ? text : fenced(text, fence);
      return [{ role: 'tool', toolCallId: step.toolCallId, content, isError }];
    });
  }
}

/** Returns whether a call of a tool has no result yet. */
function isOpen({ status, output }: StepRecord): boolean {
  return status === 'planned' || status === 'running' || (status === 'unknown' && output === undefined);
}

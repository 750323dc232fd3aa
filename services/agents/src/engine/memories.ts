import type { TaintSource } from '../domain/taint.js';
import { chooseMemories, countUse } from '../memories/choose.js';
import { stillUsable } from '../memories/of-run.js';
import { markedIds, resolveMarks, withMemories } from '../memories/text.js';
import type { ModelMessage } from '../models/port.js';
import type { Parts } from '../parts.js';
import type { MemoryRecord } from '../stores/memories.js';
import type { RunRecord, StepRecord } from '../stores/runs.js';
import type { Acting } from './acting.js';
import type { Sources } from './sources.js';
import type { StepLog } from './step-log.js';

export const MEMORY_TOOL = 'memory';

/**
 * The memories that a run receives. Its steps store only their ids. The texts are read again for each prompt, so that a
 * memory that was erased, or that the person may no longer use, is missing from the next prompt.
 */
export class RunMemories {
  constructor(
    private readonly parts: Parts,
    private readonly log: StepLog,
    private readonly sources: Sources,
    private readonly acting: Acting,
  ) {}

  /** Chooses the memories for a question before the first call of the model, unless an earlier worker has done so. */
  async choose(run: RunRecord, question: string): Promise<void> {
    const known = this.log.steps.find(({ type }) => type === 'memory');
    if (known !== undefined) return this.sources.draw(stored(known).source_ids);
    if (this.log.steps.some(({ type }) => type === 'message')) return;
    const startedAt = Date.now();
    const chosen = await chooseMemories(this.parts, question, { run, acting: this.acting });
    if (chosen.length === 0) return;
    const ids = chosen.map(({ id }) => id);
    const output: MemoryOutput = { memory_ids: ids, source_ids: chosen.flatMap(({ sourceIds }) => sourceIds) };
    const done = { ...this.log.add('memory', MEMORY_TOOL, {}), status: 'completed', output } as const;
    this.sources.draw(output.source_ids);
    await this.log.save(
      { ...done, durationMs: Date.now() - startedAt },
      {
        change: (now) => ({ taintSources: tainted(now.taintSources, chosen) }),
        also: (work) => countUse(this.parts, ids, work),
      },
    );
  }

  /** Returns the instructions with the current texts of the chosen memories. */
  async within(instructions: string, run: RunRecord): Promise<string> {
    const step = this.log.steps.find(({ type }) => type === 'memory');
    return withMemories(instructions, await this.read(stored(step).memory_ids, run), run.id);
  }

  /** Returns messages with the current texts of the memories that the tool has found. */
  async resolve(messages: readonly ModelMessage[], run: RunRecord): Promise<readonly ModelMessage[]> {
    const ofTool = ({ type, name }: StepRecord) => type === 'tool_call' && name === MEMORY_TOOL;
    const calls = new Set(this.log.steps.filter(ofTool).map(({ toolCallId }) => toolCallId));
    const isFound = (message: ModelMessage) => message.role === 'tool' && calls.has(message.toolCallId);
    const ids = messages.filter(isFound).flatMap(({ content }) => markedIds(content));
    if (ids.length === 0) return messages;
    const known = new Map((await this.read([...new Set(ids)], run)).map((memory) => [memory.id, memory]));
    return messages.map((message) =>
      isFound(message) ? { ...message, content: resolveMarks(message.content, known) } : message,
    );
  }

  private async read(ids: readonly string[], run: RunRecord): Promise<MemoryRecord[]> {
    const memories = await stillUsable(this.parts, ids, { run, acting: this.acting });
    // The answer counts as drawn from the sources of the memories, so that people who cannot read these do not see it.
    this.sources.draw(memories.flatMap(({ sourceIds }) => sourceIds));
    return memories;
  }
}

/** The output of the step that chooses memories. */
interface MemoryOutput {
  readonly memory_ids: readonly string[];
  /** The resources that the memories were drawn from. */
  readonly source_ids: readonly string[];
}

function stored(step: StepRecord | undefined): MemoryOutput {
  return { memory_ids: [], source_ids: [], ...(step?.output as Partial<MemoryOutput> | undefined) };
}

/** Returns the taints of a run, including memories written by a tainted run. */
export function tainted(
  before: readonly TaintSource[] | undefined,
  memories: readonly MemoryRecord[],
): readonly TaintSource[] | undefined {
  const known = new Set(before?.map(({ id }) => id));
  const added = memories.filter(({ id, isTainted }) => isTainted && !known.has(id)).map(taintOf);
  return added.length === 0 ? before : [...(before ?? []), ...added];
}

export const taintOf = ({ id }: MemoryRecord): TaintSource => ({ type: 'agent', id, name: 'Memory' });

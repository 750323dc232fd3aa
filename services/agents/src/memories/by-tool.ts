import type { Actor } from '@commonplace/kit/auth';
import { createEvent } from '@commonplace/kit/events';
import { inWork, LostRace, UniqueTaken, type UnitOfWork } from '@commonplace/kit/store';
import { isLongerThan } from '@commonplace/kit/words';
import type { Parts } from '../parts.js';
import type { MemoryKind, MemoryRecord } from '../stores/memories.js';
import type { RunRecord } from '../stores/runs.js';
import { addMemory, changeMemory, type MemoryDraft, type SeesSources } from './write.js';

type ToolParts = Pick<Parts, 'memories' | 'quotas' | 'store'>;

/** A text that a run writes into a memory. */
export interface RunText {
  readonly content: string;
  readonly kind: MemoryKind;
  /** The place of the memory. */
  readonly place: Pick<MemoryRecord, 'scope' | 'tenant' | 'orgId' | 'workspaceId' | 'userId' | 'agentId' | 'subjectId'>;
  /** The resources that the run has read so far, from any of which the text may be drawn. */
  readonly sourceIds: readonly string[];
}

const agentActor = ({ agentId = '', agentName = '' }: RunRecord): Actor => ({
  type: 'agent',
  id: agentId,
  name: agentName,
});

export const isTainted = ({ taintSources }: RunRecord): boolean => (taintSources ?? []).length > 0;

/**
 * Stores a memory for a run. A memory of a tainted run is only proposed: nothing uses it until a person accepts it, and
 * the person whom it concerns is notified.
 */
export async function remember(
  parts: ToolParts,
  run: RunRecord,
  text: RunText,
  sees: SeesSources,
): Promise<MemoryRecord> {
  const proposed = isTainted(run);
  const draft: MemoryDraft = {
    ...text.place,
    ...{ content: text.content, kind: text.kind, sourceIds: text.sourceIds, tags: [], importance: 0.5 },
    ...{ isPinned: false, status: proposed ? 'proposed' : 'active', isTainted: proposed, metadata: {} },
    ...{ source: { type: 'agent_run', id: run.id }, creatorId: run.userId, createdBy: agentActor(run) },
  };
  return unlessTaken(() =>
    inWork(parts.store, async (work) => {
      const { memory, isNew } = await addMemory(parts, draft, work, sees);
      if (isNew && proposed) work.publish(proposal(run, memory));
      return memory;
    }),
  );
}

/** Repeats a write that failed because another run stored the same text, so that it finds that text. */
async function unlessTaken<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (error instanceof UniqueTaken) return write();
    throw error;
  }
}

function proposal(run: RunRecord, { id, tenant, orgId, workspaceId = '' }: MemoryRecord) {
  const { userId, agentId = '' } = run;
  const data = { memoryId: id, agentId, agentName: run.agentName ?? '', userId, orgId, workspaceId };
  return createEvent({ service: 'agents', type: 'memory.proposed', subject: id, data, tenant, actor: agentActor(run) });
}

/** Maximum number of calls that are remembered for a memory. */
const MAX_CALLS = 200;
/** Maximum characters of a memory. */
export const MAX_CONTENT = 8_000;

/** Thrown if a memory would become too long. */
export class TooLong extends Error {}

/**
 * Appends a line to a memory. Concurrent appends all take effect, since each reads the memory again. A call that has
 * already appended does not append twice. Returns undefined if the memory no longer exists.
 */
export function append(
  parts: ToolParts,
  run: RunRecord,
  id: string,
  line: string,
  sourceIds: readonly string[],
  call: string,
  sees: SeesSources,
): Promise<MemoryRecord | undefined> {
  return patiently(parts, async (work) => {
    const before = await work.get(parts.memories, id);
    if (before === undefined || before.appendedBy?.includes(call)) return before;
    const content = `${before.content}\n${line}`;
    if (isLongerThan(content, MAX_CONTENT)) throw new TooLong();
    const appendedBy = [...(before.appendedBy ?? []), call].slice(-MAX_CALLS);
    const drawn = [...new Set([...before.sourceIds, ...sourceIds])];
    return changeMemory(parts, before, { content, sourceIds: drawn, appendedBy }, agentActor(run), work, sees);
  });
}

/** Replaces the text of a memory if its version is the given one. Otherwise it returns the memory unchanged. */
export function revise(
  parts: ToolParts,
  run: RunRecord,
  id: string,
  version: number,
  { content, sourceIds }: Pick<RunText, 'content' | 'sourceIds'>,
  sees: SeesSources,
): Promise<{ readonly memory: MemoryRecord | undefined; readonly isRevised: boolean }> {
  return patiently(parts, async (work) => {
    const before = await work.get(parts.memories, id);
    if (before === undefined || before.content === content) return { memory: before, isRevised: before !== undefined };
    if (before.version !== version) return { memory: before, isRevised: false };
    const drawn = [...new Set([...before.sourceIds, ...sourceIds])];
    const change = { content, sourceIds: drawn };
    return { memory: await changeMemory(parts, before, change, agentActor(run), work, sees), isRevised: true };
  });
}

export function forget({ memories, store }: ToolParts, id: string): Promise<void> {
  return inWork(store, async (work) => {
    const memory = await work.get(memories, id);
    if (memory !== undefined) work.remove(memories, memory);
  });
}

/** Maximum rounds of units of work that lose their race; each round is a dozen attempts. */
const ROUNDS = 10;

/** Repeats a change while others change the same memory. Of concurrent changes one always commits. */
async function patiently<T>({ store }: ToolParts, change: (work: UnitOfWork) => Promise<T>): Promise<T> {
  for (let round = 1; ; round++) {
    try {
      return await inWork(store, change);
    } catch (error) {
      if (!(error instanceof LostRace) || round === ROUNDS) throw error;
    }
  }
}

import { jsonBytes } from '@commonplace/kit/json';
import { createBreathe } from '@commonplace/kit/slices';
import { actorMessage } from '@commonplace/platform/actors';
import { enumValue } from '@commonplace/platform/enums';
import { Citation } from '@commonplace/proto/agents/v1/citation.js';
import {
  type Run,
  type RunOutput as RunOutputMessage,
  RunSource,
  RunStatus,
  type RunStep,
  StepEffect,
  StepStatus,
  StepType,
} from '@commonplace/proto/agents/v1/run.js';
import { type ModelUsage, UsageSource } from '@commonplace/proto/agents/v1/usage.js';
import type { StoredCitation } from '../domain/citation.js';
import { formatCredits } from '../domain/micros.js';
import { namedTaints } from '../domain/taint.js';
import type { Readable } from '../readable.js';
import type { RunOutput, RunRecord, Spent, StepRecord } from '../stores/runs.js';
import { resourceType } from './resource-type.js';

export function usageMessage({ inputTokens, outputTokens, micros, toolCalls, estimated }: Spent): ModelUsage {
  return {
    inputTokens,
    outputTokens,
    credits: formatCredits(micros),
    toolCalls,
    source: estimated ? UsageSource.ESTIMATED : UsageSource.PROVIDER,
  };
}

export function citationMessage(citation: StoredCitation, readable: Readable): Citation {
  const present = readable.get(citation.resourceId);
  if (present === undefined) return { ...HIDDEN, marker: citation.marker };
  const {
    marker,
    resourceId,
    name: called,
    type,
    blockId,
    rowId,
    page,
    contentVersion,
    snippet,
    ranges,
    score,
  } = citation;
  return {
    ...{ marker, hidden: false, resourceId, name: called, type: resourceType(type), blockId, rowId, page },
    ...{ contentVersion, snippet, score, isStale: present.contentVersion !== contentVersion },
    ranges: ranges.map(([start, end]) => ({ bounds: [start, end] })),
  };
}

const HIDDEN = Citation.fromPartial({ hidden: true });

/** The parts of a run's message that depend on the reader and the time. */
interface RunView {
  readonly readable: Readable;
  /** Whether the reader may see the run's sources and answer. */
  readonly isOpen: boolean;
  /** Returns the URL of a whole step; if absent, whole steps are shown. */
  readonly urlOfStep?: ((step: StepRecord) => string) | undefined;
  readonly queuePosition?: number | undefined;
}

export function outputMessage(
  { text, resourceIds, data, citations, degraded, isTruncated = false }: RunOutput,
  readable: Readable,
): RunOutputMessage {
  return {
    ...{ text, degraded, truncated: isTruncated, resourceIds: resourceIds.filter((id) => readable.has(id)) },
    data: data === undefined ? Buffer.alloc(0) : jsonBytes(data),
    citations: citations.map((citation) => citationMessage(citation, readable)),
  };
}

/** Returns the message of a run with those of its steps. */
export function runMessage(run: RunRecord, view: RunView, steps: RunStep[] = []): Run {
  const { readable, isOpen, queuePosition } = view;
  const { input } = run;
  const output = isOpen ? run.output : undefined;
  return {
    id: run.id,
    agentId: run.agentId,
    agentVersion: run.agentVersion,
    status: enumValue(RunStatus, run.status),
    source: enumValue(RunSource, run.source),
    initiator: actorMessage(run.initiator),
    workspaceId: run.workspaceId,
    orgId: run.orgId || undefined,
    sessionId: run.sessionId ?? run.answersTo,
    workItemId: run.workItemId,
    scheduleId: run.scheduleId,
    input: input && { text: input.text, attachments: [...input.attachments], parameters: jsonBytes(input.parameters) },
    output: output && outputMessage(output, readable),
    steps,
    pendingApprovalIds: [...(run.pendingApprovalIds ?? [])],
    model: run.model,
    usage: usageMessage(run.spent),
    error: run.error,
    cancelReason: run.cancelReason,
    attempt: run.attempt,
    retryOf: run.retryOf,
    queuePosition,
    metadata: jsonBytes(run.metadata),
    createdAt: run.createdAt,
    startedAt: run.startedAt,
    finishedAt: run.finishedAt,
    expiresAt: run.endsBy,
    version: run.version,
    tainted: (run.taintSources ?? []).length > 0,
    taintSources: isOpen ? namedTaints(run.taintSources, run.id) : [],
  };
}

/** Returns the messages of steps. Their inputs and outputs are written as JSON with pauses, as they may be megabytes. */
export async function stepMessages(steps: readonly StepRecord[], view: RunView): Promise<RunStep[]> {
  const breathe = createBreathe();
  const messages: RunStep[] = [];
  for (const step of steps) {
    messages.push(stepMessage(view.isOpen ? step : closedStep(step), view));
    await breathe();
  }
  return messages;
}

/** Returns a step for a reader who may not see the run's sources. */
function closedStep(step: StepRecord): StepRecord {
  return { ...step, input: undefined, output: undefined, error: closedFailure(step) };
}

/** Returns the failure of a step without its message, which could reveal content. */
export function closedFailure({ error }: Pick<StepRecord, 'error'>): StepRecord['error'] {
  return error && { ...error, message: 'You may not see what has failed.' };
}

/** Maximum bytes of a step's input or output that are shown. */
const MAX_SHOWN = 64 * 1024;

function stepMessage(step: StepRecord, { readable, urlOfStep }: RunView): RunStep {
  const limit = urlOfStep === undefined ? Number.POSITIVE_INFINITY : MAX_SHOWN;
  const input = shown(step.input, limit);
  const output = shown(visibleOutput(step, readable), limit);
  const isCut = input.isCut || output.isCut;
  return {
    seq: step.seq,
    type: enumValue(StepType, step.type),
    name: step.name,
    serverId: step.serverId,
    toolCallId: step.toolCallId,
    effect: enumValue(StepEffect, step.effect),
    attempt: step.attempt,
    input: input.bytes,
    output: output.bytes,
    truncated: step.truncated || isCut,
    url: isCut ? urlOfStep?.(step) : undefined,
    status: enumValue(StepStatus, step.status),
    usage: step.spent && usageMessage(step.spent),
    error: step.error,
    startedAt: step.startedAt,
    durationMs: step.durationMs,
    approvalId: step.approvalId,
    late: step.isLate === true,
  };
}

/** Returns the output of a step without what the reader cannot read. */
function visibleOutput({ type, name: called, output }: StepRecord, readable: Readable): unknown {
  if (typeof output !== 'object' || output === null) return output;
  if (type === 'memory') return { memory_ids: (output as { memory_ids?: unknown }).memory_ids ?? [] };
  if (type === 'message') return turnOutput(output as StoredTurn);
  const { text = '', sources = [], drawnFrom = [], resourceIds = [], isError } = output as StoredResult;
  // Passages are shown one by one, as far as the reader can read them, and not as the model has received them.
  const isShown = sources.length === 0 && !INTERNAL.has(called) && drawnFrom.every((id) => readable.has(id));
  return {
    ...(isShown && isError !== true && { text }),
    sources: sources
      .filter(({ resourceId }) => readable.has(resourceId))
      .map(({ resourceId, number, name: title, snippet }) => ({
        ...{ resource_id: resourceId, number, name: title, snippet },
      })),
    ...(resourceIds.length > 0 && { resource_ids: resourceIds.filter((id) => readable.has(id)) }),
    ...(isError === true && { error: text }),
  };
}

/** Tools whose results are for the model alone: they are shown elsewhere, to the people who may see them. */
const INTERNAL: ReadonlySet<string> = new Set(['skill', 'memory']);

/** The output of a call of a tool, as its step stores it. */
interface StoredResult {
  readonly text?: string;
  readonly sources?: readonly {
    readonly resourceId: string;
    readonly number?: number;
    readonly name?: string;
    readonly snippet?: string;
  }[];
  readonly drawnFrom?: readonly string[];
  readonly resourceIds?: readonly string[];
  readonly isError?: boolean;
}

/** The output of a call of a model, as its step stores it. */
interface StoredTurn {
  readonly text?: string;
  readonly toolCalls?: readonly object[];
  readonly cited?: readonly number[];
  readonly finishReason?: string;
}

const turnOutput = ({ text = '', toolCalls = [], cited = [], finishReason }: StoredTurn) => ({
  ...{ text, tool_calls: toolCalls, cited },
  ...(finishReason !== undefined && { finish_reason: finishReason }),
});

function shown(value: unknown, limit: number): { readonly bytes: Buffer; readonly isCut: boolean } {
  if (value === undefined) return { bytes: Buffer.alloc(0), isCut: false };
  const bytes = jsonBytes(value);
  if (bytes.length <= limit) return { bytes, isCut: false };
  for (let length = limit / 2; length >= 1; length /= 2) {
    const cut = jsonBytes(shortened(value, Math.floor(length)));
    if (cut.length <= limit) return { bytes: cut, isCut: true };
  }
  return { bytes: jsonBytes(null), isCut: true };
}

/** Returns a value of the same form whose texts, lists and objects have at most `length` characters or entries. */
function shortened(value: unknown, length: number): unknown {
  if (typeof value === 'string') return value.slice(0, length).replace(/[\ud800-\udbff]$/, '');
  if (Array.isArray(value)) return value.slice(0, length).map((one) => shortened(one, length));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).slice(0, length);
  return Object.fromEntries(entries.map(([key, one]) => [key, shortened(one, length)]));
}

import type { Actor as Doer } from '@commonplace/kit/auth';
import type { Citation } from '@commonplace/proto/agents/v1/citation.js';
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
import type { Actor, ActorType } from '@commonplace/proto/api/v1/actor.js';
import { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import type { StoredCitation } from '../domain/citation.js';
import { formatCredits } from '../domain/micros.js';
import type { Readable } from '../readable.js';
import type { RunOutput, RunRecord, Spent, StepRecord } from '../stores/runs.js';
import { enumNamed } from './enums.js';
import { resourceType } from './resource-type.js';

export const actorMessage = ({ type, id, name: called }: Doer): Actor => ({
  type: `ACTOR_TYPE_${type.toUpperCase()}` as ActorType,
  id,
  name: called,
});

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

const HIDDEN: Citation = {
  marker: 0,
  hidden: true,
  resourceId: '',
  name: '',
  type: ResourceType.UNSPECIFIED,
  blockId: undefined,
  rowId: undefined,
  page: undefined,
  contentVersion: 0,
  snippet: '',
  ranges: [],
  score: undefined,
  isStale: false,
};

/** The parts of a run's message that depend on the reader and the time. */
export interface RunView {
  readonly readable: Readable;
  /** Whether the reader may see the run's sources and answer. */
  readonly isOpen: boolean;
  readonly steps?: readonly StepRecord[];
  readonly queuePosition?: number | undefined;
}

export function outputMessage(
  { text, resourceIds, data, citations, degraded }: RunOutput,
  readable: Readable,
): RunOutputMessage {
  return {
    ...{ text, degraded, resourceIds: resourceIds.filter((id) => readable.has(id)) },
    data: data === undefined ? Buffer.alloc(0) : jsonBytes(data),
    citations: citations.map((citation) => citationMessage(citation, readable)),
  };
}

export function runMessage(run: RunRecord, { readable, isOpen, steps = [], queuePosition }: RunView): Run {
  const { input } = run;
  const output = isOpen ? run.output : undefined;
  return {
    id: run.id,
    agentId: run.agentId,
    agentVersion: run.agentVersion,
    status: enumNamed(RunStatus, run.status),
    source: enumNamed(RunSource, run.source),
    initiator: actorMessage(run.initiator),
    workspaceId: run.workspaceId,
    orgId: run.orgId || undefined,
    sessionId: run.sessionId ?? run.answersTo,
    workItemId: run.workItemId,
    scheduleId: run.scheduleId,
    input: input && { text: input.text, attachments: [...input.attachments], parameters: jsonBytes(input.parameters) },
    output: output && outputMessage(output, readable),
    steps: steps.map((step) => stepMessage(isOpen ? step : closedStep(step), readable)),
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
    taintSources: isOpen ? [...(run.taintSources ?? [])] : [],
  };
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

function stepMessage(step: StepRecord, readable: Readable): RunStep {
  const input = shown(step.input);
  const output = shown(visibleOutput(step, readable));
  return {
    seq: step.seq,
    type: enumNamed(StepType, step.type),
    name: step.name,
    serverId: step.serverId,
    toolCallId: step.toolCallId,
    effect: enumNamed(StepEffect, step.effect),
    attempt: step.attempt,
    input: input.bytes,
    output: output.bytes,
    truncated: input.isCut || output.isCut,
    status: enumNamed(StepStatus, step.status),
    usage: step.spent && usageMessage(step.spent),
    error: step.error,
    startedAt: step.startedAt,
    durationMs: step.durationMs,
    approvalId: step.approvalId,
    late: step.isLate === true,
  };
}

/** Returns the output of a step without passages that the reader cannot read. */
function visibleOutput({ type, output }: StepRecord, readable: Readable): unknown {
  if (type === 'memory') return { memory_ids: (output as { memory_ids?: unknown } | undefined)?.memory_ids ?? [] };
  if (type !== 'tool_call' || typeof output !== 'object' || output === null) return output;
  const { sources = [] } = output as { readonly sources?: readonly { readonly resourceId: string }[] };
  return {
    sources: sources
      .filter(({ resourceId }) => readable.has(resourceId))
      .map(({ resourceId, ...rest }) => ({ resource_id: resourceId, ...pick(rest) })),
    ...((output as { isError?: boolean }).isError === true && { error: (output as { text?: string }).text }),
  };
}

function pick(source: object): object {
  const { number, name: called, snippet } = source as { number?: number; name?: string; snippet?: string };
  return { number, name: called, snippet };
}

function shown(value: unknown): { readonly bytes: Buffer; readonly isCut: boolean } {
  if (value === undefined) return { bytes: Buffer.alloc(0), isCut: false };
  const bytes = jsonBytes(value);
  if (bytes.length <= MAX_SHOWN) return { bytes, isCut: false };
  return { bytes: jsonBytes(bytes.subarray(0, MAX_SHOWN / 2).toString()), isCut: true };
}

export function jsonBytes(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

import { PROMPT_MESSAGES } from '../../config.js';
import { distinctTaints, type TaintSource, unknownTaint } from '../../domain/taint.js';
import type { ModelMessage } from '../../models/port.js';
import type { RunRecord } from '../../stores/runs.js';
import type { MessageRecord } from '../../stores/sessions.js';
import { resourcesOf } from '../../wire/sessions.js';
import { conversationOf, historyOf } from '../prompt.js';
import type { RunScope } from './scope.js';

/** The earlier messages of a session or a conversation, as a run receives them. */
interface History {
  readonly messages: readonly ModelMessage[];
  /** Number of earlier messages that exceed the limit of a prompt. */
  readonly omitted: number;
  /** The taints of the runs that wrote the messages. */
  readonly taints: readonly TaintSource[];
}

type HistoryScope = Pick<RunScope, 'parts' | 'job' | 'sources' | 'acting'>;

/**
 * Returns the earlier messages of the run's session or conversation, without its question. Their sources become sources
 * of the run. Replies drawn from content that the run cannot read are replaced by a note.
 */
export async function loadHistory(scope: HistoryScope): Promise<History> {
  const { parts, job, sources } = scope;
  const { sessionId, conversation, messageSeq = 0 } = job.record;
  if (sessionId === undefined)
    return { messages: conversationOf(conversation?.earlier ?? [], sources.boundary), omitted: 0, taints: [] };
  const where = { sessionId, seq: { lt: messageSeq }, supersededBy: { exists: false } };
  const before = (await parts.messages.find({ where, sort: ['-seq'], limit: PROMPT_MESSAGES + 1 })).reverse();
  const omitted = before.length > PROMPT_MESSAGES ? (await parts.messages.count(where)) - before.length : 0;
  // The question is at the end of the prompt, with its sources.
  const at = before.map(({ role }) => role).lastIndexOf('user');
  const earlier = before.filter((_, i) => i !== at);
  const open = await withoutUnreadable(scope, earlier);
  sources.drawFrom({ drawnFrom: resourcesOf(open), isPrivate: open.some(({ isPrivate }) => isPrivate === true) });
  return { messages: historyOf(open), omitted, taints: await taintsOf(scope, open) };
}

const WITHHELD = '(This reply is withheld: it was drawn from content that cannot be read here.)';

async function withoutUnreadable(
  { parts, job, acting }: HistoryScope,
  messages: readonly MessageRecord[],
): Promise<MessageRecord[]> {
  const replies = messages.filter(({ role }) => role === 'assistant');
  const ids = resourcesOf(replies);
  const run = job.record;
  if (ids.length === 0 || (await keepsAnswers(parts, run))) return [...messages];
  const { resources } = await parts.index.checkAccess({ ids }, await acting(undefined, { isNamed: true }));
  const readable = new Set(resources.map(({ id }) => id));
  return messages.map((message) => {
    const isOpen = message.role !== 'assistant' || message.sourceIds.every((id) => readable.has(id));
    return isOpen ? message : { ...message, content: WITHHELD, sourceIds: [], citations: [], runId: undefined };
  });
}

/**
 * Returns whether a run may read earlier replies regardless of their sources. Runs of the built-in assistant may,
 * unless the workspace withholds replies when access is revoked.
 */
async function keepsAnswers(
  { memberships, systemCall }: RunScope['parts'],
  { agentId, isLimited, userId, workspaceId }: RunRecord,
): Promise<boolean> {
  if (agentId !== undefined || isLimited === true) return false;
  if (workspaceId === undefined) return true;
  const { workspaces } = await memberships.of(userId, systemCall());
  return workspaces.get(workspaceId)?.withholdOnRevoke !== true;
}

async function taintsOf({ parts }: HistoryScope, messages: readonly MessageRecord[]): Promise<TaintSource[]> {
  const ids = new Set(messages.flatMap(({ runId }) => runId ?? []));
  const runs = await parts.runs.getMany([...ids]);
  const kept = new Set(runs.map(({ id }) => id));
  // The taints of a run that no longer exists are unknown, so the run itself counts as a taint.
  const unknown = [...ids].filter((id) => !kept.has(id)).map(unknownTaint);
  return distinctTaints([...runs.flatMap(({ taintSources = [] }) => taintSources), ...unknown]);
}

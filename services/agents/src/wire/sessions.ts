import { actorMessage } from '@commonplace/platform/actors';
import { enumValue } from '@commonplace/platform/enums';
import {
  ChatMessage,
  ChatMessageStatus,
  ChatRole,
  type ChatSession,
  ChatStatus,
  ChatVisibility,
} from '@commonplace/proto/agents/v1/chat_session.js';
import type { Page } from '@commonplace/proto/api/v1/page.js';
import type { Readable } from '../readable.js';
import type { MessageRecord, SessionRecord } from '../stores/sessions.js';
import { citationMessage, usageMessage } from './runs.js';

/** The parts of an answer about a session that are not in its record. */
interface SessionExtras {
  readonly messages?: readonly ChatMessage[];
  readonly page?: Page;
  readonly runId?: string | undefined;
  /** The resources that the reader can read, if they do not own the session; its owner has named them all. */
  readonly readable?: Readable | undefined;
}

export function sessionMessage(session: SessionRecord, defaultModel: string, extras: SessionExtras = {}): ChatSession {
  return {
    id: session.id,
    workspaceId: session.workspaceId,
    orgId: session.orgId || undefined,
    title: session.title,
    agentId: session.agentId,
    model: session.model ?? defaultModel,
    context: {
      resourceIds: session.resourceIds.filter((id) => extras.readable === undefined || extras.readable.has(id)),
      search: session.search,
    },
    visibility: enumValue(ChatVisibility, session.visibility),
    isArchived: session.isArchived,
    status: statusOf(session),
    lastMessageAt: session.messageCount === 0 ? undefined : session.lastMessageAt,
    messageCount: session.messageCount,
    usage: usageMessage(session.spent),
    activeRunId: session.activeRunId,
    createdBy: actorMessage(session.createdBy),
    createdAt: session.createdAt,
    updatedAt: session.updatedAt,
    version: session.version,
    messages: [...(extras.messages ?? [])],
    page: extras.page,
    runId: extras.runId,
  };
}

function statusOf({ activeRunId, awaitsApproval }: SessionRecord): ChatStatus {
  if (activeRunId === undefined) return ChatStatus.IDLE;
  return awaitsApproval ? ChatStatus.AWAITING_APPROVAL : ChatStatus.RESPONDING;
}

/** The relation of a reader to a session's answers. */
export interface MessageReader {
  /** Whether the reader is the person who asked. */
  readonly isAsker: boolean;
  /** Whether the reader sees answers even if they cannot read the sources. */
  readonly keepsAnswers: boolean;
}

export const ASKER: MessageReader = { isAsker: true, keepsAnswers: true };

/** Converts a message for a reader. It is withheld if the reader cannot read one of its sources. */
export function chatMessage(message: MessageRecord, readable: Readable, reader: MessageReader): ChatMessage {
  const { id, seq, role, createdAt } = message;
  const about = { id, seq, role: enumValue(ChatRole, role), createdAt };
  const isDrawn = message.sourceIds.every((source) => readable.has(source));
  const isTold = reader.isAsker || message.isPrivate !== true;
  if (!reader.keepsAnswers && !(isDrawn && isTold)) {
    return { ...NOTHING, ...about, withheld: true, reason: 'source_not_readable' };
  }
  return {
    ...NOTHING,
    ...about,
    content: message.content,
    citations: message.citations.map((citation) => citationMessage(citation, readable)),
    runId: message.runId,
    status: enumValue(ChatMessageStatus, message.status),
    model: message.model,
    usage: message.spent && usageMessage(message.spent),
    degraded: message.degraded,
    imported: message.isImported,
    // Empty if no run has replaced the message.
    supersededByRunId: message.supersededBy || undefined,
    droppedMessages: message.droppedMessages ?? 0,
    error: message.error,
  };
}

const NOTHING = ChatMessage.fromPartial({});

/** Returns the ids of the resources that presenting messages needs. */
export function resourcesOf(messages: readonly MessageRecord[]): string[] {
  return [
    ...new Set(
      messages.flatMap(({ citations, sourceIds }) => [...sourceIds, ...citations.map(({ resourceId }) => resourceId)]),
    ),
  ];
}

import { createEvent } from '@commonplace/kit/events';
import { derivedId } from '@commonplace/kit/id';
import type { UnitOfWork } from '@commonplace/kit/store';
import type { PostAgentMessageRequest } from '@commonplace/proto/messaging/v1/conversation_access_service.js';
import type { MakeEvent } from './events.js';
import type { MessageRecord, ReceiptRecord } from './message-records.js';
import type { ConversationParts } from './parts.js';
import { memberId } from './records.js';
import { appendMessage } from './send.js';

type AgentMessageParts = Pick<
  ConversationParts,
  'conversations' | 'heads' | 'members' | 'messages' | 'mentions' | 'receipts' | 'settings' | 'now'
>;

/** Maximum length of a message in code points. */
const MAX_TEXT = 20_000;

/** A message that a run posts. */
type AgentMessage = Omit<PostAgentMessageRequest, 'userId' | 'chain'> &
  Partial<Pick<PostAgentMessageRequest, 'userId' | 'chain'>>;

/**
 * The result of posting the message of a run: `sent` if it was written now, `before` if an earlier call has written it.
 */
interface RunMessage {
  readonly sent?: MessageRecord;
  readonly before?: ReceiptRecord;
}

/**
 * Posts the message of a run into a conversation. The author is the agent, or the system if the run has failed. A
 * second call for the same run writes nothing. Returns undefined if the conversation does not exist, or if the agent is
 * no member and the request names no person.
 */
export async function writeAgentMessage(
  parts: AgentMessageParts,
  work: UnitOfWork,
  request: AgentMessage,
  requestId?: string,
): Promise<RunMessage | undefined> {
  const { conversationId, agentId, agentName, runId, replyToId, failed, text, resourceIds, chain = [] } = request;
  const receiptId = derivedId(`agent-message:${runId}`);
  const before = await work.get(parts.receipts, receiptId);
  if (before !== undefined) return { before };
  const [conversation, head, member] = await Promise.all([
    work.get(parts.conversations, conversationId),
    work.get(parts.heads, conversationId),
    work.get(parts.members, memberId(conversationId, agentId)),
  ]);
  if (conversation === undefined || head === undefined) return undefined;
  const isMember = member?.isActive === true;
  if (!isMember && request.userId === undefined) return undefined;
  const replyTo = replyToId === undefined ? undefined : await parts.messages.get(replyToId);
  const make: MakeEvent = (type, subject, data, tenant) =>
    createEvent({
      ...{ service: 'messaging', type, subject, data, tenant, ...(requestId !== undefined && { requestId }), chain },
      actor: { type: 'agent', id: agentId, name: agentName },
    });
  const sent = await appendMessage(
    parts,
    work,
    make,
    { conversation, head, member: failed || !isMember ? undefined : member },
    {
      author: { type: failed ? 'system' : 'agent', id: agentId, name: agentName },
      text: cut(text),
      resourceIds: [...new Set(resourceIds)].slice(0, parts.settings.messageAttachments),
      mentions: [],
      replyTo: replyTo?.conversationId === conversationId ? replyTo : undefined,
      runId,
      receiptId,
      marksRead: false,
    },
  );
  return { sent };
}

function cut(text: string): string {
  const points = [...text];
  return points.length <= MAX_TEXT ? text : points.slice(0, MAX_TEXT).join('');
}

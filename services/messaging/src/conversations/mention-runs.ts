import { setTimeout as sleep } from 'node:timers/promises';
import { workspacesReached } from '@commonplace/kit/auth';
import { derivedId } from '@commonplace/kit/id';
import { type HeldJob, openQueue, type Queue } from '@commonplace/kit/jobs';
import type { CallContext, Client } from '@commonplace/kit/rpc';
import type { UnitOfWork } from '@commonplace/kit/store';
import { traceparentNow } from '@commonplace/kit/telemetry';
import type { ConversationRunService, EarlierMessage } from '@commonplace/proto/agents/v1/conversation_run_service.js';
import { writeAgentMessage } from './agent-message.js';
import type { MessageRecord, StoredMention } from './message-records.js';
import type { ConversationParts } from './parts.js';
import { type MentionRunRecord, memberId, mentionRunQueue } from './records.js';

/** The number of messages before the mention that a run receives as context, and the code points of each. */
const EARLIER = 20;
const EARLIER_TEXT = 4_000;

const runIdOf = (messageId: string, agentId: string): string => derivedId(`mention-run:${messageId}:${agentId}`);

/** Returns the id of the run that a message starts; if it mentions several agents, that of the first. */
export function firstRunOf(messageId: string, mentions: readonly StoredMention[]): string | undefined {
  const agent = mentions.find(({ type }) => type === 'agent');
  return agent && runIdOf(messageId, agent.id);
}

/** Enqueues a run of each agent that a message mentions, in the unit of work that sends the message. */
export function startMentioned(
  { mentionRuns, now }: Pick<ConversationParts, 'mentionRuns' | 'now'>,
  { id: messageId, tenant, conversationId, mentions }: MessageRecord,
  { caller, work }: CallContext,
): MentionRunRecord[] {
  const { userId, userName, credential, chain, authorId } = caller;
  const limitedTo = workspacesReached(caller);
  return mentions
    .filter(({ type }) => type === 'agent')
    .map(({ id: agentId, name: agentName }) =>
      work.insert(mentionRuns, {
        ...{ id: runIdOf(messageId, agentId), tenant, conversationId, messageId, agentId, agentName, userId, userName },
        ...{ credentialId: credential.id, scopes: credential.scopes, dueAt: new Date(now()).toISOString() },
        ...(chain !== undefined && { chain }),
        ...(authorId !== undefined && { authorId }),
        ...(limitedTo !== undefined && { limitedTo: [...limitedTo] }),
        traceparent: traceparentNow(),
      }),
    );
}

const WAIT_MS = 3_000;
/** About nine hours: after an outage that is longer, nobody expects a reply any more. */
const MAX_WAITS = 60;
const POLL_MS = 20;

/** Waits until the runs were started or refused, at most 3 s, so that the sender can follow them at once. */
export async function untilStarted(
  queue: Pick<Queue<MentionRunRecord>, 'collection' | 'runNow'>,
  records: readonly MentionRunRecord[],
): Promise<void> {
  const until = Date.now() + WAIT_MS;
  const ids = records.map(({ id }) => id);
  await Promise.race([
    Promise.all(records.map((record) => queue.runNow(record).catch(() => {}))),
    sleep(WAIT_MS, undefined, { ref: false }),
  ]);
  // Another worker may have claimed the job first; this waits for its result.
  while (Date.now() < until && (await queue.collection.getMany(ids)).some(({ failures }) => failures === undefined)) {
    await sleep(POLL_MS, undefined, { ref: false });
  }
}

type MentionRunParts = Omit<ConversationParts, 'index' | 'users' | 'agents'>;

/**
 * Opens the queue that starts the runs of mentioned agents. The run's id is fixed in the job, so that retries do not
 * start it twice.
 */
export function openMentionRunQueue(
  parts: MentionRunParts,
  runs: Client<ConversationRunService>,
): Promise<Queue<MentionRunRecord>> {
  const { store, log, now } = parts;
  return openQueue<MentionRunRecord>({
    ...{ store, log, now, spec: mentionRunQueue, concurrency: 8, maxWaits: MAX_WAITS },
    async run(job) {
      const {
        id,
        messageId,
        conversationId,
        agentId,
        userId,
        userName,
        credentialId,
        scopes,
        chain = [],
        authorId,
        limitedTo = [],
      } = job.record;
      const [message, member, author] = await Promise.all([
        parts.messages.get(messageId),
        parts.members.get(memberId(conversationId, userId)),
        authorId === undefined ? undefined : parts.members.get(memberId(conversationId, authorId)),
      ]);
      if (message === undefined || message.deletedAt !== undefined) return job.remove();
      if (member?.isActive !== true)
        return refuse(parts, job, 'The person who mentioned the agent has left the conversation.');
      if (authorId !== undefined && author?.isActive !== true)
        return refuse(parts, job, 'The author of the automation has left the conversation.');
      const visibleFromSeq = Math.max(member.visibleFromSeq, author?.visibleFromSeq ?? 0);
      const { refusal } = await runs.startConversationRun(
        {
          ...{ runId: id, agentId, userId, userName, credentialId, scopes: [...scopes], conversationId, messageId },
          ...{ workspaceId: member.workspaceId, text: message.text, resourceIds: [...message.resourceIds] },
          earlier: await earlierMessages(parts, message, visibleFromSeq),
          ...{ chain: [...chain], authorId, limitedTo: [...limitedTo] },
        },
        parts.systemCall(),
      );
      if (refusal === '') await job.remove();
      else await refuse(parts, job, refusal);
    },
    onGivenUp: (job) => refuse(parts, job, 'The agent could not be started.'),
  });
}

/** Posts the reason why no run was started, in the unit of work that removes the job. */
function refuse(parts: MentionRunParts, job: HeldJob<MentionRunRecord>, text: string): Promise<void> {
  const { id: runId, conversationId, agentId, agentName, messageId: replyToId } = job.record;
  const message = { runId, conversationId, agentId, agentName, replyToId, text, failed: true, resourceIds: [] };
  return job.remove((work: UnitOfWork) => writeAgentMessage(parts, work, message));
}

/** Returns the latest messages before a message that a member can see, oldest first, without those of the system. */
async function earlierMessages(
  { messages }: Pick<ConversationParts, 'messages'>,
  { conversationId, seq }: MessageRecord,
  visibleFromSeq: number,
): Promise<EarlierMessage[]> {
  const where = { conversationId, seq: { gte: visibleFromSeq, lt: seq } };
  const found = await messages.find({ where, sort: ['-seq'], limit: EARLIER });
  return found
    .filter(({ author, deletedAt, text }) => author.type !== 'system' && deletedAt === undefined && text !== '')
    .reverse()
    .map(({ author, text, runId }) => ({
      ...{ authorId: author.id, authorName: author.name, byAgent: author.type === 'agent' },
      ...{ runId: runId ?? '', text: [...text].slice(0, EARLIER_TEXT).join('') },
    }));
}

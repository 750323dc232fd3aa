import { AppError } from '@commonplace/kit/errors';
import { openQueue, type Queue } from '@commonplace/kit/jobs';
import type { UnitOfWork } from '@commonplace/kit/store';
import { traceparentNow } from '@commonplace/kit/telemetry';
import type { Parts } from '../parts.js';
import { type DeliveryRecord, deliveryQueue } from '../stores/deliveries.js';
import type { RunRecord } from '../stores/runs.js';
import type { Outcome } from './outcome.js';

/** Has the answer of a run written into the conversation that started it, in the unit that ends the run. */
export function deliver(
  { deliveries }: Pick<Parts, 'deliveries'>,
  work: UnitOfWork,
  run: RunRecord,
  outcome: Outcome,
): void {
  const { id, tenant, conversation, agentId, agentName = 'Agent', userId, chain } = run;
  if (conversation === undefined || agentId === undefined) return;
  const { output, answer = output, status } = outcome;
  const text = answer === undefined || answer === 'withheld' ? '' : answer.text;
  const { resourceIds = [] } = output ?? {};
  const failed = status !== 'completed' || text.trim() === '';
  work.insert(deliveries, {
    ...{ id, tenant, conversationId: conversation.id, messageId: conversation.messageId, agentId, agentName, failed },
    ...{ text: failed ? reasonOf(agentName, outcome) : text, resourceIds: failed ? [] : resourceIds },
    // Nobody has mentioned the agent: it says there what its person could.
    ...{ userId: conversation.messageId === undefined ? userId : undefined, chain },
    dueAt: new Date().toISOString(),
    traceparent: traceparentNow(),
  });
}

/** The members of the conversation learn that there is no answer, and only who asked may read in the run why. */
function reasonOf(name: string, { status, answer }: Outcome): string {
  if (status === 'completed' && answer === 'withheld') return `The answer of ${name} was not approved.`;
  if (status === 'canceled') return `The run of ${name} was canceled.`;
  if (status === 'expired') return `The run of ${name} has taken longer than it may.`;
  return status === 'failed' ? `The run of ${name} has failed.` : `${name} has nothing to say.`;
}

const LASTING: ReadonlySet<AppError['code']> = new Set(['NOT_FOUND', 'PERMISSION_DENIED']);

/** Opens the queue that writes answers into conversations. Each is written once, however often it is tried. */
export function openDeliveryQueue({
  store,
  log,
  conversations,
  systemCall,
}: Pick<Parts, 'store' | 'log' | 'conversations' | 'systemCall'>): Promise<Queue<DeliveryRecord>> {
  return openQueue<DeliveryRecord>({
    ...{ store, log, spec: deliveryQueue, concurrency: 8 },
    async run(job) {
      const { id, conversationId, messageId, agentId, agentName, text, resourceIds, failed } = job.record;
      const { userId, chain = [] } = job.record;
      const answer = { runId: id, conversationId, agentId, agentName, text, failed, resourceIds: [...resourceIds] };
      try {
        await conversations.postAgentMessage(
          { ...answer, replyToId: messageId, userId, chain: [...chain] },
          systemCall(),
        );
      } catch (error) {
        // The conversation was deleted, or who would say it there may not any more: nobody waits for the answer.
        if (!(error instanceof AppError && LASTING.has(error.code))) throw error;
      }
      await job.remove();
    },
  });
}

import { AppError } from '@commonplace/kit/errors';
import { openQueue, type Queue } from '@commonplace/kit/jobs';
import type { UnitOfWork } from '@commonplace/kit/store';
import { traceparentNow } from '@commonplace/kit/telemetry';
import type { Parts } from '../parts.js';
import { type DeliveryRecord, deliveryQueue } from '../stores/deliveries.js';
import type { RunRecord } from '../stores/runs.js';
import type { Outcome } from './outcome.js';

/** Enqueues the delivery of a run's answer to its conversation, in the unit of work that ends the run. */
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
    // If no message mentioned the agent, it may post only what its person could.
    ...{ userId: conversation.messageId === undefined ? userId : undefined, chain },
    dueAt: new Date().toISOString(),
    traceparent: traceparentNow(),
  });
}

/**
 * Returns the text for the conversation if there is no answer. It does not say why the run failed, which only the
 * person who asked may read in the run.
 */
function reasonOf(name: string, { status, answer }: Outcome): string {
  if (status === 'completed' && answer === 'withheld') return `The answer of ${name} was not approved.`;
  if (status === 'canceled') return `The run of ${name} was canceled.`;
  if (status === 'expired') return `The run of ${name} has taken longer than it may.`;
  return status === 'failed' ? `The run of ${name} has failed.` : `${name} has nothing to say.`;
}

const PERMANENT_CODES: ReadonlySet<AppError['code']> = new Set(['NOT_FOUND', 'PERMISSION_DENIED']);

/** Opens the queue that posts answers into conversations. Each is posted once, even if the call is repeated. */
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
        // The conversation was deleted, or the agent or person may no longer post there, so the answer is dropped.
        if (!(error instanceof AppError && PERMANENT_CODES.has(error.code))) throw error;
      }
      await job.remove();
    },
  });
}

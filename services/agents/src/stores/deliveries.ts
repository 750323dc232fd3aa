import { DEAD_INDEX, type JobRecord, type QueueSpec } from '@commonplace/kit/jobs';
import type { CollectionSpec } from '@commonplace/kit/store';

/** What a run that has ended says in a conversation. Its id is that of the run. */
export interface DeliveryRecord extends JobRecord {
  readonly tenant: string;
  readonly conversationId: string;
  /** The message that mentioned the agent; absent where no message has started the run. */
  readonly messageId?: string | undefined;
  /** The person without whom the agent says nothing there: set where no message has started the run. */
  readonly userId?: string | undefined;
  readonly chain?: readonly string[] | undefined;
  readonly agentId: string;
  readonly agentName: string;
  readonly text: string;
  readonly resourceIds: readonly string[];
  /** There is no answer: the text says why. */
  readonly failed: boolean;
  readonly dueAt?: string | undefined;
}

export const deliveryCollection: CollectionSpec<DeliveryRecord> = {
  name: 'run_deliveries',
  indexes: [{ fields: ['dueAt'] }, { fields: ['tenant'] }, DEAD_INDEX],
};

export const deliveryQueue: QueueSpec<DeliveryRecord> = {
  name: 'agents.deliveries',
  collection: deliveryCollection,
  due: 'dueAt',
  describe: ({ id, conversationId, tenant }) => `answer of run ${id} for conversation ${conversationId} in ${tenant}`,
};

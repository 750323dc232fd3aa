import { DEAD_INDEX, type JobRecord, type QueueSpec } from '@commonplace/kit/jobs';
import type { CollectionSpec } from '@commonplace/kit/store';

/** The job that posts the answer of an ended run into a conversation. Its id is the run's. */
export interface DeliveryRecord extends JobRecord {
  readonly tenant: string;
  readonly conversationId: string;
  /** The message that mentioned the agent; absent if no message started the run. */
  readonly messageId?: string | undefined;
  /** The person whose right to post is required; present if no message started the run. */
  readonly userId?: string | undefined;
  readonly chain?: readonly string[] | undefined;
  readonly agentId: string;
  readonly agentName: string;
  readonly text: string;
  readonly resourceIds: readonly string[];
  /** Whether there is no answer, in which case the text says why. */
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

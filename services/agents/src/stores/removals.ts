import { DEAD_INDEX, type JobRecord, type QueueSpec } from '@commonplace/kit/jobs';
import type { CollectionSpec } from '@commonplace/kit/store';

/** The job that erases the messages and runs of a deleted session. Its id is the session's. */
export interface RemovalRecord extends JobRecord {
  readonly tenant: string;
  readonly dueAt?: string | undefined;
}

const removalCollection: CollectionSpec<RemovalRecord> = {
  name: 'session_removals',
  indexes: [{ fields: ['dueAt'] }, { fields: ['tenant'] }, DEAD_INDEX],
};

export const removalQueue: QueueSpec<RemovalRecord> = {
  name: 'agents.session_removals',
  collection: removalCollection,
  due: 'dueAt',
  describe: ({ id, tenant }) => `removal of chat session ${id} in ${tenant}`,
  keptBecause: () => 'messages of a deleted session would stay',
};

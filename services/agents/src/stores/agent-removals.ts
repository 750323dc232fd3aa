import { DEAD_INDEX, type JobRecord, type QueueSpec } from '@commonplace/kit/jobs';
import type { CollectionSpec } from '@commonplace/kit/store';

/** The job that cancels the runs of a deleted agent and deletes its records. Its id is the agent's. */
export interface AgentRemovalRecord extends JobRecord {
  readonly tenant: string;
  readonly dueAt?: string | undefined;
}

const agentRemovalCollection: CollectionSpec<AgentRemovalRecord> = {
  name: 'agent_removals',
  indexes: [{ fields: ['dueAt'] }, { fields: ['tenant'] }, DEAD_INDEX],
};

export const agentRemovalQueue: QueueSpec<AgentRemovalRecord> = {
  name: 'agents.agent_removals',
  collection: agentRemovalCollection,
  due: 'dueAt',
  describe: ({ id, tenant }) => `removal of agent ${id} in ${tenant}`,
  keptBecause: () => 'runs and versions of a deleted agent would stay',
};

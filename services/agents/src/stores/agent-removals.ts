import { DEAD_INDEX, type JobRecord, type QueueSpec } from '@commonplace/kit/jobs';
import type { CollectionSpec } from '@commonplace/kit/store';

/** A deleted agent whose runs are still to be canceled, and whose versions to be deleted. Its id is that of the agent. */
export interface AgentRemovalRecord extends JobRecord {
  readonly tenant: string;
  readonly dueAt?: string | undefined;
}

export const agentRemovalCollection: CollectionSpec<AgentRemovalRecord> = {
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

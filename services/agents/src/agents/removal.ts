import type { CallContext } from '@commonplace/kit/rpc';
import type { Parts } from '../parts.js';
import type { AgentRecord } from '../stores/agents.js';

/**
 * Deletes an agent in the unit of work of a call. A job then cancels its runs and deletes everything that belongs to
 * it.
 */
export function removeAgent(
  parts: Pick<Parts, 'agents' | 'agentRemovals'>,
  agent: AgentRecord,
  context: Pick<CallContext, 'work' | 'event'>,
): void {
  const { work } = context;
  const { id, tenant } = agent;
  work.remove(parts.agents, agent);
  work.insert(parts.agentRemovals, { id, tenant, dueAt: new Date().toISOString() });
  work.publish(context.event('agent.deleted', id, { agentId: id, orgId: agent.orgId }, tenant));
}

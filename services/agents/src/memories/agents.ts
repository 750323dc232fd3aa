import { NotFound } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import { callerMemberships, type PersonMemberships } from '@commonplace/platform/memberships';
import { accessTo, isVisible, requireReach } from '../agents/access.js';
import type { Parts } from '../parts.js';
import type { AgentRecord } from '../stores/agents.js';

type AgentParts = Pick<Parts, 'agents' | 'memories' | 'memberships'>;

/**
 * Returns an agent that the caller may use or administers, or that has memories about them. Throws `NotFound`
 * otherwise, and for agents of Orgs that the caller has left.
 */
export async function agentFor(parts: AgentParts, id: string, context: CallContext): Promise<AgentRecord> {
  const { caller, work } = context;
  const agent = await work.get(parts.agents, id);
  if (agent === undefined) throw NotFound();
  const remembers = (await parts.memories.count({ agentId: id, subjectId: caller.userId }, 1)) > 0;
  const maySee = (person: PersonMemberships) =>
    isVisible(accessTo(agent, person)) || (remembers && (agent.orgId === '' || person.orgs.has(agent.orgId)));
  if (!maySee(await callerMemberships(parts.memberships, context, maySee))) throw NotFound();
  requireReach(caller, agent);
  return agent;
}

/**
 * Throws `NotFound` unless memories of an agent can be about a person: one who belongs to its Org, or who may use a
 * Personal agent. A memory is shown to the person whom it is about, so strangers must not be able to send them texts.
 */
export async function requireSubject(
  { memberships }: Pick<Parts, 'memberships'>,
  agent: AgentRecord,
  userId: string,
  { onward }: Pick<CallContext, 'onward'>,
): Promise<void> {
  const canBe = (person: PersonMemberships) =>
    agent.orgId === '' ? accessTo(agent, person).mayUse : person.orgs.has(agent.orgId);
  if (canBe(await memberships.of(userId, onward)) || canBe(await memberships.fresh(userId, onward))) return;
  throw NotFound({}, { param: 'subject_user_id' });
}

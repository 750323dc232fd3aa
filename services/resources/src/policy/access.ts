import { type Access, effectiveAccess, lesserAccess } from '../domain/access.js';
import { agentAccess } from '../domain/agent-access.js';
import type { Grant } from '../domain/grant.js';
import type { Node } from '../domain/node.js';
import { belongs, isReached, publicLink } from './gate.js';
import { type GrantReader, ownsOutright } from './grants.js';
import type { AccessSubject, Policy } from './port.js';

export interface AccessResolver extends Pick<Policy, 'accessTo' | 'accessToAll'> {
  /** Returns the access that the caller would have with a credential that reaches every node. */
  accessBeyondReach(node: Node, subject: AccessSubject): Promise<Access | undefined>;
}

/** Resolves access to nodes from memberships, grants, the acting agent and the author of an automation. */
export function createAccessResolver({ grantsFor }: Pick<GrantReader, 'grantsFor'>): AccessResolver {
  async function accessToAll(nodes: readonly Node[], subject: AccessSubject): Promise<(Access | undefined)[]> {
    const held = await grantsFor(
      nodes.filter((node) => belongs(node.tenant, subject)),
      subject,
    );
    const all = nodes.map((node) => (isReached(node, subject) ? accessOf(node, held, subject) : undefined));
    if (subject.author === undefined) return all;
    const authors = await accessToAll(nodes, subject.author);
    return all.map((access, at) => access && lesserAccess(access, authors[at]));
  }

  async function accessTo(node: Node, subject: AccessSubject): Promise<Access | undefined> {
    return isReached(node, subject) ? accessBeyondReach(node, subject) : undefined;
  }

  async function accessBeyondReach(node: Node, subject: AccessSubject): Promise<Access | undefined> {
    const needsGrants = belongs(node.tenant, subject) && !ownsOutright(node, subject);
    const access = accessOf(node, needsGrants ? await grantsFor([node], subject) : [], subject);
    return access && subject.author ? lesserAccess(access, await accessTo(node, subject.author)) : access;
  }

  return { accessTo, accessToAll, accessBeyondReach };
}

/**
 * Returns the access to a node: the lesser of the person's and the agent's if one acts on their behalf. Does not check
 * whether the credential reaches the node.
 */
function accessOf(node: Node, held: readonly Grant[], subject: AccessSubject): Access | undefined {
  const { agent, now } = subject;
  if (agent === undefined) return accessOfPerson(node, held, subject);
  const persons = accessOfPerson(
    node,
    held.filter(({ principal }) => principal !== agent.principal),
    subject,
  );
  return persons && lesserAccess(persons, agentAccess(node, agent, held, now));
}

/**
 * Returns a person's access. Outside of their tenants, people have only the access that a share link for anyone gives
 * them.
 */
function accessOfPerson(node: Node, held: readonly Grant[], subject: AccessSubject): Access | undefined {
  if (belongs(node.tenant, subject)) {
    return effectiveAccess(node, subject.own.workspaces.get(node.workspaceId)?.role, held, subject.now);
  }
  const link = publicLink(subject);
  return link === undefined ? undefined : effectiveAccess(node, undefined, [link], subject.now);
}

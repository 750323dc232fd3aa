import type { Collection } from '@commonplace/kit/store';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { reachOfGrants } from '../domain/access.js';
import { agentNeedsNoGrant } from '../domain/agent-access.js';
import { type Grant, isExpired } from '../domain/grant.js';
import type { Node } from '../domain/node.js';
import { belongs, publicLink } from './gate.js';
import type { AccessSubject, GrantsByResource, Policy } from './port.js';

/** Maximum number of a person's grants that one query reads. */
const MAX_GRANTS_PER_PERSON = 10_000;

export interface GrantReader extends Pick<Policy, 'grantsIn' | 'agentGrantsIn' | 'grantedWorkspaces'> {
  /**
   * Returns the grants of the person and the agent that can apply to the nodes. Skips the query for nodes to which no
   * grant can apply, and for nodes to which the workspace roles already give every right.
   */
  grantsFor(nodes: readonly Node[], subject: AccessSubject): Promise<Grant[]>;
}

/** Reads the grants of callers and agents, each at most once per request. */
export function createGrantReader(grants: Collection<Grant>): GrantReader {
  async function grantsFor(nodes: readonly Node[], subject: AccessSubject): Promise<Grant[]> {
    const open = nodes.filter((node) => !ownsOutright(node, subject));
    const bare = new Set(open.filter((node) => node.principals.length === 0).map(({ id }) => id));
    const granted = new Set<string>();
    for (const node of open) for (const id of reachOfGrants(node)) if (!bare.has(id)) granted.add(id);
    if (granted.size === 0) return [];
    const { held } = subject;
    const principals = subject.agent ? [...subject.principals, subject.agent.principal] : subject.principals;
    const unknown = [...granted].filter((id) => !held.has(id));
    if (unknown.length > 0) {
      // A principal has at most one grant on a node.
      const limit = unknown.length * principals.length;
      const where = { resourceId: { in: unknown }, principal: { in: principals } };
      const asked = grants.find({ where, limit }).then(byResource);
      // Concurrent callers await the same query: until it has answered, the absence of a grant is unknown.
      for (const id of unknown) held.set(id, asked);
    }
    const queries = new Set<Promise<GrantsByResource>>();
    for (const id of granted) queries.add(held.get(id) as Promise<GrantsByResource>);
    const found = await Promise.all(queries);
    return [...granted].flatMap((id) => found.flatMap((grantsOf) => grantsOf.get(id) ?? []));
  }

  function grantsIn(workspaceId: string, subject: AccessSubject): Promise<Grant[]> {
    const known = subject.heldIn.get(workspaceId);
    if (known !== undefined) return known;
    const where = { principal: { in: subject.principals }, workspaceId };
    const asked = grants
      .find({ where, limit: MAX_GRANTS_PER_PERSON })
      .then((found) => found.filter((grant) => holds(grant, subject)));
    subject.heldIn.set(workspaceId, asked);
    return asked;
  }

  async function agentGrantsIn(workspaceId: string, { agent, now }: AccessSubject): Promise<Grant[]> {
    if (agent === undefined) return [];
    const found = await grants.find({
      where: { principal: agent.principal, workspaceId },
      limit: MAX_GRANTS_PER_PERSON,
    });
    return found.filter((grant) => !isExpired(grant, now));
  }

  return {
    grantsFor,
    grantsIn,
    agentGrantsIn,
    async grantedWorkspaces(subject) {
      const where = { principal: { in: subject.principals } };
      const found = await grants.find({ where, limit: MAX_GRANTS_PER_PERSON });
      const held = found.filter((grant) => holds(grant, subject));
      return [...new Map(held.map(({ workspaceId, tenant }) => [workspaceId, { workspaceId, tenant }])).values()];
    },
  };
}

/** Returns whether a grant to one of the caller's principals is valid for them now. */
function holds(grant: Grant, subject: AccessSubject): boolean {
  return !isExpired(grant, subject.now) && (belongs(grant.tenant, subject) || grant.id === publicLink(subject)?.id);
}

/** Returns whether no grant can add to the access to a node. */
export function ownsOutright(node: Node, { own, agent }: AccessSubject): boolean {
  if (agent !== undefined && !agentNeedsNoGrant(node, agent)) return false;
  return node.boundary === node.workspaceId && own.workspaces.get(node.workspaceId)?.role === WorkspaceRole.OWNER;
}

function byResource(grants: readonly Grant[]): GrantsByResource {
  const found = new Map<string, Grant[]>();
  for (const grant of grants) {
    const same = found.get(grant.resourceId);
    if (same === undefined) found.set(grant.resourceId, [grant]);
    else same.push(grant);
  }
  return found;
}

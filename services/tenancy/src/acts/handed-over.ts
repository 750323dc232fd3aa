import { type CallContext, sooner } from '@commonplace/kit/rpc';
import { workspaceRoleAtLeast } from '../domain/roles.js';
import type { Parts } from '../parts.js';
import type { OrgMember } from '../stores/org-members.js';
import { orgsOf, workspacesOf } from './seen.js';

/** What goes to the successor of a removed member; undefined what cannot be counted at present. */
interface HandedOver {
  readonly agents: number | undefined;
  readonly automations: number | undefined;
}

/** Milliseconds after which a member is removed without knowing the numbers. */
const COUNT_MS = 2_000;

/**
 * Counts the agents of a member, and their automations in workspaces that the successor may edit, `workspaceIds` among
 * them. Removing a member does not fail because other services do not answer, or have the version before.
 */
export async function countHandedOver(
  parts: Parts,
  { onward }: Pick<CallContext, 'onward'>,
  { orgId, userId }: { readonly orgId: string; readonly userId: string },
  successor: OrgMember,
  workspaceIds: readonly string[],
): Promise<HandedOver> {
  const options = sooner(onward, Date.now() + COUNT_MS);
  const unknown = (error: unknown) => {
    parts.log.warn('member.uncounted', { request_id: onward.metadata.requestId, error });
    return undefined;
  };
  const [agents, automations] = await Promise.all([
    parts.agents.countAgents({ orgId, ownerId: userId }, options).catch(unknown),
    parts.work.countAutomations({ orgId, creatorId: userId }, options).catch(unknown),
  ]);
  if (automations === undefined) return { agents: agents?.count, automations: undefined };
  const edited = new Set([...workspaceIds, ...(await editedBy(parts, orgId, successor))]);
  const counts = Object.entries(automations.counts).filter(([workspaceId]) => edited.has(workspaceId));
  return { agents: agents?.count, automations: counts.reduce((sum, [, count]) => sum + count, 0) };
}

/** Returns the ids of the workspaces of an Org that a member may edit. */
async function editedBy(parts: Parts, orgId: string, { userId = '' }: OrgMember): Promise<string[]> {
  const inOrg = (await orgsOf(parts, userId)).filter(({ org }) => org.id === orgId);
  const seen = await workspacesOf(parts, userId, inOrg, (id) => id === orgId);
  return seen.filter(({ role }) => workspaceRoleAtLeast(role, 'editor')).map(({ workspace }) => workspace.id);
}

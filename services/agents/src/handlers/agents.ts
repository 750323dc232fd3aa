import { credentialOutOfScope, defaultOrgId, reachesTenant } from '@commonplace/kit/auth';
import { type Fault, InsufficientRole, invalidField, invalidFields, NotFound } from '@commonplace/kit/errors';
import { homeOf, newId } from '@commonplace/kit/id';
import { type CallContext, type Handlers, requireVersion } from '@commonplace/kit/rpc';
import { findPage, namedSort, replaceChanged, timesWithin, type Where } from '@commonplace/kit/store';
import { foldName } from '@commonplace/kit/words';
import { specifiedName } from '@commonplace/platform/enums';
import {
  AgentInclude,
  type AgentService,
  type CreateAgentRequest,
  type ListAgentsRequest,
  type UpdateAgentRequest,
} from '@commonplace/proto/agents/v1/agent_service.js';
import type { McpServer } from '@commonplace/proto/agents/v1/mcp_server.js';
import { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { type AgentAccess, openAgent, seeAgent, visibleAgents } from '../agents/access.js';
import { presentAgent, presentAgents } from '../agents/present.js';
import { removeAgent } from '../agents/removal.js';
import { keptVersion, latestVersions, promptChanges, promptOf, writeVersion } from '../agents/versions.js';
import type { Parts } from '../parts.js';
import { isAtLeastMember, requireOrg } from '../policy.js';
import type { AgentRecord } from '../stores/agents.js';
import { type AgentFields, readChange, readNewAgent, requireRestoreAlone } from '../wire/agent-fields.js';
import { versionMessage } from '../wire/agents.js';
import { skillMessage } from '../wire/skills.js';
import { createAgentPinHandlers } from './agent-pins.js';
import { createAgentWorkspaceHandlers } from './agent-workspaces.js';

/** Returns the MCP servers of an agent. Callers other than its owner get names only. */
type McpServersOf = (agent: AgentRecord, isOwner: boolean, context: CallContext) => Promise<readonly McpServer[]>;

export function createAgentHandlers(parts: Parts, mcpServersOf: McpServersOf): Handlers<AgentService> {
  const present = async (agent: AgentRecord, context: CallContext) =>
    presentAgent(parts, agent, await parts.memberships.of(context.caller.userId, context.onward), context);

  return {
    async listAgents(request, context) {
      const person = await parts.memberships.fresh(context.caller.userId, context.onward);
      const { and = [], ...visible } = visibleAgents(person, context.caller);
      const where = { ...visible, and: [...and, filterOf(request)] };
      const { items, page } = await findPage(parts.agents, where, namedSort(request.sort), request.page);
      return { items: await presentAgents(parts, items, person, context), page };
    },

    async createAgent(request, context) {
      const faults: Fault[] = [];
      const fields = readNewAgent(request, faults);
      if (faults.length > 0) throw invalidFields(faults);
      const { caller, work } = context;
      const { tenant, orgId } = await tenantOf(parts, request, context);
      await requireSound(parts, fields, orgId, undefined, context);
      await parts.quotas.agents.reserve(work, caller.userId);
      const now = new Date().toISOString();
      const agent = work.insert(parts.agents, {
        ...{ id: newId(), tenant, orgId, ownerId: caller.userId, ownerName: caller.userName, ...fields, skills: [] },
        ...{ places: [], workspaceIds: [], mcpServerCount: 0, promptVersion: 1, ...foldedFields(fields) },
        ...{ createdAt: now, updatedAt: now, updatedBy: context.actor },
      });
      await writeVersion(parts, agent, [], context);
      work.publish(context.event('agent.created', agent.id, { agentId: agent.id, orgId }, tenant));
      return present(agent, context);
    },

    async getAgent({ agentId, include }, context) {
      const { agent, isOwner } = await seeAgent(parts, agentId, context);
      const wants = (one: AgentInclude) => include.includes(one);
      if (wants(AgentInclude.VERSIONS) && !isOwner) throw InsufficientRole();
      const person = await parts.memberships.of(context.caller.userId, context.onward);
      return presentAgent(parts, agent, person, context, {
        ...(wants(AgentInclude.SKILLS) && { skills: agent.skills.map((skill) => skillMessage(skill)) }),
        ...(wants(AgentInclude.MCP) && { mcp: await mcpServersOf(agent, isOwner, context) }),
        ...(wants(AgentInclude.VERSIONS) && { versions: (await latestVersions(parts, agent)).map(versionMessage) }),
        withWorkspaces: wants(AgentInclude.WORKSPACES),
      });
    },

    async updateAgent(request, context) {
      const access = await seeAgent(parts, request.agentId, context);
      requireMayChange(access, request);
      return present(await change(parts, access.agent, request, context), context);
    },

    async deleteAgent({ agentId }, context) {
      const access = await seeAgent(parts, agentId, context);
      if (!access.isOwner && !(access.isAdmin && (await isOrphan(parts, access.agent, context)))) {
        throw InsufficientRole();
      }
      requireVersion(context, access.agent.version, access.agent);
      removeAgent(parts, access.agent, context);
      return { id: agentId, deleted: true };
    },

    ...createAgentWorkspaceHandlers(parts),
    ...createAgentPinHandlers(parts, (agentId, context) => openAgent(parts, agentId, context)),
  };
}

// ---- access

/** Throws unless the caller may make a change. Administrators of the Org may only pause and activate an agent. */
function requireMayChange({ isOwner, isAdmin }: AgentAccess, { updateMask = [] }: UpdateAgentRequest): void {
  const isStatusAlone = updateMask.every((path) => path === 'status');
  if (!isOwner && !(isAdmin && isStatusAlone)) throw InsufficientRole();
}

/** Returns whether the owner of an agent no longer belongs to its Org, in which case administrators may delete it. */
async function isOrphan(
  { memberships }: Pick<Parts, 'memberships'>,
  { orgId, ownerId }: AgentRecord,
  { onward }: CallContext,
): Promise<boolean> {
  return orgId !== '' && !(await memberships.fresh(ownerId, onward)).orgs.has(orgId);
}

/** Returns the tenant of a new agent. Throws unless the caller is at least a member and their credential reaches it. */
async function tenantOf(
  parts: Parts,
  request: CreateAgentRequest,
  context: CallContext,
): Promise<Pick<AgentRecord, 'tenant' | 'orgId'>> {
  const { caller } = context;
  const orgId = request.orgId ?? defaultOrgId(caller) ?? undefined;
  if (orgId === undefined) {
    if (!reachesTenant(caller, null)) throw credentialOutOfScope(caller, null);
    return { tenant: homeOf(caller.userId), orgId: '' };
  }
  const { role } = await requireOrg(parts, orgId, context);
  if (!isAtLeastMember(role)) throw InsufficientRole();
  return { tenant: orgId, orgId };
}

// ---- changes

async function change(
  parts: Parts,
  before: AgentRecord,
  request: UpdateAgentRequest,
  context: CallContext,
): Promise<AgentRecord> {
  const faults: Fault[] = [];
  const fields = readChange(request, before, faults);
  if (faults.length > 0) throw invalidFields(faults);
  requireVersion(context, before.version, before);
  await requireSound(parts, fields, before.orgId, before, context);
  const restored = request.restoreVersion === undefined ? undefined : await restore(parts, before, request);
  const changedNow = { updatedBy: context.actor, updatedAt: new Date().toISOString() };
  const after = { ...before, ...fields, ...restored, ...foldedFields(fields), ...changedNow };
  const changed = promptChanges(before, after);
  const promptVersion = changed.length === 0 ? before.promptVersion : before.version + 1;
  const agent = replaceChanged(context.work, parts.agents, before, { ...after, promptVersion });
  if (agent === before) return before;
  if (changed.length > 0) await writeVersion(parts, agent, changed, context);
  const { id, orgId, tenant } = agent;
  const changedFields = request.updateMask ?? [];
  context.work.publish(context.event('agent.updated', id, { agentId: id, orgId, changedFields }, tenant));
  return agent;
}

async function restore(parts: Parts, agent: AgentRecord, request: UpdateAgentRequest) {
  requireRestoreAlone(request);
  const version = promptOf(await keptVersion(parts, agent, request.restoreVersion ?? 0));
  if (version.model !== undefined) parts.models.get(version.model);
  return version;
}

/**
 * Throws for a model that is not configured, a visibility that the tenant does not allow, and an avatar file that the
 * caller cannot read.
 */
async function requireSound(
  { models, index }: Parts,
  { model, visibility, avatarFileId }: AgentFields,
  orgId: string,
  before: AgentFields | undefined,
  { onward }: CallContext,
): Promise<void> {
  if (model !== undefined && model !== before?.model) models.get(model);
  if (visibility === 'org' && orgId === '') {
    throw invalidField('visibility', 'invalid_value', 'must not be org: the agent belongs to no Org.');
  }
  if (avatarFileId === undefined || avatarFileId === before?.avatarFileId) return;
  const { resources } = await index.checkAccess({ ids: [avatarFileId] }, onward);
  if (resources[0]?.type !== ResourceType.FILE) throw NotFound({}, { param: 'avatar_file_id' });
}

// ---- lists

/** Returns the fields that lists are sorted by and searched in. */
function foldedFields({ name, description }: AgentFields): Pick<AgentRecord, 'nameFold' | 'words'> {
  return { nameFold: foldName(name), words: foldName(`${name}\n${description}`) };
}

function filterOf(request: ListAgentsRequest): Where<AgentRecord> {
  const { workspaceId, orgId, status, visibility, q, createdBy } = request;
  const state = specifiedName<AgentRecord['status']>(status, 'AGENT_STATUS');
  const scope = specifiedName<AgentRecord['visibility']>(visibility, 'AGENT_VISIBILITY');
  return {
    ...(workspaceId !== undefined && { workspaceIds: { contains: workspaceId } }),
    ...(orgId !== undefined && { orgId }),
    ...(state !== undefined && { status: state }),
    ...(scope !== undefined && { visibility: scope }),
    ...(q !== '' && { words: { substring: foldName(q) } }),
    ...(createdBy !== undefined && { ownerId: createdBy }),
    ...timesWithin(request),
  };
}

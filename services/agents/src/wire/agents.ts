import { enumValue } from '@commonplace/platform/enums';
import { agentRoleName } from '@commonplace/platform/memberships';
import {
  type Agent,
  AgentStatus,
  AgentTool,
  type AgentVersion,
  AgentVisibility,
  type AgentWorkspace,
  MemoryMode,
  OnUnknown,
} from '@commonplace/proto/agents/v1/agent.js';
import type { McpServer } from '@commonplace/proto/agents/v1/mcp_server.js';
import type { Skill } from '@commonplace/proto/agents/v1/skill.js';
import { formatCredits } from '../domain/micros.js';
import type { AgentPlace, AgentRecord, AgentVersionRecord } from '../stores/agents.js';
import { policyMessage } from './policy.js';

/** The parts of an agent's message that depend on the reader and the request. */
export interface AgentView {
  readonly isOwner: boolean;
  readonly lastRunAt?: string | undefined;
  readonly avatarUrl?: string | undefined;
  /** Number of the agent's workspaces that the reader can see. */
  readonly workspaceCount: number;
  readonly skills?: readonly Skill[];
  readonly mcp?: readonly McpServer[];
  readonly workspaces?: readonly AgentWorkspace[];
  readonly versions?: readonly AgentVersion[];
}

export function agentMessage(agent: AgentRecord, view: AgentView): Agent {
  const { id, ownerId, ownerName, orgId, name, description, maxMicros } = agent;
  return {
    ...{ id, name, description, orgId: orgId || undefined },
    owner: { id: ownerId, name: ownerName },
    avatarUrl: view.avatarUrl,
    instructions: view.isOwner ? agent.instructions : undefined,
    model: agent.model,
    temperature: agent.temperature,
    visibility: enumValue(AgentVisibility, agent.visibility),
    status: enumValue(AgentStatus, agent.status),
    tools: agent.tools.map((tool) => enumValue(AgentTool, tool)),
    approvalPolicy: policyMessage(agent.policy),
    limits: {
      maxSteps: agent.maxSteps,
      maxMinutes: agent.maxMinutes,
      maxCreditsPerRun: maxMicros === undefined ? undefined : formatCredits(maxMicros),
    },
    memoryMode: enumValue(MemoryMode, agent.memoryMode),
    autoRun: agent.autoRun,
    onUnknown: enumValue(OnUnknown, agent.onUnknown),
    skillCount: agent.skills.length,
    mcpServerCount: agent.mcpServerCount,
    workspaceCount: view.workspaceCount,
    lastRunAt: view.lastRunAt,
    createdAt: agent.createdAt,
    updatedAt: agent.updatedAt,
    version: agent.version,
    isEditable: view.isOwner,
    skills: [...(view.skills ?? [])],
    mcp: [...(view.mcp ?? [])],
    workspaces: [...(view.workspaces ?? [])],
    versions: [...(view.versions ?? [])],
  };
}

export function versionMessage({ number, changedBy, changedAt, changedFields }: AgentVersionRecord): AgentVersion {
  return { version: number, changedBy, changedAt, changedFields: [...changedFields] };
}

export function placeMessage({ workspaceId, role }: AgentPlace, name: string): AgentWorkspace {
  return { workspaceId, name, role: agentRoleName(role) };
}

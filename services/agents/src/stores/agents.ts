import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import type { ToolGroup } from '../domain/tool-group.js';

export type AgentVisibility = 'private' | 'workspace' | 'org';
export type AgentRole = 'viewer' | 'commenter' | 'editor';
export type { ToolGroup } from '../domain/tool-group.js';

export interface ApprovalRule {
  readonly tool?: string | undefined;
  readonly server?: string | undefined;
  readonly action?: string | undefined;
  readonly decision: 'allow' | 'ask' | 'deny';
  /** `allow` holds even after the run has read untrusted content. */
  readonly evenIfTainted: boolean;
}

export interface ApprovalPolicy {
  readonly mode: 'never' | 'risky' | 'always' | 'custom';
  readonly rules: readonly ApprovalRule[];
  readonly approvers: 'initiator' | 'owner' | 'workspace_admins' | readonly string[];
  readonly timeoutSeconds: number;
  readonly onTimeout: 'deny' | 'fail_run';
  readonly fourEyes: boolean;
}

export const DEFAULT_POLICY: ApprovalPolicy = {
  mode: 'risky',
  rules: [],
  approvers: 'initiator',
  timeoutSeconds: 86_400,
  onTimeout: 'deny',
  fourEyes: false,
};

/** A workspace in which an agent acts. */
export interface AgentPlace {
  readonly workspaceId: string;
  readonly role: AgentRole;
}

/** What a run keeps of its agent for its whole time. */
export interface AgentPrompt {
  readonly instructions: string;
  /** The default model when absent. */
  readonly model?: string | undefined;
  readonly temperature?: number | undefined;
  readonly tools: readonly ToolGroup[];
  /** The skills as they were; their contents are records of their own, by `contentHash`. */
  readonly skills: readonly PinnedSkill[];
}

/** A skill without its content. */
export interface PinnedSkill {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly isEnabled: boolean;
  /** A document whose text is the content, as it is when a run uses it; absent for a skill with a content of its own. */
  readonly resourceId?: string | undefined;
  /** Files, with the resource whose text is used live if it is not stored here. */
  readonly files: readonly SkillFileRef[];
  readonly allowedTools: readonly string[];
  readonly license?: string | undefined;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly contentHash: string;
  readonly updatedAt: string;
}

export interface SkillFileRef {
  readonly path: string;
  readonly resourceId?: string | undefined;
}

/** An agent that a person has made. */
export interface AgentRecord extends StoredRecord, AgentPrompt {
  readonly tenant: string;
  /** Empty for a Personal tenant. */
  readonly orgId: string;
  readonly ownerId: string;
  readonly ownerName: string;
  readonly name: string;
  readonly description: string;
  readonly avatarFileId?: string | undefined;
  readonly visibility: AgentVisibility;
  readonly status: 'active' | 'paused';
  readonly policy: ApprovalPolicy;
  readonly maxSteps?: number | undefined;
  readonly maxMinutes?: number | undefined;
  /** Millionths of a credit. */
  readonly maxMicros?: number | undefined;
  readonly memoryMode: 'off' | 'read' | 'read_write';
  readonly autoRun: boolean;
  readonly onUnknown: 'ask' | 'continue' | 'fail';
  readonly places: readonly AgentPlace[];
  /** Ids of `places`, for queries. */
  readonly workspaceIds: readonly string[];
  readonly mcpServerCount: number;
  /** Number of the version that runs which start now use. */
  readonly promptVersion: number;
  /** Name and description, folded for queries. */
  readonly words: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export const agentCollection: CollectionSpec<AgentRecord> = {
  name: 'agents',
  indexes: [
    { fields: ['ownerId', 'name'] },
    { fields: ['tenant', 'name'] },
    { fields: ['orgId', 'visibility'] },
    { fields: ['workspaceIds'], many: true },
  ],
};

/** A state of an agent as runs of that time use it, by `agentVersionId`. */
export interface AgentVersionRecord extends StoredRecord, AgentPrompt {
  readonly tenant: string;
  readonly agentId: string;
  /** The agent's version that it is. */
  readonly number: number;
  readonly changedBy: { readonly id: string; readonly name: string };
  readonly changedAt: string;
  readonly changedFields: readonly string[];
}

export const agentVersionCollection: CollectionSpec<AgentVersionRecord> = {
  name: 'agent_versions',
  indexes: [{ fields: ['agentId', 'number'] }, { fields: ['tenant'] }],
};

export const agentVersionId = (agentId: string, number: number): string => `${agentId}:${number}`;

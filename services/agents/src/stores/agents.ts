import type { Actor } from '@commonplace/kit/auth';
import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import type { ToolGroup } from '../domain/tool-group.js';

type AgentVisibility = 'private' | 'workspace' | 'org';
export type AgentRole = 'viewer' | 'commenter' | 'editor';
export type { ToolGroup } from '../domain/tool-group.js';

export interface ApprovalRule {
  readonly tool?: string | undefined;
  readonly server?: string | undefined;
  readonly action?: string | undefined;
  readonly decision: 'allow' | 'ask' | 'deny';
  /** Whether `allow` applies even after the run has read untrusted content. */
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

/** Returns the workspaces in which an agent no longer acts after a change. */
export const leftWorkspaces = (
  { workspaceIds: before }: Pick<AgentRecord, 'workspaceIds'>,
  { workspaceIds: after }: Pick<AgentRecord, 'workspaceIds'>,
): string[] => before.filter((id) => !after.includes(id));

/** The fields of an agent that a run pins for its whole time. */
export interface AgentPrompt {
  readonly instructions: string;
  /** The default model if absent. */
  readonly model?: string | undefined;
  readonly temperature?: number | undefined;
  readonly tools: readonly ToolGroup[];
  /** The skills at that time. Their contents are separate records, by `contentHash`. */
  readonly skills: readonly PinnedSkill[];
}

/** A skill without its content. */
export interface PinnedSkill {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly isEnabled: boolean;
  /** The document whose current text is the content; absent if the skill has its own content. */
  readonly resourceId?: string | undefined;
  /** The files; a file with a resource uses its current text. */
  readonly files: readonly SkillFileRef[];
  readonly allowedTools: readonly string[];
  readonly license?: string | undefined;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly contentHash: string;
  readonly updatedAt: string;
}

interface SkillFileRef {
  readonly path: string;
  readonly resourceId?: string | undefined;
}

/** An agent that a person has created. */
export interface AgentRecord extends StoredRecord, AgentPrompt {
  readonly tenant: string;
  /** Empty for a Personal tenant. */
  readonly orgId: string;
  readonly ownerId: string;
  readonly ownerName: string;
  /** Who has changed it last; absent in records of earlier versions. */
  readonly updatedBy?: Actor | undefined;
  readonly name: string;
  /** The name, folded for sorting. */
  readonly nameFold: string;
  readonly description: string;
  readonly avatarFileId?: string | undefined;
  readonly visibility: AgentVisibility;
  readonly status: 'active' | 'paused';
  readonly policy: ApprovalPolicy;
  readonly maxSteps?: number | undefined;
  readonly maxMinutes?: number | undefined;
  /** The maximum cost of a run, in millionths of a credit. */
  readonly maxMicros?: number | undefined;
  readonly memoryMode: 'off' | 'read' | 'read_write';
  readonly autoRun: boolean;
  readonly onUnknown: 'ask' | 'continue' | 'fail';
  readonly places: readonly AgentPlace[];
  /** The ids in `places`, for queries. */
  readonly workspaceIds: readonly string[];
  readonly mcpServerCount: number;
  /** The number of the version that new runs use. */
  readonly promptVersion: number;
  /** Name and description, folded for queries. */
  readonly words: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export const agentCollection: CollectionSpec<AgentRecord> = {
  name: 'agents',
  indexes: [
    { fields: ['ownerId', 'nameFold'] },
    { fields: ['tenant', 'nameFold'] },
    { fields: ['orgId', 'visibility'] },
    { fields: ['workspaceIds'], many: true },
  ],
};

/** A version of an agent, which runs pin; see `agentVersionId`. */
export interface AgentVersionRecord extends StoredRecord, AgentPrompt {
  readonly tenant: string;
  readonly agentId: string;
  /** The version number of the agent's record at that time. */
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

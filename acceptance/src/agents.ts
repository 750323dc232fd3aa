import type { Api } from './client.js';

export interface Agent {
  readonly id: string;
  readonly owner: { readonly id: string; readonly name: string };
  readonly org_id: string | null;
  readonly name: string;
  readonly description: string;
  readonly instructions: string | null;
  readonly model: string | null;
  readonly temperature: number | null;
  readonly visibility: string;
  readonly status: string;
  readonly tools: readonly string[];
  readonly approval_policy: Readonly<Record<string, unknown>>;
  readonly limits: Readonly<Record<string, unknown>>;
  readonly skill_count: number;
  readonly workspace_count: number;
  readonly last_run_at: string | null;
  readonly avatar_url: string | null;
  readonly is_editable: boolean;
  readonly version: number;
  readonly workspaces?: readonly AgentWorkspace[];
  readonly versions?: readonly { readonly version: number; readonly changed_fields: readonly string[] }[];
  readonly skills?: readonly Skill[];
}

interface AgentWorkspace {
  readonly workspace_id: string;
  readonly name: string;
  readonly role: string;
}

export interface Skill {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly content: string | null;
  readonly files: readonly { readonly path: string; readonly content: string | null }[];
  readonly allowed_tools: readonly string[];
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly source: string;
  readonly content_hash: string;
  readonly updated_at: string;
}

/** Creates an agent and gives it access to workspaces as a viewer. */
export async function newAgent(by: Api, body: object = {}, workspaceIds: readonly string[] = []): Promise<Agent> {
  const { data, status, text } = await by.post<Agent>('/agents', { name: 'Helper', ...body });
  if (status !== 201) throw new Error(text);
  if (workspaceIds.length > 0) await putWorkspaces(by, data.id, { workspace_ids: workspaceIds });
  return (await by.get<Agent>(`/agents/${data.id}`)).data;
}

/** Replaces the workspaces of an agent. */
export function putWorkspaces(by: Api, agentId: string, body: object) {
  return by.send<{ items: AgentWorkspace[] }>('PUT', `/agents/${agentId}/workspaces`, body);
}

/** Replaces the skills of an agent. */
export function putSkills(by: Api, agentId: string, skills: readonly object[]) {
  return by.send<{ items: Skill[] }>('PUT', `/agents/${agentId}/skills`, { skills });
}

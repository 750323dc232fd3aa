import type { Actor } from '@commonplace/kit/auth';
import { actorMessage } from '@commonplace/platform/actors';
import { type Actor as ActorMessage, ActorType } from '@commonplace/proto/api/v1/actor.js';
import type { Archive } from '@commonplace/proto/files/v1/archive.js';
import { type Workspace as WorkspaceMessage, WorkspaceState } from '@commonplace/proto/tenancy/v1/workspace.js';
import { type WorkspaceRole, workspaceRoleName } from '../domain/roles.js';
import { fullWorkspaceSettings } from '../domain/workspace-settings.js';
import type { Workspace } from '../stores/workspaces.js';

export interface WorkspaceCounts {
  readonly resources: number;
  readonly members: number;
}

/** Returns a workspace as a person with that role sees it. `counts` is undefined if counting failed. */
export function toWorkspace(
  workspace: Workspace,
  role: WorkspaceRole | undefined,
  counts: WorkspaceCounts | undefined,
  latestArchive?: Archive,
): WorkspaceMessage {
  const { searchLanguages, ...settings } = fullWorkspaceSettings(workspace.settings);
  return {
    id: workspace.id,
    orgId: workspace.orgId,
    name: workspace.name,
    slug: workspace.slug,
    description: workspace.description,
    icon: workspace.icon,
    state: workspace.state === 'active' ? WorkspaceState.ACTIVE : WorkspaceState.ARCHIVED,
    defaultRole: workspace.defaultRole && workspaceRoleName(workspace.defaultRole),
    role: role && workspaceRoleName(role),
    settings: { ...settings, searchLanguages: [...searchLanguages] },
    counts,
    latestArchive,
    templateId: workspace.templateId,
    templateStatus: workspace.templateStatus,
    createdBy: actorMessage(workspace.createdBy),
    createdAt: workspace.createdAt,
    updatedAt: workspace.updatedAt,
    archivedAt: workspace.archivedAt,
    version: workspace.version,
  };
}

/** Returns an actor, or for a record of an earlier version the person whose id alone it has. */
export function toPersonOrActor(actor: Actor | undefined, userId: string | undefined): ActorMessage | undefined {
  if (actor !== undefined) return actorMessage(actor);
  return userId === undefined ? undefined : { type: ActorType.USER, id: userId, name: '' };
}

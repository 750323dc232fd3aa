import { AppError, type Fault, InsufficientRole, invalidField, invalidFields } from '@commonplace/kit/errors';
import { type CallContext, requireVersion } from '@commonplace/kit/rpc';
import { replaceChanged } from '@commonplace/kit/store';
import { foldName } from '@commonplace/kit/words';
import type { WorkspaceRole as WorkspaceRoleName } from '@commonplace/proto/tenancy/v1/role.js';
import { WorkspaceState } from '@commonplace/proto/tenancy/v1/workspace.js';
import type {
  CreateWorkspaceRequest,
  UpdateWorkspaceRequest,
} from '@commonplace/proto/tenancy/v1/workspace_service.js';
import { givenFields, type Mask, mergeSettings } from '../domain/mask.js';
import { readDefaultRole } from '../domain/org-settings.js';
import type { DefaultRole } from '../domain/roles.js';
import { freeSlug, requireSlug } from '../domain/slug.js';
import { readWorkspaceSettings, type WorkspaceSettings } from '../domain/workspace-settings.js';
import { SlugTaken } from '../errors.js';
import { publishWorkspace } from '../events.js';
import type { Parts } from '../parts.js';
import { mayCreateWorkspace, type OrgAccess, requireActiveWorkspace } from '../policy.js';
import type { Workspace } from '../stores/workspaces.js';

/** Throws InsufficientRole if the member may not create workspaces in the Org. */
export function requireCreator(access: OrgAccess): void {
  if (!mayCreateWorkspace(access)) throw InsufficientRole({ role: access.member.role });
}

/** The validated fields of a new workspace. */
interface WorkspaceDraft {
  readonly defaultRole: DefaultRole | undefined;
  readonly settings: WorkspaceSettings;
}

/** Returns the fields of a request, validated. An explicit null for `default_role` prevails over the Org's default. */
export function readDraft(request: CreateWorkspaceRequest, inOrg: OrgAccess | undefined): WorkspaceDraft {
  const settings = readWorkspaceSettings(request.settings, givenFields(request.settings));
  const requestedRole = readRole(request.defaultRole, inOrg !== undefined);
  const isPrivate = requestedRole === undefined && request.namedFields?.includes('default_role') === true;
  const ofOrg = isPrivate ? undefined : inOrg?.org.settings.defaultWorkspaceRole;
  return { defaultRole: requestedRole ?? ofOrg, settings };
}

/**
 * Returns the requested default role. Throws for a Personal workspace, which has no Org whose members could get
 * one.
 */
function readRole(name: WorkspaceRoleName | undefined, hasOrg: boolean): DefaultRole | undefined {
  if (name === undefined) return undefined;
  if (!hasOrg) throw invalidField('default_role', 'invalid_value', 'is for workspaces of an Org.');
  const faults: Fault[] = [];
  const role = readDefaultRole(name, 'default_role', faults);
  if (faults.length > 0) throw invalidFields(faults);
  return role;
}

/** The result of applying a template to a workspace. */
interface Applied {
  readonly templateId: string;
  readonly templateStatus: 'running' | 'completed';
  readonly resources: number;
}

/**
 * Copies a template into a workspace that this call is about to create. Throws NotFound if the caller sees no such
 * template.
 */
export async function applyTemplate(
  { templates }: Parts,
  request: { readonly templateId: string; readonly workspaceId: string; readonly orgId: string | undefined },
  context: CallContext,
): Promise<Applied> {
  const { templateId } = request;
  try {
    const { running, resourceCount } = await templates.applyTemplate(request, context.onward);
    const status = running ? 'running' : 'completed';
    return { templateId, templateStatus: status, resources: running ? 0 : resourceCount };
  } catch (error) {
    if (!(error instanceof AppError) || error.reason !== 'not_found') throw error;
    throw new AppError('NOT_FOUND', 'not_found', 'There is no such template.', { param: 'template_id' });
  }
}

/** Returns the requested slug, or a free one derived from the name. Throws `invalid_slug` or `slug_taken`. */
export async function chosenSlug(
  { workspaces }: Parts,
  scope: string,
  slug: string | undefined,
  name: string,
): Promise<string> {
  const isTaken = (one: string) => workspaces.isSlugTaken(scope, one);
  if (slug === undefined) return freeSlug(name, isTaken);
  if (await isTaken(requireSlug(slug))) throw SlugTaken({ slug });
  return slug;
}

/**
 * Applies the changes that a request names, and publishes events about them. Throws WorkspaceArchived unless the
 * workspace is active or the request unarchives it. Checks the version after the values, which are wrong in every
 * version.
 */
export async function changeWorkspace(
  parts: Parts,
  context: CallContext,
  workspace: Workspace,
  request: UpdateWorkspaceRequest,
  mask: Mask,
): Promise<Workspace> {
  const unarchives = readUnarchive(request, mask);
  const settings = readWorkspaceSettings(request.settings, mask.settings);
  const requestedRole = mask.has('default_role')
    ? readRole(request.defaultRole, workspace.orgId !== undefined)
    : undefined;
  if (mask.has('slug')) requireSlug(request.slug ?? '');
  requireVersion(context, workspace.version, workspace);
  if (!unarchives) requireActiveWorkspace(workspace);
  const name = request.name ?? workspace.name;
  const { archivedAt: _, ...kept } = workspace;
  const changed = replaceChanged(context.work, parts.workspaces.records, workspace, {
    ...kept,
    ...(await slugChange(parts, workspace, mask.has('slug') ? request.slug : undefined)),
    name,
    nameFold: foldName(name),
    description: mask.has('description') ? request.description : workspace.description,
    icon: mask.has('icon') ? request.icon : workspace.icon,
    defaultRole: mask.has('default_role') ? requestedRole : workspace.defaultRole,
    settings: mergeSettings(workspace.settings, settings, mask.settings),
    state: 'active',
    updatedBy: context.actor,
    updatedAt: parts.now(),
  });
  if (workspace.state === 'archived') publishWorkspace(context, 'unarchived', changed, ['state']);
  const fields = mask.fields.filter((field) => field !== 'state');
  if (fields.length > 0 && changed !== workspace) publishWorkspace(context, 'updated', changed, fields);
  return changed;
}

function readUnarchive({ state }: UpdateWorkspaceRequest, mask: Mask): boolean {
  if (!mask.has('state')) return false;
  if (state !== WorkspaceState.ACTIVE) {
    throw invalidField('state', 'invalid_value', 'can only be set to active; POST …/archive archives.');
  }
  return true;
}

async function slugChange(
  parts: Parts,
  workspace: Workspace,
  slug: string | undefined,
): Promise<Pick<Workspace, 'slug' | 'slugKey'>> {
  if (slug === undefined || slug === workspace.slug) return { slug: workspace.slug, slugKey: workspace.slugKey };
  const scope = workspace.slugKey.slice(0, workspace.slugKey.lastIndexOf(':'));
  return { slug: await chosenSlug(parts, scope, slug, workspace.name), slugKey: `${scope}:${slug}` };
}

import { AppError, InsufficientRole, InsufficientScope } from '@commonplace/kit/errors';
import { derivedId } from '@commonplace/kit/id';
import { type CallContext, sooner } from '@commonplace/kit/rpc';
import { actorMessage } from '@commonplace/platform/actors';
import {
  Archive,
  ArchiveFormat,
  type ArchiveInclude,
  ArchiveMode,
  ArchiveStatus,
} from '@commonplace/proto/files/v1/archive.js';
import type { ArchiveWorkspaceRequest } from '@commonplace/proto/tenancy/v1/workspace_service.js';
import { COUNTS_MS } from '../config.js';
import { orgRoleAtLeast, workspaceRoleAtLeast } from '../domain/roles.js';
import { publishWorkspace } from '../events.js';
import type { Parts } from '../parts.js';
import { requireWorkspaceRole, type WorkspaceAccess } from '../policy.js';
import type { Workspace } from '../stores/workspaces.js';
import type { SeenWorkspace } from './seen.js';

interface Archived {
  readonly workspace: Workspace;
  readonly archive: Archive;
}

/** Archives or unarchives a workspace, or begins its export. */
export async function archiveWorkspace(
  parts: Parts,
  request: ArchiveWorkspaceRequest,
  access: WorkspaceAccess,
  context: CallContext,
): Promise<Archived> {
  if (request.mode === ArchiveMode.EXPORT) {
    requireWorkspaceRole(access, 'admin');
    return beginExport(parts, request, access.workspace, context);
  }
  requireArchiver(access);
  const unarchives = request.mode === ArchiveMode.UNARCHIVE;
  const workspace = unarchives ? activate(parts, access, context) : freeze(parts, access, context);
  return { workspace, archive: stateRecord(workspace, unarchives ? ArchiveMode.UNARCHIVE : ArchiveMode.ARCHIVE) };
}

/** Throws InsufficientRole unless the caller administers the workspace, or its Org (joined or not). */
function requireArchiver({ role, inOrg }: WorkspaceAccess): void {
  const inWorkspace = workspaceRoleAtLeast(role, 'admin');
  if (inWorkspace || orgRoleAtLeast(inOrg?.member.role, 'admin')) return;
  throw InsufficientRole({ role: role ?? null, needed: 'admin' });
}

function freeze(parts: Parts, { workspace }: WorkspaceAccess, context: CallContext): Workspace {
  if (workspace.state === 'archived') return workspace;
  const now = parts.now();
  const stamps = { archivedAt: now, updatedAt: now, updatedBy: context.actor };
  const frozen = context.work.replace(parts.workspaces.records, workspace, {
    ...workspace,
    ...stamps,
    state: 'archived',
  });
  publishWorkspace(context, 'archived', frozen, ['state']);
  return frozen;
}

function activate(parts: Parts, { workspace }: WorkspaceAccess, context: CallContext): Workspace {
  if (workspace.state === 'active') return workspace;
  const { archivedAt: _, ...kept } = workspace;
  const stamps = { updatedAt: parts.now(), updatedBy: context.actor };
  const active = context.work.replace(parts.workspaces.records, workspace, { ...kept, ...stamps, state: 'active' });
  publishWorkspace(context, 'unarchived', active, ['state']);
  return active;
}

/** Returns the archive record of a state change, which is complete as soon as it is returned. */
function stateRecord({ id, archivedAt, updatedAt, updatedBy }: Workspace, mode: ArchiveMode): Archive {
  const at = archivedAt ?? updatedAt;
  return Archive.fromPartial({
    id: derivedId(`archive:${id}:${mode}:${at}`),
    mode,
    status: ArchiveStatus.COMPLETED,
    createdBy: actorMessage(updatedBy),
    createdAt: at,
    startedAt: at,
    finishedAt: at,
    attempt: 1,
  });
}

async function beginExport(
  parts: Parts,
  { format, include }: ArchiveWorkspaceRequest,
  workspace: Workspace,
  context: CallContext,
): Promise<Archived> {
  const request = {
    workspaceId: workspace.id,
    tenant: workspace.tenant,
    format: format === ArchiveFormat.UNSPECIFIED ? ArchiveFormat.NATIVE : format,
    include: covered(include, context),
    workspaceJson: Buffer.from(JSON.stringify(workspace)),
  };
  const archive = await parts.archives.beginExport(request, context.onward);
  context.reply.status = 202;
  context.reply.retryAfter = pollSecondsOf(archive);
  if (workspace.exported) return { workspace, archive };
  return {
    workspace: context.work.replace(parts.workspaces.records, workspace, { ...workspace, exported: true }),
    archive,
  };
}

const POLL_SECONDS = 1;

/** Returns after how many seconds a client polls an export again; undefined if it has ended. */
export function pollSecondsOf(archive: Archive | undefined): number | undefined {
  const isActive = archive?.status === ArchiveStatus.QUEUED || archive?.status === ArchiveStatus.RUNNING;
  return isActive ? POLL_SECONDS : undefined;
}

/**
 * Returns what goes into an export. The caller needs the read scope of everything that the export contains; throws
 * `insufficient_scope` otherwise.
 */
function covered(include: ArchiveInclude | undefined, { caller }: CallContext): ArchiveInclude {
  const { scopes } = caller.credential;
  for (const scope of ['resource:read', 'content:read'])
    if (!scopes.includes(scope)) throw InsufficientScope({ scope });
  const part = (wanted: boolean | undefined, scope: string): boolean => {
    if (wanted && !scopes.includes(scope)) throw InsufficientScope({ scope });
    return wanted ?? scopes.includes(scope);
  };
  return {
    files: part(include?.files, 'file:read'),
    comments: part(include?.comments, 'comment:read'),
    snapshots: part(include?.snapshots, 'snapshot:read'),
    permissions: include?.permissions ?? true,
  };
}

/**
 * Returns the latest exports of workspaces by id, for those that the caller administers. Returns none if the files
 * service does not respond.
 */
export async function latestArchives(
  { archives, log }: Parts,
  seen: readonly SeenWorkspace[],
  { onward }: CallContext,
): Promise<ReadonlyMap<string, Archive>> {
  const shown = seen.filter(({ workspace, role }) => workspace.exported && workspaceRoleAtLeast(role, 'admin'));
  if (shown.length === 0) return new Map();
  const deadline = Math.min(onward.deadline, Date.now() + COUNTS_MS);
  try {
    const workspaceIds = shown.map(({ workspace }) => workspace.id);
    const found = await archives.getLatestArchives({ workspaceIds }, sooner(onward, deadline));
    return new Map(found.archives.flatMap((one) => (one.archive ? [[one.workspaceId, one.archive] as const] : [])));
  } catch (error) {
    if (error instanceof AppError) log.warn('workspace.archive_unknown', { error });
    else throw error;
    return new Map();
  }
}

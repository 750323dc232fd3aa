import {
  type Caller,
  credentialOutOfScope,
  defaultOrgId,
  isWorkspaceLimited,
  reachesTenant,
} from '@commonplace/kit/auth';
import { invalidField, namedBy } from '@commonplace/kit/errors';
import { derivedId, newId } from '@commonplace/kit/id';
import type { CallContext, Handlers } from '@commonplace/kit/rpc';
import { foldName } from '@commonplace/kit/words';
import type { CreateWorkspaceRequest, WorkspaceService } from '@commonplace/proto/tenancy/v1/workspace_service.js';
import { archiveWorkspace, latestArchives, pollSecondsOf } from '../acts/archive.js';
import { countWorkspaces } from '../acts/counts.js';
import { personOf, placeOf } from '../acts/join.js';
import { holdOrgMember } from '../acts/owners.js';
import type { SeenWorkspace } from '../acts/seen.js';
import { applyTemplate, changeWorkspace, chosenSlug, readDraft, requireCreator } from '../acts/workspace-changes.js';
import { listWorkspaces } from '../acts/workspace-lists.js';
import { maskOf } from '../domain/mask.js';
import { publishWorkspace, publishWorkspaceMember } from '../events.js';
import type { Parts } from '../parts.js';
import { type OrgAccess, requireWorkspaceRole } from '../policy.js';
import { slugScope } from '../stores/workspaces.js';
import { toWorkspace } from '../wire/workspace.js';

type WorkspaceMethods = Pick<
  Handlers<WorkspaceService>,
  'listWorkspaces' | 'createWorkspace' | 'getWorkspace' | 'updateWorkspace' | 'archiveWorkspace'
>;

export function createWorkspaceHandlers(parts: Parts): WorkspaceMethods {
  const { policy, workspaces, workspaceMembers } = parts;

  /** Returns the caller's Org membership for the requested tenant; undefined for the Personal tenant. */
  async function tenantOf(orgId: string | null, caller: Caller): Promise<OrgAccess | undefined> {
    if (orgId !== null) return policy.seeOrg(orgId, caller);
    if (!reachesTenant(caller, null)) throw credentialOutOfScope(caller, null);
    return undefined;
  }

  async function answer(seen: readonly SeenWorkspace[], context: CallContext) {
    const counts = await countWorkspaces(parts, context, seen);
    const archives = await latestArchives(parts, seen, context);
    return seen.map(({ workspace, role }) =>
      toWorkspace(workspace, role, counts?.get(workspace.id), archives.get(workspace.id)),
    );
  }

  async function answerOne(seen: SeenWorkspace, context: CallContext) {
    const [workspace] = await answer([seen], context);
    return workspace as NonNullable<typeof workspace>;
  }

  return {
    async listWorkspaces(request, context) {
      const { orgId, personal } = request;
      const { caller } = context;
      if (personal && orgId !== undefined) {
        throw invalidField('personal', 'invalid_value', 'must not be combined with org_id.');
      }
      const inOrg = await namedBy('org_id', tenantOf(orgId ?? (personal ? null : defaultOrgId(caller)), caller));
      const { items, page } = await listWorkspaces(parts, context, request, inOrg);
      return { items: await answer(items, context), page };
    },

    async createWorkspace(request, context) {
      const { caller, actor, work } = context;
      const inOrg = await namedBy('org_id', tenantOf(request.orgId ?? defaultOrgId(caller), caller));
      // A credential that is limited to certain workspaces would not reach the new one.
      if (isWorkspaceLimited(caller)) throw credentialOutOfScope(caller);
      if (inOrg !== undefined) requireCreator(inOrg);
      if (inOrg !== undefined) await holdOrgMember(parts, context, inOrg.member);
      const draft = readDraft(request, inOrg);
      const [id, now, orgId] = [workspaceIdFor(request, context), parts.now(), inOrg?.org.id];
      const scope = slugScope(orgId ?? null, caller.userId);
      const slug = await chosenSlug(parts, scope, request.slug, request.name);
      const { templateId } = request;
      const applied =
        templateId === undefined
          ? undefined
          : await applyTemplate(parts, { templateId, workspaceId: id, orgId }, context);
      const workspace = work.insert(workspaces.records, {
        id,
        tenant: orgId ?? id,
        orgId,
        name: request.name,
        nameFold: foldName(request.name),
        slug,
        slugKey: `${scope}:${slug}`,
        description: request.description,
        icon: request.icon,
        state: 'active',
        ...draft,
        ...(applied && { templateId: applied.templateId, templateStatus: applied.templateStatus }),
        createdBy: actor,
        createdAt: now,
        updatedBy: actor,
        updatedAt: now,
      });
      const adding = { addedBy: caller.userId, adder: actor, guest: false } as const;
      const joining = { workspace, person: personOf(caller), role: 'owner', ...adding } as const;
      const member = work.insert(workspaceMembers.records, placeOf(joining, now));
      publishWorkspace(context, 'created', workspace);
      publishWorkspaceMember(context, 'added', member);
      const open = orgId !== undefined && draft.defaultRole !== undefined;
      const members = open ? await parts.orgMembers.countFull(orgId) : 1;
      return toWorkspace(workspace, 'owner', { resources: applied?.resources ?? 0, members });
    },

    async getWorkspace({ workspaceId }, context) {
      const workspace = await answerOne(await policy.seeWorkspace(workspaceId, context.caller), context);
      context.reply.retryAfter = pollSecondsOf(workspace.latestArchive);
      return workspace;
    },

    async updateWorkspace(request, context) {
      const access = await policy.seeWorkspace(request.workspaceId, context.caller);
      requireWorkspaceRole(access, 'admin');
      const mask = maskOf(request.updateMask);
      const workspace = await changeWorkspace(parts, context, access.workspace, request, mask);
      return answerOne({ ...access, workspace }, context);
    },

    async archiveWorkspace(request, context) {
      const access = await policy.seeWorkspace(request.workspaceId, context.caller);
      const { workspace, archive } = await archiveWorkspace(parts, request, access, context);
      return { workspace: await answerOne({ ...access, workspace }, context), archive };
    },
  };
}

/**
 * Returns the id of a new workspace. With a template it is derived from the request, so that a rerun of the handler
 * copies the content into the same workspace.
 */
function workspaceIdFor({ templateId }: CreateWorkspaceRequest, { requestId, metadata }: CallContext): string {
  if (templateId === undefined) return newId();
  return derivedId(`workspace:${metadata.idempotency?.id ?? requestId}:${requestId}`);
}

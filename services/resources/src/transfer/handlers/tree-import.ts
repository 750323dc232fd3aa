import { AppError } from '@commonplace/kit/errors';
import type { Handlers } from '@commonplace/kit/rpc';
import { isWorkspaceRoleAtLeast } from '@commonplace/platform/memberships';
import type {
  FindByExternalIdRequest,
  TreeImportService,
} from '@commonplace/proto/resources/v1/tree_import_service.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { may } from '../../domain/role.js';
import { type AccessSubject, requireWorkspaceRole } from '../../policy.js';
import { intoParent, intoRoot, requireSameWorkspace } from '../../tree/destination.js';
import { requireRoom } from '../../tree/file-node.js';
import { TYPES } from '../../wire.js';
import { putItems } from '../import/items.js';
import type { TransferParts } from '../parts.js';

/** Maximum number of items in one call, and of external ids in one query. */
const MAX_ITEMS = 100;
const MAX_EXTERNAL_IDS = 1000;

/** Creates the handlers that imports call. */
export function createTreeImportHandlers(parts: TransferParts): Handlers<TreeImportService> {
  const { policy } = parts;
  return {
    async checkImportPlace({ workspaceId, parentId }, context) {
      const subject = await policy.subject(context);
      const membership = await policy.enter(workspaceId, subject, context);
      requireWorkspaceRole(membership, WorkspaceRole.EDITOR);
      const destination =
        parentId === undefined
          ? await intoRoot(parts, workspaceId, subject, context)
          : await intoParent(parts, parentId, subject, context, true);
      requireSameWorkspace(destination, workspaceId);
      await requireRoom(parts, destination);
      const administers = administersOf(subject, workspaceId);
      return { tenant: destination.parent.tenant, workspaceId, administers };
    },

    async findByExternalId(request, context) {
      return { resources: await findExternal(parts, request, await policy.subject(context)) };
    },

    async putItems(request, context) {
      if (request.items.length > MAX_ITEMS)
        throw new AppError('INTERNAL', 'internal_error', `A call may have at most ${MAX_ITEMS} items.`);
      const subject = await policy.subject(context);
      await policy.visit(request.workspaceId, subject, context);
      const administers = administersOf(subject, request.workspaceId);
      return { outcomes: await putItems(parts, request, subject, administers, context) };
    },
  };
}

function administersOf({ person }: AccessSubject, workspaceId: string): boolean {
  return isWorkspaceRoleAtLeast(person.workspaces.get(workspaceId)?.role, WorkspaceRole.ADMIN);
}

async function findExternal(
  { policy, tree }: Pick<TransferParts, 'policy' | 'tree'>,
  { workspaceId, parentId, externalIds }: FindByExternalIdRequest,
  subject: AccessSubject,
) {
  const keys = [...new Set(externalIds)].slice(0, MAX_EXTERNAL_IDS).map((id) => `${workspaceId}:${id}`);
  if (keys.length === 0) return [];
  const found = await tree.resolve(await tree.nodes.find({ where: { externalKey: { in: keys } }, limit: keys.length }));
  const live = found.filter(
    ({ state, ancestors }) => state === 'active' && (parentId === undefined || ancestors.includes(parentId)),
  );
  const access = await policy.accessToAll(live, subject);
  return live.flatMap((node, i) => {
    const role = access[i]?.role;
    if (role === undefined || !may(role, 'write') || node.externalId === undefined) return [];
    const { externalId, id: resourceId, type, version, contentVersion } = node;
    return { externalId, resourceId, type: TYPES[type], version, contentVersion };
  });
}

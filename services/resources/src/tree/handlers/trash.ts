import { NotFound } from '@commonplace/kit/errors';
import { type CallContext, type Handlers, requireVersion } from '@commonplace/kit/rpc';
import { sortsBy, timesWithin } from '@commonplace/kit/store';
import { foldName } from '@commonplace/kit/words';
import { actorMessage } from '@commonplace/platform/actors';
import { EmptyTrashStatus, type TrashItem, type TrashService } from '@commonplace/proto/resources/v1/trash_service.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { type Node, parentId } from '../../domain/node.js';
import { may } from '../../domain/role.js';
import { NotInTrash, WorkspaceArchived } from '../../errors.js';
import { type AccessSubject, requireCapability, requireWorkspaceRole, type Seen } from '../../policy.js';
import { resourceMessage, TYPES } from '../../wire.js';
import { emptyTrash } from '../empty-trash.js';
import { createdBy, listNodes } from '../list.js';
import type { TreeParts } from '../parts.js';
import { restoreNode } from '../restore.js';
import { countRestoredChildren, pathFrom, surroundingsOf } from '../surroundings.js';
import { allowedWhere } from '../visible.js';

const SORTS = sortsBy<Node>({
  trashed_at: 'trashedAt',
  name: 'nameFold',
  created_at: 'createdAt',
  updated_at: 'updatedAt',
});

export function createTrashHandlers(parts: TreeParts): Handlers<TrashService> {
  const { policy } = parts;
  return {
    async restoreResource(request, context) {
      const subject = await policy.subject(context);
      const seen = await policy.seeEvenTrashed(request.resourceId, subject);
      if (seen.node.state === 'trashed' && !may(seen.access.role, 'write')) throw NotFound();
      requireCapability(seen, 'write');
      if (seen.node.state !== 'trashed') throw NotInTrash();
      if (seen.membership?.archived) throw WorkspaceArchived();
      requireVersion(context, seen.node.version, seen.node);
      const { node, restoredCount, relocated } = await restoreNode(
        parts,
        seen.node,
        request.parentId,
        subject,
        context,
      );
      const after: Seen = { ...seen, node, access: (await policy.accessTo(node, subject)) ?? seen.access };
      const childCount = await countRestoredChildren(parts, seen.node, subject);
      const resource = resourceMessage(after, { ...(await surroundingsOf(parts, after, subject)), childCount });
      return { resource, restoredCount, relocated };
    },

    async listTrash(request, context) {
      const subject = await policy.subject(context);
      const membership = await policy.enter(request.workspaceId, subject, context);
      requireWorkspaceRole(membership, WorkspaceRole.VIEWER);
      // Lists only what the caller can restore, which needs write access.
      const restorable = await allowedWhere(parts, request.workspaceId, subject, 'write');
      const where = {
        workspaceId: request.workspaceId,
        state: 'trashed',
        ...(request.includeDescendants ? {} : { trashHead: true }),
        ...(request.q === '' ? {} : { nameFold: { substring: foldName(request.q) } }),
        ...(request.createdBy === undefined ? {} : { and: [createdBy(request.createdBy)] }),
        ...timesWithin(request),
        ...restorable,
      } as const;
      const page = request.page ?? { limit: 50, offset: 0, cursor: '' };
      const listed = await listNodes(parts, { where, sort: SORTS[request.sort] ?? ['-trashedAt'], page });
      const nodes = await parts.tree.resolve(listed.nodes);
      const access = await policy.accessToAll(nodes, subject);
      const mine = nodes.filter((_, i) => may(access[i]?.role ?? 'viewer', 'write'));
      return { items: await trashItems(parts, mine, subject), page: listed.page };
    },

    emptyTrash: (request, context) => handleEmptyTrash(parts, request, context),
  };
}

async function handleEmptyTrash(
  parts: TreeParts,
  request: { workspaceId: string; resourceIds: string[]; olderThan: string | undefined },
  context: CallContext,
) {
  const subject = await parts.policy.subject(context);
  const membership = await parts.policy.enter(request.workspaceId, subject, context);
  const chosen = await Promise.all(request.resourceIds.map((id) => parts.policy.seeEvenTrashed(id, subject)));
  if (chosen.some(({ node }) => node.workspaceId !== request.workspaceId)) throw NotFound();
  const ownsAll = chosen.length > 0 && chosen.every(({ access }) => may(access.role, 'own'));
  if (!ownsAll) requireWorkspaceRole(membership, WorkspaceRole.ADMIN);
  if (chosen.some(({ node }) => node.state !== 'trashed')) throw NotInTrash();
  if (membership.archived) throw WorkspaceArchived();
  const heads = chosen.length > 0 ? chosen.map(({ node }) => node) : undefined;
  const result = await emptyTrash(parts, request.workspaceId, heads, request.olderThan, context);
  if (result.running) context.reply.status = 202;
  return {
    purgedCount: result.purged,
    freedBytes: result.freedBytes,
    status: result.running ? EmptyTrashStatus.RUNNING : EmptyTrashStatus.COMPLETED,
  };
}

async function trashItems(parts: TreeParts, nodes: readonly Node[], subject: AccessSubject): Promise<TrashItem[]> {
  const above = await parts.tree.nodes.getMany([...new Set(nodes.flatMap((node) => node.ancestors))]);
  const loaded = new Map(above.map((node) => [node.id, node]));
  return Promise.all(
    nodes.map(async (node) => ({
      id: node.id,
      workspaceId: node.workspaceId,
      type: TYPES[node.type],
      name: node.name,
      icon: node.icon,
      trashedAt: node.trashedAt,
      trashedBy: node.trash === undefined ? undefined : actorMessage(node.trash.by),
      purgeAt: node.purgeAt,
      batchId: node.batchId ?? '',
      originalParentId: parentId(node),
      originalPath: await pathFrom(parts, node, loaded, subject),
      descendantCount: node.trash?.descendants ?? 0,
      canRestore: true,
      createdAt: node.createdAt,
      updatedAt: node.updatedAt,
      version: node.version,
    })),
  );
}

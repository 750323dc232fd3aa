import { InsufficientRole, NotFound } from '@commonplace/kit/errors';
import { newId } from '@commonplace/kit/id';
import { type CallContext, type Handlers, requireVersion } from '@commonplace/kit/rpc';
import { AccessMode, ResourceState } from '@commonplace/proto/resources/v1/resource.js';
import {
  type CreateResourceRequest,
  OnConflict,
  type ResourceService,
} from '@commonplace/proto/resources/v1/resource_service.js';
import { creationInput } from '../../content/input.js';
import type { Node } from '../../domain/node.js';
import { may } from '../../domain/role.js';
import { isContainer } from '../../domain/tree.js';
import { ExternalIdTaken, NoUpdateField } from '../../errors.js';
import { publishChange } from '../../events.js';
import { replaceNode } from '../../nodes/replace.js';
import { announce, enqueue, isUnderWay, loadBelow } from '../../nodes/subtree.js';
import { type AccessSubject, requireCapability, requireWritable, type Seen } from '../../policy.js';
import { wantedTags } from '../../tags/wanted-tags.js';
import { nodeType, resourceMessage } from '../../wire.js';
import { createNode, destinationOf } from '../create.js';
import { listResources } from '../list-resources.js';
import type { TreeParts } from '../parts.js';
import { asSeen, requireIncludeScope, surroundingsOf } from '../surroundings.js';
import { trashAll, trashed } from '../trash.js';
import { updateNode } from '../update.js';

/** Days that a workspace keeps its trash if tenancy does not state them. */
const RETENTION_DAYS = 30;

export function createResourceHandlers(parts: TreeParts): Handlers<ResourceService> {
  const { policy } = parts;

  async function createResource(request: CreateResourceRequest, context: CallContext) {
    const subject = await policy.subject(context);
    const destination = await destinationOf(parts, request, subject, context);
    const existing = await findExternal(parts, destination.parent.workspaceId, request.externalId);
    if (existing !== undefined) return resolveConflict(parts, existing, request, subject, context);
    const tags =
      request.tags.length === 0
        ? undefined
        : await wantedTags(parts, destination.parent, request.tags, subject, context);
    const node = await createNode(parts, request, destination, subject, context, tags);
    const seen = await asSeen(parts, node, subject);
    // Tags that this call creates are not in the store yet.
    const around = await surroundingsOf(parts, seen, subject, [], destination.node);
    return resourceMessage(seen, { ...around, childCount: 0, tags });
  }

  return {
    createResource,

    async getResource(request, context) {
      const subject = await policy.subject(context);
      requireIncludeScope(request.include, subject);
      const seen = request.includeTrashed
        ? await policy.seeEvenTrashed(request.resourceId, subject)
        : await policy.see(request.resourceId, subject);
      const trashedAndRefused = seen.node.state === 'trashed' && !may(seen.access.role, 'write');
      if (trashedAndRefused) await policy.see(request.resourceId, subject);
      return resourceMessage(seen, await surroundingsOf(parts, seen, subject, request.include));
    },

    async updateResource(request, context) {
      if (request.updateMask?.every((name) => name === 'dry_run')) throw NoUpdateField();
      const subject = await policy.subject(context);
      const seen = await policy.see(request.resourceId, subject);
      const { node, accessChange } = await updateNode(parts, seen, request, subject, context);
      const after = await asSeen(parts, node, subject);
      const tags = request.updateMask?.includes('tags') ? node.tags : undefined;
      const around = await surroundingsOf(parts, after, subject);
      return resourceMessage(after, { ...around, accessChange, tags: tags ?? around.tags });
    },

    async deleteResource(request, context) {
      const subject = await policy.subject(context);
      const seen = await policy.seeEvenTrashed(request.resourceId, subject);
      const { node } = seen;
      if (node.state === 'trashed' && !may(seen.access.role, 'write')) throw NotFound();
      requireCapability(seen, 'write');
      if (node.state === 'trashed') return trashedAnswer(node);
      requireWritable(seen);
      requireVersion(context, node.version, node);
      return trashedAnswer(await trashSubtree(parts, seen, context));
    },

    listResources: (request, context) => listResources(parts, request, context),
  };
}

async function findExternal(parts: TreeParts, workspaceId: string, externalId: string | undefined) {
  if (externalId === undefined) return undefined;
  const externalKey = `${workspaceId}:${externalId}`;
  const [node] = await parts.tree.nodes.find({ where: { externalKey }, limit: 1 });
  return node;
}

/** Answers a creation whose `external_id` is taken: refuses it, returns the existing resource, or updates that. */
async function resolveConflict(
  parts: TreeParts,
  existing: Node,
  request: CreateResourceRequest,
  subject: AccessSubject,
  context: CallContext,
) {
  const access = await parts.policy.accessTo(existing, subject);
  const asked = request.onConflict;
  if (access === undefined || asked === OnConflict.ERROR || asked === OnConflict.UNSPECIFIED) {
    throw ExternalIdTaken({ external_id: request.externalId });
  }
  if (existing.type !== nodeType(request.type)) {
    throw ExternalIdTaken({ external_id: request.externalId, resource_id: existing.id, type: existing.type });
  }
  const membership = subject.person.workspaces.get(existing.workspaceId);
  const seen: Seen = { node: existing, access, membership };
  parts.policy.opens(seen, subject);
  context.reply.status = 200;
  if (asked === OnConflict.RETURN_EXISTING) {
    return resourceMessage(seen, await surroundingsOf(parts, seen, subject));
  }
  const { node } = await updateNode(parts, seen, updateFrom(request, existing), subject, context);
  const after = await asSeen(parts, node, subject);
  const around = await surroundingsOf(parts, after, subject);
  return resourceMessage(after, request.tags.length > 0 ? { ...around, tags: node.tags } : around);
}

function updateFrom(request: CreateResourceRequest, existing: Node) {
  const updateMask = ['name'];
  if (request.icon !== undefined) updateMask.push('icon');
  if (request.description !== undefined) updateMask.push('description');
  if (request.metadata.length > 0) updateMask.push('metadata');
  if (request.tags.length > 0) updateMask.push('tags');
  if (changesAccessMode(request, existing)) updateMask.push('access_mode');
  return {
    resourceId: '',
    updateMask,
    name: request.name,
    icon: request.icon,
    description: request.description,
    parentId: undefined,
    workspaceId: undefined,
    position: Buffer.alloc(0),
    metadata: request.metadata,
    externalId: undefined,
    isLocked: undefined,
    accessMode: request.accessMode,
    dryRun: false,
    input: creationInput(request, existing.type),
    tags: request.tags,
  };
}

function changesAccessMode({ accessMode }: CreateResourceRequest, existing: Node): boolean {
  return accessMode !== AccessMode.UNSPECIFIED && existing.restricted !== (accessMode === AccessMode.RESTRICTED);
}

/** Moves a node with its descendants into the trash as one batch. */
async function trashSubtree(parts: TreeParts, seen: Seen, context: CallContext): Promise<Node> {
  const { node, membership } = seen;
  if (membership === undefined) throw InsufficientRole();
  // A job handles nodes that another job is still restoring.
  const below = (await isUnderWay(parts, 'restore', [node.id])) ? 'large' : await loadBelow(parts, node);
  const days = membership.trashRetentionDays || RETENTION_DAYS;
  const batch = {
    batchId: newId(),
    at: new Date().toISOString(),
    purgeAt: new Date(Date.now() + days * 86_400_000).toISOString(),
    by: context.actor,
  };
  const job = { kind: 'trash', workspaceIds: [node.workspaceId], batchId: batch.batchId } as const;
  if (below === 'large') await announce(parts, context, node, job);
  else if (isContainer(node.type))
    enqueue(parts, context, { ...job, tenant: node.tenant, headId: node.id, sweep: true });
  const gone = below === 'large' ? [] : await trashAll(parts, context.work, below.nodes, batch);
  const count = below === 'large' ? await parts.tree.nodes.count({ ancestors: { contains: node.id } }) : gone.length;
  const head = replaceNode(parts, context.work, node, trashed(node, batch, true, count));
  publishChange(context, { verb: 'resource.trashed' }, head, gone);
  return head;
}

function trashedAnswer(node: Node) {
  return {
    id: node.id,
    deleted: true,
    state: ResourceState.TRASHED,
    trashedCount: 1 + (node.trash?.descendants ?? 0),
    purgeAt: node.purgeAt,
  };
}

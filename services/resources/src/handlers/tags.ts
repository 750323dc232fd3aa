import { AppError, NotFound } from '@commonplace/kit/errors';
import { type CallContext, type Handlers, requireVersion } from '@commonplace/kit/rpc';
import type { RemoveResourceTagsRequest, TagService } from '@commonplace/proto/resources/v1/tag_service.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { writeTags } from '../acts/tag-nodes.js';
import { deleteTag, detachTag } from '../acts/tags.js';
import { findOrMakeTags, type TagWish, wishesOf } from '../acts/wanted-tags.js';
import { withTags } from '../domain/tags.js';
import { publishChange } from '../events.js';
import type { Parts } from '../parts.js';
import { requireCapability, requireWorkspaceRole, requireWritable } from '../policy.js';
import type { Node } from '../stores/nodes.js';
import type { Tag } from '../stores/tags.js';
import { byName, listTags, pageOf, tagMessages, tagsOf } from '../views/tags.js';
import { operateTags } from './tag-operations.js';

export function createTagHandlers(parts: Parts): Handlers<TagService> {
  const { policy } = parts;

  async function writable(id: string, context: CallContext) {
    const standing = await policy.standing(context);
    const seen = await policy.see(id, standing);
    requireCapability(seen, 'write');
    return { standing, seen };
  }

  /** A tag that the caller may remove, whatever it is on. */
  async function removable(id: string, context: CallContext): Promise<Tag> {
    const tag = await parts.tags.collection.get(id);
    if (tag === undefined || tag.mergedInto !== undefined) throw NotFound();
    const membership = await policy.enter(tag.workspaceId, await policy.standing(context), context);
    requireWorkspaceRole(membership, WorkspaceRole.EDITOR);
    return tag;
  }

  return {
    async listTags({ workspaceId, q, sort, page }, context) {
      const membership = await policy.enter(workspaceId, await policy.standing(context), context);
      requireWorkspaceRole(membership, WorkspaceRole.VIEWER);
      return listTags(parts, { workspaceId, q, sort, page });
    },

    operateTags: (request, context) => operateTags(parts, request, context),

    async listResourceTags({ resourceId, page: asked }, context) {
      const { node } = await policy.see(resourceId, await policy.standing(context));
      const tags = await tagsOf(parts, node);
      const { rows, page } = pageOf(tags, { page: asked, sort: '' }, ({ nameFold, id }) => [nameFold, id]);
      return { items: await tagMessages(parts, rows), page };
    },

    async addResourceTags(request, context) {
      const { standing, seen } = await writable(request.resourceId, context);
      const wishes = oneSelector(request);
      requireWritable(seen);
      const { tags, created } = await findOrMakeTags(parts, seen.node, wishes, standing, context);
      const had = await parts.tags.of(seen.node);
      const all = [...new Map([...had, ...tags].map((tag) => [tag.id, tag])).values()];
      const ids = withTags(
        had.map(({ id }) => id),
        tags.map(({ id }) => id),
      );
      if (ids.length > had.length) retag(parts, seen.node, ids, context);
      if (created) context.reply.status = 201;
      return { items: await messagesAfter(parts, all, had, all) };
    },

    async removeResourceTags(request, context) {
      const { seen } = await writable(request.resourceId, context);
      const gone = await selected(parts, seen.node, request);
      requireWritable(seen);
      requireVersion(context, seen.node.version, seen.node);
      const had = await parts.tags.of(seen.node);
      const left = had.filter(({ id }) => !gone.has(id));
      if (left.length < had.length) retag(parts, seen.node, ids(left), context);
      return { items: await messagesAfter(parts, left, had, left) };
    },

    async removeTag(request, context) {
      const tag = await removable(request.tagId, context);
      const standing = await policy.standing(context);
      const seen = await Promise.all(request.resourceIds.map((id) => policy.see(id, standing)));
      for (const one of seen) requireCapability(one, 'write');
      const membership = await policy.enter(tag.workspaceId, standing, context);
      if (seen.length === 0) return deleteTag(parts, tag, membership, context);
      requireVersion(context, tag.version, tag);
      for (const one of seen) requireWritable(one);
      const nodes = [...new Map(seen.map(({ node }) => [node.id, node])).values()];
      return detachTag(parts, tag, nodes, context);
    },

    async deleteTag(request, context) {
      const tag = await removable(request.tagId, context);
      const membership = await policy.enter(tag.workspaceId, await policy.standing(context), context);
      return deleteTag(parts, tag, membership, context);
    },
  };
}

const ids = (tags: readonly Tag[]): string[] => tags.map(({ id }) => id);

function retag(parts: Parts, node: Node, tags: readonly string[], context: CallContext): void {
  const stamp = { updatedAt: new Date().toISOString(), updatedBy: context.actor };
  const after = writeTags(parts, context.work, node, tags, stamp);
  publishChange(context, { verb: 'resource.updated', fields: ['tags'] }, after);
}

/** Messages with the counts as they are when this call is committed. */
async function messagesAfter(parts: Parts, shown: readonly Tag[], before: readonly Tag[], after: readonly Tag[]) {
  const had = new Set(ids(before));
  const has = new Set(ids(after));
  const messages = await tagMessages(parts, byName(shown));
  return messages.map((message) => {
    const by = Number(has.has(message.id)) - Number(had.has(message.id));
    return { ...message, usageCount: message.usageCount + by };
  });
}

type Selectors = Pick<RemoveResourceTagsRequest, 'tagId' | 'name' | 'tagIds'> & { readonly names?: readonly string[] };

/** The tags that a request names by exactly one of its fields. */
function oneSelector({ tagId, name, tagIds, names = [] }: Selectors): TagWish[] {
  const given: TagWish[][] = [
    tagId === undefined ? [] : [{ param: 'tag_id', text: tagId, as: 'id' }],
    name === undefined ? [] : [{ param: 'name', text: name, as: 'name' }],
    wishesOf('tag_ids', tagIds, 'id'),
    wishesOf('names', names, 'name'),
  ];
  const [first, ...others] = given.filter((wishes) => wishes.length > 0);
  if (first === undefined) throw new AppError('INVALID_ARGUMENT', 'missing_target', 'Say which tags.');
  if (others.length > 0) throw new AppError('INVALID_ARGUMENT', 'ambiguous_target', 'Say by one field which tags.');
  return first;
}

/** The ids of the tags that are to be taken off; what is no tag at all is on nothing. */
async function selected(parts: Parts, node: Node, request: RemoveResourceTagsRequest): Promise<Set<string>> {
  const wishes = oneSelector(request);
  const named = wishes.filter(({ as }) => as === 'name').map(({ text }) => text);
  const found = await parts.tags.named(node.workspaceId, named);
  const asked = await parts.tags.byId(wishes.filter(({ as }) => as === 'id').map(({ text }) => text));
  return new Set([...found.values(), ...asked.values()].map(({ id }) => id));
}

import { invalidField, NotFound } from '@commonplace/kit/errors';
import { type CallContext, type Handlers, requireVersion } from '@commonplace/kit/rpc';
import { pageOfAll, parsePageRequest } from '@commonplace/kit/store';
import type { RemoveResourceTagsRequest, TagService } from '@commonplace/proto/resources/v1/tag_service.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import type { Node } from '../../domain/node.js';
import { publishChange } from '../../events.js';
import { replaceNode } from '../../nodes/replace.js';
import { requireCapability, requireWorkspaceRole, requireWritable } from '../../policy.js';
import { deleteTag, detachTag } from '../commands.js';
import type { TagParts } from '../parts.js';
import { byName, listTags, tagMessages, tagsOf } from '../queries.js';
import type { Tag } from '../records.js';
import { withTags } from '../rules.js';
import { operateTags } from '../tag-operations.js';
import { findOrMakeTags, type TagReference, tagReferences } from '../wanted-tags.js';

export function createTagHandlers(parts: TagParts): Handlers<TagService> {
  const { policy } = parts;

  async function writable(id: string, context: CallContext) {
    const subject = await policy.subject(context);
    const seen = await policy.see(id, subject);
    requireCapability(seen, 'write');
    return { subject, seen };
  }

  /** Returns a tag that the caller may delete, whichever nodes carry it. */
  async function removable(id: string, context: CallContext): Promise<Tag> {
    const tag = await parts.tags.collection.get(id);
    // Also checked for a tag that does not exist, so that the answer takes as long.
    const membership = await policy.enter(tag?.workspaceId ?? id, await policy.subject(context), context);
    if (tag === undefined || tag.mergedInto !== undefined) throw NotFound();
    requireWorkspaceRole(membership, WorkspaceRole.EDITOR);
    return tag;
  }

  return {
    async listTags({ workspaceId, q, sort, page, ...times }, context) {
      const membership = await policy.enter(workspaceId, await policy.subject(context), context);
      requireWorkspaceRole(membership, WorkspaceRole.VIEWER);
      return listTags(parts, { workspaceId, q, sort, page, times });
    },

    operateTags: (request, context) => operateTags(parts, request, context),

    async listResourceTags({ resourceId, page: asked }, context) {
      const { node } = await policy.see(resourceId, await policy.subject(context));
      const tags = await tagsOf(parts, node);
      const { items, page } = pageOfAll(parsePageRequest(asked), tags, ['nameFold']);
      return { items: await tagMessages(parts, items), page };
    },

    async addResourceTags(request, context) {
      const { subject, seen } = await writable(request.resourceId, context);
      const references = oneSelector(request);
      requireWritable(seen);
      const { tags, created } = await findOrMakeTags(parts, seen.node, references, subject, context);
      const had = await parts.tags.of(seen.node);
      const all = [...new Map([...had, ...tags].map((tag) => [tag.id, tag])).values()];
      const ids = withTags(
        had.map(({ id }) => id),
        tags.map(({ id }) => id),
      );
      if (ids.length > had.length) changeTags(parts, seen.node, ids, context);
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
      if (left.length < had.length) changeTags(parts, seen.node, ids(left), context);
      return { items: await messagesAfter(parts, left, had, left) };
    },

    async removeTag(request, context) {
      const tag = await removable(request.tagId, context);
      const subject = await policy.subject(context);
      const seen = await Promise.all(request.resourceIds.map((id) => policy.see(id, subject)));
      for (const one of seen) requireCapability(one, 'write');
      const membership = await policy.enter(tag.workspaceId, subject, context);
      if (seen.length === 0) return deleteTag(parts, tag, membership, context);
      requireVersion(context, tag.version, tag);
      for (const one of seen) requireWritable(one);
      const nodes = [...new Map(seen.map(({ node }) => [node.id, node])).values()];
      return detachTag(parts, tag, nodes, context);
    },

    async deleteTag(request, context) {
      const tag = await removable(request.tagId, context);
      const membership = await policy.enter(tag.workspaceId, await policy.subject(context), context);
      return deleteTag(parts, tag, membership, context);
    },
  };
}

const ids = (tags: readonly Tag[]): string[] => tags.map(({ id }) => id);

function changeTags(parts: TagParts, node: Node, tags: readonly string[], context: CallContext): void {
  const stamp = { updatedAt: new Date().toISOString(), updatedBy: context.actor };
  const after = replaceNode(parts, context.work, node, { ...node, tags, ...stamp });
  publishChange(context, { verb: 'resource.updated', fields: ['tags'] }, after);
}

/** Returns the messages of tags with their counts as of this call's commit. */
async function messagesAfter(parts: TagParts, shown: readonly Tag[], before: readonly Tag[], after: readonly Tag[]) {
  const had = new Set(ids(before));
  const has = new Set(ids(after));
  const messages = await tagMessages(parts, byName(shown));
  return messages.map((message) => {
    const by = Number(has.has(message.id)) - Number(had.has(message.id));
    return { ...message, usageCount: message.usageCount + by };
  });
}

type Selectors = Pick<RemoveResourceTagsRequest, 'tagId' | 'name' | 'tagIds'> & { readonly names?: readonly string[] };

/** Returns the tags that a request names in exactly one of its fields. */
function oneSelector({ tagId, name, tagIds, names = [] }: Selectors): TagReference[] {
  const given: TagReference[][] = [
    tagId === undefined ? [] : [{ param: 'tag_id', text: tagId, as: 'id' }],
    name === undefined ? [] : [{ param: 'name', text: name, as: 'name' }],
    tagReferences('tag_ids', tagIds, 'id'),
    tagReferences('names', names, 'name'),
  ];
  const [first, ...others] = given.filter((references) => references.length > 0);
  if (first === undefined) throw invalidField('tag_id', 'missing_target', 'A field that names tags is required.');
  const [second] = others[0] ?? [];
  if (second !== undefined)
    throw invalidField(second.param, 'ambiguous_target', 'Several fields name tags: send one of them.');
  return first;
}

/** Returns the ids of the tags to remove; ignores names and ids that are not tags. */
async function selected(parts: TagParts, node: Node, request: RemoveResourceTagsRequest): Promise<Set<string>> {
  const references = oneSelector(request);
  const named = references.filter(({ as }) => as === 'name').map(({ text }) => text);
  const found = await parts.tags.named(node.workspaceId, named);
  const asked = await parts.tags.byId(references.filter(({ as }) => as === 'id').map(({ text }) => text));
  return new Set([...found.values(), ...asked.values()].map(({ id }) => id));
}

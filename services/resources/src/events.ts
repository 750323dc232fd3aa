import type { CallContext } from '@commonplace/kit/rpc';
import type { Comment } from './stores/comments.js';
import type { Node } from './stores/nodes.js';
import type { SnapshotRecord } from './stores/snapshots.js';
import type { Tag } from './stores/tags.js';

/** Ids that one event names at the most, so that it stays thin. */
export const IDS_PER_EVENT = 200;

export interface Change {
  readonly verb:
    | 'resource.created'
    | 'resource.updated'
    | 'resource.moved'
    | 'resource.trashed'
    | 'resource.restored'
    | 'resource.purged'
    | 'content.updated';
  readonly fields?: readonly string[];
  /** Of a content: how it came to be changed. */
  readonly reason?: string;
}

/** Tells of a change to a node, and to nodes below it that changed with it. */
export function publishChange(
  context: Pick<CallContext, 'work' | 'event'>,
  { verb, fields = [], reason }: Change,
  head: Pick<Node, 'id' | 'workspaceId' | 'tenant' | 'version' | 'contentVersion'>,
  below: readonly { readonly id: string }[] = [],
): void {
  const ids = [head.id, ...below.map(({ id }) => id)];
  for (let from = 0; from < ids.length; from += IDS_PER_EVENT) {
    const data = {
      resourceIds: ids.slice(from, from + IDS_PER_EVENT),
      workspaceId: head.workspaceId,
      changedFields: [...fields],
      version: head.version,
      contentVersion: head.contentVersion,
      ...(reason === undefined ? {} : { reason }),
    };
    context.work.publish(context.event(verb, head.id, data, head.tenant));
  }
}

/** Tells of a new snapshot of a node. */
export function publishSnapshot(
  context: Pick<CallContext, 'work' | 'event'>,
  { id, resourceId, reason, contentVersion }: SnapshotRecord,
  { workspaceId, tenant }: Pick<Node, 'workspaceId' | 'tenant'>,
): void {
  const data = { snapshotId: id, resourceId, workspaceId, reason, contentVersion };
  context.work.publish(context.event('snapshot.created', resourceId, data, tenant));
}

/** Tells of a change to a tag itself; the nodes that carry it are told of by `publishChange`. */
export function publishTag(
  context: Pick<CallContext, 'work' | 'event'>,
  verb: 'tag.created' | 'tag.updated' | 'tag.merged' | 'tag.deleted',
  { id, workspaceId, tenant, version }: Tag,
  { fields = [], into }: { readonly fields?: readonly string[]; readonly into?: string } = {},
): void {
  const data = { tagId: id, workspaceId, changedFields: [...fields], version, intoTagId: into };
  context.work.publish(context.event(verb, id, data, tenant));
}

export interface CommentNews {
  readonly fields?: readonly string[];
  /** People newly mentioned; who acts is left out here. */
  readonly mentions?: readonly string[];
  readonly participants?: readonly string[];
}

/** Tells of a comment, with whom it concerns. */
export function publishComment(
  context: Pick<CallContext, 'work' | 'event' | 'caller'>,
  verb: 'comment.created' | 'comment.updated' | 'comment.resolved' | 'comment.deleted',
  node: Pick<Node, 'id' | 'workspaceId' | 'tenant'>,
  { id, threadId, parentId, authorId, version }: Comment,
  { fields = [], mentions = [], participants = [] }: CommentNews,
): void {
  const actorId = context.caller.userId;
  const data = {
    commentId: id,
    threadId,
    parentCommentId: parentId,
    resourceId: node.id,
    workspaceId: node.workspaceId,
    authorId,
    actorId,
    changedFields: [...fields],
    version,
    mentions: mentions.filter((userId) => userId !== actorId),
    participants: [...participants],
  };
  context.work.publish(context.event(verb, node.id, data, node.tenant));
}

import type { CallContext } from '@commonplace/kit/rpc';
import type { Node } from '../domain/node.js';
import type { Comment } from './records.js';

interface CommentChangeDetails {
  readonly fields?: readonly string[];
  /** People who were not mentioned before; the published event leaves the acting person out. */
  readonly mentions?: readonly string[];
  readonly participants?: readonly string[];
}

/** Publishes a change to a comment, with the people whom it mentions and who take part in its thread. */
export function publishComment(
  context: Pick<CallContext, 'work' | 'event' | 'caller'>,
  verb: 'comment.created' | 'comment.updated' | 'comment.resolved' | 'comment.deleted',
  node: Pick<Node, 'id' | 'workspaceId' | 'tenant'>,
  { id, threadId, parentId, authorId, version }: Comment,
  { fields = [], mentions = [], participants = [] }: CommentChangeDetails,
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

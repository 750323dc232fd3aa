import type { CallContext } from '@commonplace/kit/rpc';
import { createBreathe } from '@commonplace/kit/slices';
import { findPage, timesWithin, type Where } from '@commonplace/kit/store';
import { actorMessage } from '@commonplace/platform/actors';
import {
  AnchorState,
  type Comment as CommentMessage,
  CommentStatus,
  CommentStatusFilter,
  type ListCommentsRequest,
  type ListCommentsResponse,
} from '@commonplace/proto/resources/v1/comment_service.js';
import type { Node } from '../domain/node.js';
import { foundAnchors } from './anchors.js';
import type { CommentParts } from './parts.js';
import { COMMENT_ORDER, type Comment, THREAD_ORDER } from './records.js';
import { NO_WORDS, shownAnchor, wordsHiddenIn } from './shown-anchor.js';

const STATUSES: Partial<Record<CommentStatusFilter, Comment['status']>> = {
  [CommentStatusFilter.OPEN]: 'open',
  [CommentStatusFilter.RESOLVED]: 'resolved',
};

/** Returns a page of a document's comments, as the caller sees them. */
export async function listComments(
  parts: CommentParts,
  node: Node,
  request: ListCommentsRequest,
  context: CallContext,
): Promise<ListCommentsResponse> {
  const status = STATUSES[request.status];
  const where: Where<Comment> = {
    resourceId: node.id,
    ...(status === undefined ? {} : { status }),
    ...(request.threadId === '' ? {} : { threadId: request.threadId }),
    ...(request.createdBy !== undefined && { authorId: request.createdBy }),
    ...timesWithin({ createdAfter: request.createdAfter, createdBefore: request.createdBefore }),
  };
  const sort = request.threadId === '' ? COMMENT_ORDER : THREAD_ORDER;
  const { items, page } = await findPage(parts.comments, where, sort, request.page);
  return { items: await commentMessages(parts, node, items, context), page };
}

/** Number of documents whose comments one query counts. */
const COUNTED_AT_ONCE = 10;

/** Returns the number of comments of each document that has any. */
export async function countComments(
  { comments }: Pick<CommentParts, 'comments'>,
  ids: readonly string[],
): Promise<Map<string, number>> {
  const breathe = createBreathe();
  const counts = new Map<string, number>();
  for (let at = 0; at < ids.length; at += COUNTED_AT_ONCE) {
    const some = { resourceId: { in: ids.slice(at, at + COUNTED_AT_ONCE) } };
    for (const [id, count] of await comments.countBy('resourceId', some)) counts.set(id, count);
    await breathe();
  }
  return counts;
}

/**
 * Returns the messages of comments, with placeholders for what is hidden from the caller; states and blocks of their
 * anchors are those in the current document.
 */
export async function commentMessages(
  parts: CommentParts,
  node: Node,
  comments: readonly Comment[],
  context: CallContext,
): Promise<CommentMessage[]> {
  const found = await foundAnchors(parts, node, comments, context);
  const hidden = new Set(await parts.hidden.in(context, comments.map(({ body = '' }) => body).join('\n')));
  const anchored = comments.some(({ anchor }) => anchor !== undefined);
  const words = anchored ? await wordsHiddenIn(parts, node, (text) => parts.hidden.in(context, text)) : NO_WORDS;
  const requester = { tenant: node.tenant, deadline: context.deadline };
  const breathe = createBreathe(context.signal);
  const messages: CommentMessage[] = [];
  for (const comment of comments) {
    const { body } = comment;
    const anchor = comment.anchor && shownAnchor(comment.anchor, words);
    const shown = body === undefined ? undefined : await parts.bodies.shown(requester, body, hidden);
    const html = shown === undefined ? undefined : await parts.bodies.html(requester, shown);
    const shownComment = { ...comment, body: shown, anchor };
    messages.push(commentMessage(shownComment, html, found.get(comment.id), context.caller.userId));
    await breathe();
  }
  return messages;
}

function commentMessage(
  comment: Comment,
  bodyHtml: string | undefined,
  blockId: string | undefined,
  userId: string,
): CommentMessage {
  const { anchor, body } = comment;
  const place = blockId === undefined ? { state: AnchorState.ORPHANED } : { state: AnchorState.ACTIVE, blockId };
  return {
    id: comment.id,
    resourceId: comment.resourceId,
    threadId: comment.threadId,
    parentCommentId: comment.parentId,
    body,
    bodyHtml,
    anchor: anchor && { ...NO_CONTEXT, ...anchor, ...place },
    status: comment.status === 'open' ? CommentStatus.OPEN : CommentStatus.RESOLVED,
    resolvedBy: comment.resolvedBy && actorMessage(comment.resolvedBy),
    resolvedAt: comment.resolvedAt,
    author: actorMessage(comment.author),
    mentions: [...comment.mentions],
    reactions: comment.reactions.map(({ emoji, users }) => ({
      emoji,
      count: users.length,
      me: users.includes(userId),
    })),
    isDeleted: body === undefined,
    editedAt: comment.editedAt,
    createdAt: comment.createdAt,
    updatedAt: comment.updatedAt,
    version: comment.version,
  };
}

const NO_CONTEXT = { prefix: undefined, suffix: undefined, blockId: undefined };

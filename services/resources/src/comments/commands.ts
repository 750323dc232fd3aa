import { InsufficientRole, NotFound } from '@commonplace/kit/errors';
import { newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import { createBreathe } from '@commonplace/kit/slices';
import { findEach } from '@commonplace/kit/store';
import { replaceReactions } from '@commonplace/platform/reactions';
import type { Node } from '../domain/node.js';
import { may } from '../domain/role.js';
import { LimitReached } from '../errors.js';
import type { Seen } from '../policy.js';
import { publishComment } from './events.js';
import type { CommentParts } from './parts.js';
import { type Anchor, COMMENT_ORDER, type Comment, type Thread } from './records.js';
import { MAX_REPLIES_PER_THREAD, resolution, withResolution } from './rules.js';

/** Returns a comment on a document. Throws NotFound, also for a comment on another document. */
export async function commentOf(parts: CommentParts, node: Node, id: string): Promise<Comment> {
  const comment = await parts.comments.get(id);
  if (comment === undefined || comment.resourceId !== node.id) throw NotFound();
  return comment;
}

interface NewComment {
  readonly body: string;
  readonly mentions: readonly string[];
  readonly anchor?: Anchor | undefined;
  /** Any comment of the thread to reply to. */
  readonly replyTo?: Comment | undefined;
}

/** Adds a comment to this call's unit of work: the first of a thread, or a reply. */
export async function addComment(
  parts: CommentParts,
  node: Node,
  given: NewComment,
  context: CallContext,
): Promise<Comment> {
  await parts.quotas.comments.reserve(context.work, node.id);
  const id = newId();
  const now = new Date().toISOString();
  const { replyTo } = given;
  const thread = replyTo && (await takeReply(parts, replyTo.threadId, context));
  const comment = context.work.insert(parts.comments, {
    id,
    tenant: node.tenant,
    resourceId: node.id,
    threadId: replyTo?.threadId ?? id,
    threadAt: replyTo?.threadAt ?? now,
    parentId: replyTo?.threadId,
    body: given.body,
    anchor: given.anchor,
    status: thread?.status ?? 'open',
    resolvedBy: thread?.resolvedBy,
    resolvedAt: thread?.resolvedAt,
    author: context.actor,
    authorId: context.caller.userId,
    mentions: given.mentions,
    reactions: [],
    createdAt: now,
    updatedAt: now,
    updatedBy: context.actor,
  });
  if (thread === undefined) {
    const { tenant, resourceId } = comment;
    context.work.insert(parts.threads, { id, tenant, resourceId, replies: 0, status: 'open' });
  }
  const participants = replyTo === undefined ? [] : await participantsOf(parts, node, replyTo.threadId, context);
  publishComment(context, 'comment.created', node, comment, { mentions: given.mentions, participants });
  return comment;
}

/** Increments the number of replies of a thread. Throws `limit_reached`. */
async function takeReply(parts: CommentParts, threadId: string, { work }: CallContext): Promise<Thread> {
  const thread = await parts.threads.get(threadId);
  if (thread === undefined) throw NotFound();
  if (thread.replies >= MAX_REPLIES_PER_THREAD) {
    throw LimitReached({ limit: MAX_REPLIES_PER_THREAD, what: 'replies in a thread' });
  }
  return work.replace(parts.threads, thread, { ...thread, replies: thread.replies + 1 });
}

/** Maximum number of people of a thread who are notified of a change in it. */
const MAX_PARTICIPANTS = 50;

/** Returns the authors of a thread's comments, the most recent first, who can still read the document. */
async function participantsOf(
  parts: CommentParts,
  node: Node,
  threadId: string,
  context: CallContext,
): Promise<string[]> {
  const written = await parts.comments.find({ where: { threadId }, sort: ['-createdAt'], limit: 200 });
  const people = new Set(written.filter(({ body }) => body !== undefined).map(({ authorId }) => authorId));
  people.delete(context.caller.userId);
  return parts.policy.readersOf(node, [...people].slice(0, MAX_PARTICIPANTS), context);
}

interface CommentChange {
  readonly body?: string | undefined;
  /** Ids of the mentioned people; only with `body`. */
  readonly mentions?: readonly string[];
  readonly status?: Comment['status'] | undefined;
  /** All reactions of the caller to the comment. */
  readonly reactions?: readonly string[] | undefined;
}

/**
 * Throws unless the caller may make the change: only its author edits a body; the author of a thread's first comment
 * and editors change the thread's status.
 */
export async function requireRights(
  parts: CommentParts,
  seen: Seen,
  comment: Comment,
  change: Pick<CommentChange, 'body' | 'status' | 'reactions'>,
  { caller }: CallContext,
): Promise<void> {
  if (change.body !== undefined && comment.authorId !== caller.userId) throw InsufficientRole({ needed: 'author' });
  if (change.status !== undefined && !may(seen.access.role, 'write')) {
    const head = comment.parentId === undefined ? comment : await parts.comments.get(comment.threadId);
    if (head?.authorId !== caller.userId) throw InsufficientRole({ role: seen.access.role, needed: 'editor' });
  }
  const gone = comment.body === undefined && (change.body !== undefined || change.reactions !== undefined);
  if (gone) throw NotFound();
}

/** Applies a change to a comment, and to its whole thread if the thread is resolved or reopened. */
export async function changeComment(
  parts: CommentParts,
  node: Node,
  comment: Comment,
  change: CommentChange,
  context: CallContext,
): Promise<Comment> {
  const edited = edit(comment, change, context);
  const settles = change.status !== undefined && change.status !== comment.status;
  if (!settles) {
    if (edited.fields.length === 0) return comment;
    const after = context.work.replace(parts.comments, comment, edited.after);
    publishComment(context, 'comment.updated', node, after, edited);
    return after;
  }
  const after = await writeThreadStatus(parts, comment, edited.after, change.status, context);
  const participants = await participantsOf(parts, node, comment.threadId, context);
  if (edited.fields.length > 0) publishComment(context, 'comment.updated', node, after, edited);
  const verb = change.status === 'resolved' ? 'comment.resolved' : 'comment.updated';
  publishComment(context, verb, node, after, { fields: ['status'], participants });
  return after;
}

interface CommentEdit {
  readonly after: Omit<Comment, 'version'>;
  readonly fields: string[];
  /** People who were not mentioned before. */
  readonly mentions: readonly string[];
}

function edit(comment: Comment, change: CommentChange, context: CallContext): CommentEdit {
  const now = new Date().toISOString();
  const reactions =
    change.reactions === undefined
      ? comment.reactions
      : replaceReactions(comment.reactions, context.caller.userId, change.reactions);
  const fields = reactions === comment.reactions ? [] : ['reactions'];
  const after = { ...comment, reactions, updatedAt: now, updatedBy: context.actor };
  if (change.body === undefined || change.body === comment.body) return { after, fields, mentions: [] };
  const { body, mentions = [] } = change;
  return {
    after: { ...after, body, mentions, editedAt: now },
    fields: [...fields, 'body'],
    mentions: mentions.filter((id) => !comment.mentions.includes(id)),
  };
}

/** Writes the new status to a thread and to all of its comments. */
async function writeThreadStatus(
  parts: CommentParts,
  comment: Comment,
  after: Omit<Comment, 'version'>,
  status: Comment['status'],
  { work, actor }: CallContext,
): Promise<Comment> {
  const now = resolution(status, actor, after.updatedAt);
  const thread = await parts.threads.get(comment.threadId);
  if (thread === undefined) throw NotFound();
  work.replace(parts.threads, thread, withResolution(thread, now));
  const where = { threadId: comment.threadId };
  const all = await parts.comments.find({ where, sort: ['createdAt'], limit: MAX_REPLIES_PER_THREAD + 1 });
  for (const one of all) {
    if (one.id !== comment.id) work.replace(parts.comments, one, withResolution(one, now));
  }
  return work.replace(parts.comments, comment, withResolution({ ...after, version: comment.version }, now));
}

/** Deletes a comment. The first comment of a thread with replies remains without its body. */
export async function removeComment(
  parts: CommentParts,
  node: Node,
  comment: Comment,
  context: CallContext,
): Promise<void> {
  if (comment.body === undefined) return;
  const { work } = context;
  const thread = await parts.threads.get(comment.threadId);
  if (thread === undefined) throw NotFound();
  if (comment.parentId !== undefined) await removeReply(parts, comment, thread, context);
  else if (thread.replies > 0) {
    const { body: _, ...rest } = comment;
    const updated = { updatedAt: new Date().toISOString(), updatedBy: context.actor };
    work.replace(parts.threads, thread, thread);
    work.replace(parts.comments, comment, { ...rest, mentions: [], reactions: [], ...updated });
  } else {
    work.remove(parts.threads, thread);
    work.remove(parts.comments, comment);
  }
  publishComment(context, 'comment.deleted', node, comment, {});
}

/** Deletes a reply. The last reply to a deleted first comment takes that comment and the thread with it. */
async function removeReply(parts: CommentParts, reply: Comment, thread: Thread, { work }: CallContext): Promise<void> {
  work.remove(parts.comments, reply);
  const head = await parts.comments.get(thread.id);
  if (thread.replies === 1 && head !== undefined && head.body === undefined) {
    work.remove(parts.comments, head);
    work.remove(parts.threads, thread);
  } else {
    work.replace(parts.threads, thread, { ...thread, replies: thread.replies - 1 });
  }
}

/** Copies the comments of a document to its copy, without their reactions. */
export async function copyComments(
  parts: CommentParts,
  from: Pick<Node, 'id'>,
  to: Pick<Node, 'id' | 'tenant'>,
  { work }: Pick<CallContext, 'work'>,
): Promise<void> {
  const { tenant, id: resourceId } = to;
  const threads = new Map<string, { readonly head: Comment; readonly id: string; replies: number }>();
  const breathe = createBreathe();
  for await (const comment of commentsOf(parts, from)) {
    const id = newId();
    const isHead = comment.parentId === undefined;
    if (isHead) threads.set(comment.id, { head: comment, id, replies: 0 });
    const thread = threads.get(comment.threadId);
    if (thread === undefined) continue;
    if (!isHead) thread.replies++;
    const place = { id, tenant, resourceId, threadId: thread.id, parentId: isHead ? undefined : thread.id };
    work.insert(parts.comments, { ...comment, ...place, reactions: [] });
    await breathe();
  }
  for (const { head, id, replies } of threads.values()) {
    const { status, resolvedBy, resolvedAt } = head;
    work.insert(parts.threads, { id, tenant, resourceId, replies, status, resolvedBy, resolvedAt });
  }
}

/** Number of comments that one query reads. */
const PAGE = 200;

/** Reads the comments of a document page by page, the first of a thread before its replies. */
function commentsOf(parts: CommentParts, { id: resourceId }: Pick<Node, 'id'>): AsyncIterable<Comment> {
  return findEach(parts.comments, { where: { resourceId }, sort: COMMENT_ORDER }, PAGE);
}

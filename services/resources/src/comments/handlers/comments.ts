import { InsufficientRole, invalidField } from '@commonplace/kit/errors';
import { type CallContext, type Handlers, requireVersion } from '@commonplace/kit/rpc';
import { parseReactions } from '@commonplace/platform/reactions';
import {
  type CommentAnchorInput,
  type CommentService,
  CommentStatus,
  type UpdateCommentRequest,
} from '@commonplace/proto/resources/v1/comment_service.js';
import type { Requester } from '../../documents/kind/deriver.js';
import type { Node } from '../../domain/node.js';
import { may } from '../../domain/role.js';
import { NotADocument, WorkspaceArchived } from '../../errors.js';
import { requireCapability, type Seen } from '../../policy.js';
import { noteFound, onItsBlock } from '../anchors.js';
import { addComment, changeComment, commentOf, removeComment, requireRights } from '../commands.js';
import type { CommentParts } from '../parts.js';
import { commentMessages, listComments } from '../queries.js';
import type { Anchor, Comment } from '../records.js';
import { mentionsOf, requireWords } from '../rules.js';

export function createCommentHandlers(parts: CommentParts): Handlers<CommentService> {
  const { policy } = parts;

  async function commentable(id: string, context: CallContext): Promise<Seen> {
    const seen = await policy.see(id, await policy.subject(context));
    requireCapability(seen, 'comment');
    requireDocument(seen.node);
    return seen;
  }

  const answer = async (node: Node, comment: Comment, context: CallContext) => {
    const [message] = await commentMessages(parts, node, [comment], context);
    if (message === undefined) throw new Error('one comment is one message');
    return message;
  };

  return {
    async listComments(request, context) {
      const { node } = await policy.see(request.resourceId, await policy.subject(context));
      requireDocument(node);
      return listComments(parts, node, request, context);
    },

    async createComment(request, context) {
      const seen = await commentable(request.resourceId, context);
      const { node } = seen;
      const { body, parentCommentId } = request;
      requireWords(body);
      if (parentCommentId !== undefined && request.anchor !== undefined) {
        throw invalidField('anchor', 'invalid_value', 'A reply must have no anchor.');
      }
      const replyTo = parentCommentId === undefined ? undefined : await commentOf(parts, node, parentCommentId);
      const named = await parts.bodies.mentions(within(node, context), body);
      const mentions = await readersAmong(parts, node, mentionsOf(named, request.mentions), context);
      requireOpen(seen);
      const placed = request.anchor && (await onItsBlock(parts, node, anchorOf(request.anchor), context));
      const comment = await addComment(parts, node, { body, mentions, anchor: placed?.anchor, replyTo }, context);
      if (placed?.isFound) noteFound(node, comment);
      return answer(node, comment, context);
    },

    async updateComment(request, context) {
      const seen = await commentable(request.resourceId, context);
      const comment = await commentOf(parts, seen.node, request.commentId);
      const change = await disclosedChange(parts, comment, changeOf(request), context);
      await requireRights(parts, seen, comment, change, context);
      if (change.body !== undefined) requireWords(change.body);
      const reactions = change.reactions && parseReactions(change.reactions);
      const named = change.body && (await parts.bodies.mentions(within(seen.node, context), change.body));
      const mentions = await readersAmong(parts, seen.node, mentionsOf(named || []), context);
      requireOpen(seen);
      requireVersion(context, comment.version, comment);
      const after = await changeComment(parts, seen.node, comment, { ...change, reactions, mentions }, context);
      return answer(seen.node, after, context);
    },

    async deleteComment(request, context) {
      const seen = await commentable(request.resourceId, context);
      const comment = await commentOf(parts, seen.node, request.commentId);
      const mine = comment.authorId === context.caller.userId;
      if (!mine && !may(seen.access.role, 'manage')) {
        throw InsufficientRole({ role: seen.access.role, needed: 'manager' });
      }
      requireOpen(seen);
      requireVersion(context, comment.version, comment);
      await removeComment(parts, seen.node, comment, context);
      return { id: comment.id, deleted: true };
    },
  };
}

/** Returns the requester of a parse that has to end before the call's deadline. */
function within({ tenant }: Pick<Node, 'tenant'>, { deadline }: CallContext): Requester {
  return { tenant, deadline };
}

function requireDocument({ type }: Node): void {
  if (type !== 'document') throw NotADocument({ type });
}

/** Throws if the workspace is archived; a locked document can still be commented on. */
function requireOpen({ membership }: Seen): void {
  if (membership?.archived) throw WorkspaceArchived();
}

/** Returns the people who can read the document, and adds a warning about the others. */
async function readersAmong(
  parts: CommentParts,
  node: Node,
  ids: readonly string[],
  context: CallContext,
): Promise<string[]> {
  if (ids.length === 0) return [];
  const readers = await parts.policy.readersOf(node, ids, context);
  const others = ids.filter((id) => !readers.includes(id));
  if (others.length > 0) {
    const message = `Not notified, because they cannot read the document: ${others.join(', ')}.`;
    context.reply.warnings = [...(context.reply.warnings ?? []), { code: 'mention_not_notified', message }];
  }
  return readers;
}

function anchorOf({ quote, prefix, suffix, blockId }: CommentAnchorInput): Anchor {
  return {
    quote,
    ...(prefix === undefined ? {} : { prefix }),
    ...(suffix === undefined ? {} : { suffix }),
    ...(blockId === undefined ? {} : { blockId }),
  };
}

/** Returns the change with the references that its body has placeholders for. */
async function disclosedChange<C extends { readonly body: string | undefined }>(
  { hidden, bodies }: CommentParts,
  { body: before, tenant }: Comment,
  change: C,
  context: CallContext,
): Promise<C> {
  const { body } = change;
  if (body === undefined || before === undefined) return change;
  const unseen = new Set(await hidden.in(context, before));
  return { ...change, body: await bodies.disclosed(within({ tenant }, context), body, before, unseen) };
}

function changeOf({ updateMask = [], body, status, reactions }: UpdateCommentRequest) {
  const settled = status === CommentStatus.RESOLVED ? ('resolved' as const) : ('open' as const);
  return {
    body: updateMask.includes('body') ? body : undefined,
    status: updateMask.includes('status') ? settled : undefined,
    reactions: updateMask.includes('reactions') ? reactions : undefined,
  };
}

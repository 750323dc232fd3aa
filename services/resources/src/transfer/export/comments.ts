import type { Actor } from '@commonplace/kit/auth';
import { findInPages } from '@commonplace/kit/store';
import { COMMENT_ORDER, type Comment } from '../../comments/records.js';
import { type HiddenWords, NO_WORDS, shownAnchor, wordsHiddenIn } from '../../comments/shown-anchor.js';
import type { Node } from '../../domain/node.js';
import type { TransferParts } from '../parts.js';
import { shownActor } from './people.js';
import type { ArchiveTerms } from './pieces.js';

/** Maximum number of comments read; a document has no more. */
const MAX_COMMENTS = 10_000;

/** Number of comments that are read, or have their bodies looked through for what is hidden, at a time. */
const AT_ONCE = 100;

/** Returns the comments of a document, and lets other requests run in between. */
export function commentsOf({ comments }: Pick<TransferParts, 'comments'>, node: Pick<Node, 'id'>): Promise<Comment[]> {
  const query = { where: { resourceId: node.id }, sort: COMMENT_ORDER, limit: MAX_COMMENTS };
  return findInPages(comments, query, AT_ONCE);
}

/** Yields comments of a document as an archive has them, with what their reader may see. */
export async function* shownComments(
  parts: TransferParts,
  node: Node,
  comments: readonly Comment[],
  terms: ArchiveTerms,
): AsyncGenerator<object> {
  await terms.emails.load(comments.flatMap(peopleIn));
  const hiddenIn = (text: string) => parts.hidden.from(terms.subject, text);
  const anchored = comments.some(({ anchor }) => anchor !== undefined);
  const words = anchored ? await wordsHiddenIn(parts, node, hiddenIn) : NO_WORDS;
  for (let from = 0; from < comments.length; from += AT_ONCE) {
    const some = comments.slice(from, from + AT_ONCE);
    const hidden = new Set(await hiddenIn(some.map(({ body = '' }) => body).join('\n')));
    for (const comment of some) {
      const { body } = comment;
      const readable = body && (await parts.bodies.shown(node.tenant, body, hidden));
      yield shownComment({ ...comment, body: readable }, terms, words);
    }
  }
}

function peopleIn({ authorId, author, resolvedBy, mentions, reactions }: Comment): string[] {
  return [authorId, author.id, resolvedBy?.id ?? '', ...mentions, ...reactions.flatMap(({ users }) => users)];
}

/** Returns a comment whose body its reader may see. */
function shownComment(comment: Comment, { emails }: ArchiveTerms, words: HiddenWords): object {
  const { resolvedBy } = comment;
  const anchor = comment.anchor && shownAnchor(comment.anchor, words);
  const actor = (one: Actor) => shownActor(one, emails);
  const person = (id: string) => ({ id, email: emails.of(id) ?? null });
  return {
    id: comment.id,
    thread_id: comment.threadId,
    parent_comment_id: comment.parentId ?? null,
    body: comment.body ?? null,
    anchor:
      anchor === undefined
        ? null
        : { quote: anchor.quote, prefix: anchor.prefix, suffix: anchor.suffix, block_id: anchor.blockId },
    status: comment.status,
    resolved_by: resolvedBy === undefined ? null : actor(resolvedBy),
    resolved_at: comment.resolvedAt ?? null,
    author: { ...actor(comment.author), person: person(comment.authorId) },
    mentions: comment.mentions.map(person),
    reactions: comment.reactions.map(({ emoji, users }) => ({ emoji, people: users.map(person) })),
    edited_at: comment.editedAt ?? null,
    created_at: comment.createdAt,
  };
}

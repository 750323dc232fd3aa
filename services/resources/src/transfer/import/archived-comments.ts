import { newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import { createBreathe } from '@commonplace/kit/slices';
import { isEmoji, MAX_EMOJI, MAX_REACTIONS, type Reaction } from '@commonplace/platform/reactions';
import type { Anchor, Comment } from '../../comments/records.js';
import { MAX_COMMENTS_PER_DOCUMENT, MAX_MENTIONS_PER_COMMENT, MAX_REPLIES_PER_THREAD } from '../../comments/rules.js';
import type { Node } from '../../domain/node.js';
import type { TransferParts } from '../parts.js';
import { type ArchiveJson, momentIn, recordIn, recordsIn, textIn } from './archive-json.js';
import type { ArchivedItem } from './archived.js';
import type { ItemTerms } from './item-terms.js';
import { past } from './new-node.js';

const MAX_BODY_CHARS = 10_000;
const REFERENCE = /resource:([0-9a-f-]{36})/g;

/** Restores the comments of a document, with their mentions and reactions, up to the limits of comments. */
export async function putComments(
  parts: TransferParts,
  { id: resourceId, tenant }: Node,
  { comments: all, renamed }: ArchivedItem,
  { people }: ItemTerms,
  { work }: CallContext,
): Promise<void> {
  const heads = new Map<string, { id: string; threadAt: string; replies: number; first: Comment | undefined }>();
  const now = new Date().toISOString();
  const kept = all.slice(0, MAX_COMMENTS_PER_DOCUMENT);
  const breathe = createBreathe();
  const named: ArchiveJson[] = [];
  for (const given of kept) {
    named.push(...peopleIn(given));
    await breathe();
  }
  await people.load(named);
  for (const given of kept) {
    await breathe();
    const [old = '', thread = ''] = [textIn(given.id), textIn(given.thread_id)];
    const isHead = given.parent_comment_id === null || given.parent_comment_id === undefined;
    const createdAt = past(momentIn(given.created_at), now);
    const id = newId();
    if (isHead) heads.set(old, { id, threadAt: createdAt, replies: 0, first: undefined });
    const head = heads.get(isHead ? old : thread);
    if (head === undefined || head.replies >= MAX_REPLIES_PER_THREAD) continue;
    if (!isHead) head.replies++;
    const body = textIn(given.body)?.slice(0, MAX_BODY_CHARS);
    const [author, resolver] = await people.actors([authorIn(given), recordIn(given.resolved_by)]);
    if (author === undefined) continue;
    const status = given.status === 'resolved' ? 'resolved' : 'open';
    const resolvedAt = momentIn(given.resolved_at);
    const comment = work.insert(parts.comments, {
      id,
      tenant,
      resourceId,
      threadId: head.id,
      threadAt: head.threadAt,
      ...(!isHead && { parentId: head.id }),
      ...(body !== undefined && { body: body.replace(REFERENCE, (whole, was: string) => linkTo(renamed(was), whole)) }),
      ...anchorIn(given.anchor),
      status,
      ...(status === 'resolved' && { resolvedBy: resolver?.actor, resolvedAt: past(resolvedAt, now) }),
      author: author.actor,
      authorId: author.known ? author.actor.id : '',
      mentions: await knownIds(recordsIn(given.mentions), people, MAX_MENTIONS_PER_COMMENT),
      reactions: await reactionsIn(given.reactions, people),
      ...(momentIn(given.edited_at) && { editedAt: past(momentIn(given.edited_at), now) }),
      createdAt,
      updatedAt: createdAt,
      updatedBy: author.actor,
    });
    if (isHead) head.first = comment;
  }
  for (const { id, replies, first } of heads.values()) {
    if (first === undefined) continue;
    const { status, resolvedBy, resolvedAt } = first;
    work.insert(parts.threads, { id, tenant, resourceId, replies, status, resolvedBy, resolvedAt });
  }
}

function linkTo(id: string | undefined, otherwise: string): string {
  return id === undefined ? otherwise : `resource:${id}`;
}

/** Returns the people whom a comment names. */
function peopleIn(given: ArchiveJson): ArchiveJson[] {
  const reacted = recordsIn(given.reactions).slice(0, MAX_EMOJI);
  return [
    ...[authorIn(given), recordIn(given.resolved_by)],
    ...recordsIn(given.mentions).slice(0, MAX_MENTIONS_PER_COMMENT),
    ...reacted.flatMap(({ people }) => recordsIn(people)).slice(0, MAX_REACTIONS),
  ];
}

/** Returns the author of a comment with the address of the person behind it, whatever client they used. */
function authorIn({ author }: ArchiveJson): ArchiveJson {
  const actor = recordIn(author);
  const { email } = recordIn(actor.person);
  return { ...actor, email: actor.email ?? email };
}

function anchorIn(given: unknown): { readonly anchor?: Anchor } {
  const { quote, prefix, suffix, block_id: blockId } = recordIn(given);
  if (typeof quote !== 'string') return {};
  const part = (value: unknown) => textIn(value)?.slice(0, 1000);
  return {
    anchor: {
      quote: quote.slice(0, 5000),
      ...(part(prefix) !== undefined && { prefix: part(prefix) as string }),
      ...(part(suffix) !== undefined && { suffix: part(suffix) as string }),
      ...(part(blockId) !== undefined && { blockId: part(blockId) as string }),
    },
  };
}

/** Returns the ids of the known people among the first `most` that an archive names. */
async function knownIds(given: readonly ArchiveJson[], people: ItemTerms['people'], most: number): Promise<string[]> {
  return [...new Set((await people.ids(given.slice(0, most))).flatMap((id) => id ?? []))];
}

/**
 * Returns the reactions of people whom the importer may name as actors, up to the limits of a comment: nobody but an
 * administrator brings reactions of others.
 */
async function reactionsIn(given: unknown, people: ItemTerms['people']): Promise<Reaction[]> {
  const reactions = new Map<string, string[]>();
  let room = MAX_REACTIONS;
  for (const { emoji, people: who } of recordsIn(given)) {
    if (reactions.size === MAX_EMOJI || room === 0) break;
    if (typeof emoji !== 'string' || !isEmoji(emoji) || reactions.has(emoji)) continue;
    const actors = await people.actors(recordsIn(who).slice(0, room));
    const users = [...new Set(actors.flatMap(({ actor, known }) => (known ? actor.id : [])))];
    if (users.length === 0) continue;
    reactions.set(emoji, users);
    room -= users.length;
  }
  return [...reactions].map(([emoji, users]) => ({ emoji, users }));
}

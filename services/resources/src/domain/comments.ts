import type { Actor } from '@commonplace/kit/auth';
import { AppError, invalidField } from '@commonplace/kit/errors';
import { isUuid } from '@commonplace/kit/id';
import { parseMarkdown, references } from '../documents/index.js';
import { LimitReached } from '../errors.js';
import type { Comment, Reaction } from '../stores/comments.js';

/** Comments on one document at the most, replies included. */
export const COMMENTS_PER_DOCUMENT = 10_000;
/** Replies in one thread at the most, so that resolving it is one write. */
export const REPLIES_PER_THREAD = 500;
/** People that one comment mentions at the most. */
export const MENTIONS_PER_COMMENT = 50;
/** Different emoji on one comment, and reactions to it in all. */
const EMOJI_PER_COMMENT = 50;
const REACTIONS_PER_COMMENT = 5000;

/** The people whom a comment mentions: those given, then those in its Markdown. Throws `too_many_items`. */
export function mentionsOf(body: string, given: readonly string[] = []): string[] {
  const inBody = references(parseMarkdown(body))
    .users.map((id) => id.toLowerCase())
    .filter(isUuid);
  const all = [...new Set([...given, ...inBody])];
  if (all.length <= MENTIONS_PER_COMMENT) return all;
  const message = `A comment mentions ${MENTIONS_PER_COMMENT} people at the most.`;
  throw new AppError('INVALID_ARGUMENT', 'too_many_items', message, { param: 'body' });
}

/** Refuses a body in which there is nothing to read. */
export function requireWords(body: string): void {
  if (body.trim() === '') throw invalidField('body', 'invalid_value', 'body must not be empty.');
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
const EMOJI = /\p{Extended_Pictographic}|\p{Regional_Indicator}{2}|^[0-9#*]\uFE0F?\u20E3$/u;

/** Refuses reactions that are not one emoji each; gives them without repeats. */
export function parseReactions(reactions: readonly string[]): string[] {
  for (const [i, text] of reactions.entries()) {
    if ([...graphemes.segment(text)].length === 1 && EMOJI.test(text)) continue;
    throw invalidField(`reactions[${i}]`, 'invalid_value', `reactions[${i}] must be one emoji.`);
  }
  return [...new Set(reactions)];
}

/** The reactions after somebody has set theirs; the same list where nothing changes. */
export function react(before: readonly Reaction[], userId: string, mine: readonly string[]): readonly Reaction[] {
  const had = before.filter(({ users }) => users.includes(userId)).map(({ emoji }) => emoji);
  if (had.length === mine.length && mine.every((emoji) => had.includes(emoji))) return before;
  const others = before.map(({ emoji, users }) => ({ emoji, users: users.filter((id) => id !== userId) }));
  for (const emoji of mine) {
    const known = others.find((reaction) => reaction.emoji === emoji);
    if (known === undefined) others.push({ emoji, users: [userId] });
    else known.users.push(userId);
  }
  const after = others.filter(({ users }) => users.length > 0);
  const total = after.reduce((sum, { users }) => sum + users.length, 0);
  if (after.length > EMOJI_PER_COMMENT || total > REACTIONS_PER_COMMENT) {
    throw LimitReached({
      limit: total > REACTIONS_PER_COMMENT ? REACTIONS_PER_COMMENT : EMOJI_PER_COMMENT,
      what: 'reactions',
    });
  }
  return after;
}

/** What every comment of a thread says of its being settled. */
export type Resolution = Pick<Comment, 'status' | 'resolvedBy' | 'resolvedAt'>;

/** A record with its thread settled, or open again. */
export function withResolution<R extends Resolution>(record: R, { status, resolvedBy, resolvedAt }: Resolution): R {
  return { ...record, status, resolvedBy, resolvedAt };
}

/** What a thread is after somebody has settled it, or opened it again. */
export function resolution(status: Comment['status'], by: Actor, at: string): Resolution {
  return status === 'resolved' ? { status, resolvedBy: by, resolvedAt: at } : { status };
}

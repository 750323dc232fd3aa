import type { Actor } from '@commonplace/kit/auth';
import { AppError, invalidField } from '@commonplace/kit/errors';
import { isUuid } from '@commonplace/kit/id';
import { LimitReached } from '../errors.js';
import type { Comment, Reaction } from './records.js';

/** Maximum number of comments on one document, replies included. */
export const MAX_COMMENTS_PER_DOCUMENT = 10_000;
/** Maximum number of replies in one thread, so that one unit of work can resolve it. */
export const MAX_REPLIES_PER_THREAD = 500;
/** Maximum number of people that one comment mentions. */
export const MAX_MENTIONS_PER_COMMENT = 50;
/** Maximum number of different emoji on one comment, and of reactions to it in total. */
export const MAX_EMOJI_PER_COMMENT = 50;
export const MAX_REACTIONS_PER_COMMENT = 5000;

/**
 * Returns the ids of the people whom a comment mentions: first the given ones, then those named in its body. Throws
 * `too_many_items`.
 */
export function mentionsOf(named: readonly string[], given: readonly string[] = []): string[] {
  const inBody = named.map((id) => id.toLowerCase()).filter(isUuid);
  const all = [...new Set([...given, ...inBody])];
  if (all.length <= MAX_MENTIONS_PER_COMMENT) return all;
  const message = `A comment may mention at most ${MAX_MENTIONS_PER_COMMENT} people.`;
  throw new AppError('INVALID_ARGUMENT', 'too_many_items', message, { param: 'body' });
}

/** Throws `invalid_value` if a body contains only white space. */
export function requireWords(body: string): void {
  if (body.trim() === '') throw invalidField('body', 'invalid_value', 'body must not be empty.');
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
const EMOJI = /\p{Extended_Pictographic}|\p{Regional_Indicator}{2}|^[0-9#*]\uFE0F?\u20E3$/u;

/** Returns whether a text is a single emoji. */
export function isEmoji(text: string): boolean {
  return [...graphemes.segment(text)].length === 1 && EMOJI.test(text);
}

/** Returns the reactions without repeats. Throws `invalid_value` if one of them is not a single emoji. */
export function parseReactions(reactions: readonly string[]): string[] {
  for (const [i, text] of reactions.entries()) {
    if (isEmoji(text)) continue;
    throw invalidField(`reactions[${i}]`, 'invalid_value', `reactions[${i}] must be one emoji.`);
  }
  return [...new Set(reactions)];
}

/**
 * Returns the reactions after a person has replaced theirs; returns `before` itself if nothing changes. Throws
 * `limit_reached`.
 */
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
  if (after.length > MAX_EMOJI_PER_COMMENT || total > MAX_REACTIONS_PER_COMMENT) {
    throw LimitReached({
      limit: total > MAX_REACTIONS_PER_COMMENT ? MAX_REACTIONS_PER_COMMENT : MAX_EMOJI_PER_COMMENT,
      what: 'reactions',
    });
  }
  return after;
}

/** The fields that record whether a thread is resolved; each of its comments has them. */
export type Resolution = Pick<Comment, 'status' | 'resolvedBy' | 'resolvedAt'>;

/** Returns a record with the resolution of its thread. */
export function withResolution<R extends Resolution>(record: R, { status, resolvedBy, resolvedAt }: Resolution): R {
  return { ...record, status, resolvedBy, resolvedAt };
}

/** Returns the resolution after a person has resolved or reopened a thread. */
export function resolution(status: Comment['status'], by: Actor, at: string): Resolution {
  return status === 'resolved' ? { status, resolvedBy: by, resolvedAt: at } : { status };
}

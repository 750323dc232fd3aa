import type { Actor } from '@commonplace/kit/auth';
import { AppError, invalidField } from '@commonplace/kit/errors';
import { isUuid } from '@commonplace/kit/id';
import { isBlank } from '@commonplace/kit/words';
import type { Comment } from './records.js';

/** Maximum number of comments on one document, replies included. */
export const MAX_COMMENTS_PER_DOCUMENT = 10_000;
/** Maximum number of replies in one thread, so that one unit of work can resolve it. */
export const MAX_REPLIES_PER_THREAD = 500;
/** Maximum number of people that one comment mentions. */
export const MAX_MENTIONS_PER_COMMENT = 50;

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

/** Throws `invalid_value` if a body contains nothing that can be seen. */
export function requireWords(body: string): void {
  if (isBlank(body)) throw invalidField('body', 'invalid_value', 'body must not be empty.');
}

/** The fields that record whether a thread is resolved; each of its comments has them. */
type Resolution = Pick<Comment, 'status' | 'resolvedBy' | 'resolvedAt'>;

/** Returns a record with the resolution of its thread. */
export function withResolution<R extends Resolution>(record: R, { status, resolvedBy, resolvedAt }: Resolution): R {
  return { ...record, status, resolvedBy, resolvedAt };
}

/** Returns the resolution after a person has resolved or reopened a thread. */
export function resolution(status: Comment['status'], by: Actor, at: string): Resolution {
  return status === 'resolved' ? { status, resolvedBy: by, resolvedAt: at } : { status };
}

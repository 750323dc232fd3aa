import type { ApiKeyRecord } from '../stores/api-keys.js';

const DAY_MS = 86_400_000;
/** Days before a key's end that its holder is told, the last notice first: 0 is its last day. */
const NOTICES = [0, 3, 14];

export const EARLIEST_NOTICE_MS = Math.max(...NOTICES) * DAY_MS;

/**
 * The notice that is due for a key, in days; absent for none. A key is not told of the end that it
 * was made with: a key for an hour expires unannounced.
 */
export function dueNotice(
  { expiresAt, createdAt, noticedDays }: Pick<ApiKeyRecord, 'expiresAt' | 'createdAt' | 'noticedDays'>,
  now: number,
): number | undefined {
  if (expiresAt === undefined) return undefined;
  const momentOf = (days: number): number => Date.parse(expiresAt) - Math.max(days, 1) * DAY_MS;
  const due = NOTICES.find((days) => now >= momentOf(days));
  if (due === undefined || Date.parse(createdAt) >= momentOf(due)) return undefined;
  return noticedDays === undefined || noticedDays > due ? due : undefined;
}

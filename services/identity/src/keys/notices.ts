import type { ApiKeyRecord } from '../stores/api-keys.js';

const DAY_MS = 86_400_000;
/** Days before expiry at which the holder is notified, the last notice first; 0 is the last day. */
const NOTICES = [0, 3, 14];

export const EARLIEST_NOTICE_MS = Math.max(...NOTICES) * DAY_MS;

/**
 * Returns the notice that is due for a key, in days; undefined for none. A notice whose time had passed when the
 * key was created is not sent: a key for an hour expires without one.
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
